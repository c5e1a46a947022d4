//! The table of options that have names: what each is called, which texts it takes, and what it sets.

use std::{fmt, path::PathBuf, time::Duration};

use texpool_compile::{
    BlockChoice, CompileOptions, DEFAULT_TILE, Objective, OperatorOrder, StreamedIo, Tiling, WeightFormat,
    option_text::{Streamed, choices, parse_choice, parse_deadline, parse_rules, parse_seconds, parse_texture_planner},
    parse_size,
};
use texpool_gpu::GpuOptions;
use texpool_model::import::{ImportOptions, parse_constant, parse_dim, parse_fake_quant};
use texpool_plan::TexelFormat;

/// The settings that options change.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) gpu: GpuOptions,
    pub(super) import: ImportOptions,
    pub(super) compile: CompileOptions,
    pub(super) deadline: Option<Duration>,
    pub(super) cache_dir: Option<PathBuf>,
    /// `None` if the other options decide.
    streamed: Option<Streamed>,
    weight_tile: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpu: GpuOptions::default(),
            import: ImportOptions::default(),
            // Callers that set options by name never bind textures, so inputs and outputs are streamed.
            compile: CompileOptions { stream_io: StreamedIo::BOTH, ..CompileOptions::default() },
            deadline: None,
            cache_dir: None,
            streamed: None,
            weight_tile: DEFAULT_TILE,
        }
    }
}

impl Settings {
    /// Applies the streaming, which depends on several options.
    pub(super) fn finish(&mut self) {
        let streamed = self.streamed.unwrap_or(Streamed::with(self.compile.objective));
        streamed.ask(&mut self.compile, self.weight_tile);
    }
}

/// The step that an option applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Device,
    Import,
    Plan,
    Folder,
}

/// Effect of an option, which decides whether it applies to trials and goes with a budget.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The results, the device, or the time of the search.
    Outside,
    /// The plan but not the results, or stored files.
    Shape,
    /// Like `Shape`, and a budget determines its value.
    ShapeByBudget,
}

/// An option.
pub(super) struct OptionRow {
    pub(super) name: &'static str,
    pub(super) part: Part,
    pub(super) effect: Effect,
    /// True if the option may be given several times.
    pub(super) repeats: bool,
    /// Returns the texts that it takes, in Markdown.
    pub(super) texts: fn() -> String,
    /// The purpose, in Markdown.
    pub(super) purpose: &'static str,
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
}

impl fmt::Debug for OptionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// Sets a field to a parsed value.
fn store<T>(field: &mut T, parsed: Result<T, String>) -> Result<(), String> {
    *field = parsed?;
    Ok(())
}

/// All options, in the order of documentation.
pub(super) static OPTIONS: [OptionRow; 19] = [
    OptionRow {
        name: "adapter",
        part: Part::Device,
        effect: Effect::Outside,
        repeats: false,
        texts: || "part of an adapter's name, in any case, or its PCI address".to_owned(),
        purpose: "The device to open.",
        set: |to, text| store(&mut to.gpu.adapter, Ok(Some(text.to_owned()))),
    },
    OptionRow {
        name: "timeout",
        part: Part::Device,
        effect: Effect::Outside,
        repeats: false,
        texts: || "seconds, default `600`".to_owned(),
        purpose: "Longest wait for the device.",
        set: |to, text| store(&mut to.gpu.timeout, parse_seconds(text)),
    },
    OptionRow {
        name: "dim",
        part: Part::Import,
        effect: Effect::Outside,
        repeats: true,
        texts: || "`NAME=VALUE`, `NAME<=VALUE`, `NAME<=VALUE:STEP`; may be given several times".to_owned(),
        purpose: "Value of an extent that the file leaves open, or the most that it can be in a run of an ONNX model, with \
                  the step of which it is a multiple. `INPUT:AXIS` names an extent without a name, and the name of a node's \
                  result an integer that a run computes and takes as an extent.",
        set: |to, text| {
            let (dim, extent) = parse_dim(text)?;
            match to.import.bind(&dim, extent) {
                true => Ok(()),
                false => Err(format!("`{text}` binds an extent that is bound already")),
            }
        },
    },
    OptionRow {
        name: "constant",
        part: Part::Import,
        effect: Effect::Outside,
        repeats: true,
        texts: || "`INPUT=NUMBER`, or several numbers separated by commas; may be given several times".to_owned(),
        purpose: "Turns an input into a constant, such as a sample rate. One number is repeated.",
        set: |to, text| {
            let (input, array) = parse_constant(text)?;
            match to.import.constants.insert(input, array) {
                None => Ok(()),
                Some(_) => Err(format!("`{text}` binds an input that is bound already")),
            }
        },
    },
    OptionRow {
        name: "fake_quant",
        part: Part::Import,
        effect: Effect::Outside,
        repeats: false,
        texts: || "`on`, `reference`, `off`; default `on`".to_owned(),
        purpose: "How 8-bit integers are computed: as by ONNX Runtime and XNNPACK, as by TensorFlow Lite's reference \
                  kernels, or as reals that are not rounded.",
        set: |to, text| store(&mut to.import.fake_quant, parse_fake_quant(text)),
    },
    OptionRow {
        name: "precision",
        part: Part::Plan,
        effect: Effect::Outside,
        repeats: false,
        texts: || format!("{}; default `f32`", choices::<TexelFormat>()),
        purpose: "Storage of activations and weights. Arithmetic always uses 32 bits.",
        set: |to, text| store(&mut to.compile.format, parse_choice(text)),
    },
    OptionRow {
        name: "weights",
        part: Part::Plan,
        effect: Effect::Outside,
        repeats: false,
        texts: || format!("{}; default `f32`", choices::<WeightFormat>()),
        purpose: "Storage of the weights of convolutions and fully connected layers. `file` is the file's format, with \
                  bit-identical results.",
        set: |to, text| store(&mut to.compile.weight_format, parse_choice(text)),
    },
    OptionRow {
        name: "budget",
        part: Part::Plan,
        effect: Effect::Shape,
        repeats: false,
        texts: || "`2MiB`, `512KiB`, `1500000`".to_owned(),
        purpose: "Upper limit on all device memory of a session. The fastest plan found within it is used; it runs in \
                  stripes of rows and streams weights if necessary.",
        set: |to, text| store(&mut to.compile.objective, parse_size(text).map(Objective::Device)),
    },
    OptionRow {
        name: "objective",
        part: Part::Plan,
        effect: Effect::ShapeByBudget,
        repeats: false,
        texts: || format!("{}; default `fastest`", choices::<Objective>()),
        purpose: "Quality that decides between plans: time, a balance of time and memory, or memory. Not with a budget.",
        set: |to, text| store(&mut to.compile.objective, parse_choice(text)),
    },
    OptionRow {
        name: "tiling",
        part: Part::Plan,
        effect: Effect::Shape,
        repeats: false,
        texts: || format!("{}; default `rows`", choices::<Tiling>()),
        purpose: "Division of operators to save memory: stripes of rows, also patches of columns of the first layers, or \
                  none, so that every tensor stays whole.",
        set: |to, text| store(&mut to.compile.tiling, parse_choice(text)),
    },
    OptionRow {
        name: "stripes",
        part: Part::Plan,
        effect: Effect::ShapeByBudget,
        repeats: false,
        texts: || "`8`, or `NAME=8` for each name, separated by commas".to_owned(),
        purpose: "Numbers of stripes of rows instead of a search: of every operator, or of those that compute the named \
                  tensors, with all others whole. The results have the same bits. Not with a budget.",
        set: |to, text| store(&mut to.compile.stripes, text.parse()),
    },
    OptionRow {
        name: "order",
        part: Part::Plan,
        effect: Effect::Shape,
        repeats: false,
        texts: || format!("{}; default `file`", choices::<OperatorOrder>()),
        purpose: "Order of the operators: the file's, or the one with the smallest pool of whole tensors that is found, \
                  with bit-identical results.",
        set: |to, text| store(&mut to.compile.order, parse_choice(text)),
    },
    OptionRow {
        name: "stream",
        part: Part::Plan,
        effect: Effect::ShapeByBudget,
        repeats: false,
        texts: || format!("{}; default `all` with objective `smallest`, else `io`", choices::<Streamed>()),
        purpose: "Data that passes through the pool in every run instead of staying on the device. Not with a budget. \
                  With `io`, no textures of the program can be bound.",
        set: |to, text| store(&mut to.streamed, parse_choice(text).map(Some)),
    },
    OptionRow {
        name: "weight_tile",
        part: Part::Plan,
        effect: Effect::ShapeByBudget,
        repeats: false,
        texts: || "a size, default `64KiB`".to_owned(),
        purpose: "Upper limit on a tile of streamed weights, for operators that run over all their rows at once. Not \
                  with a budget.",
        set: |to, text| store(&mut to.weight_tile, parse_size(text)),
    },
    OptionRow {
        name: "strategy",
        part: Part::Plan,
        effect: Effect::Shape,
        repeats: false,
        texts: || "`best`, `optimum`, `banks`, or a strategy's name; default `best`".to_owned(),
        purpose: "Planner of the pool.",
        set: |to, text| store(&mut to.compile.planner, parse_texture_planner(text)),
    },
    OptionRow {
        name: "rules",
        part: Part::Plan,
        effect: Effect::Outside,
        repeats: false,
        texts: || "`default`, `exact`, `all`, `none`, names separated by commas, or a set and names".to_owned(),
        purpose: "Rewrite rules. `exact` keeps every bit; `default,winograd` is faster in more memory, `default,separable` faster after a longer first run.",
        set: |to, text| store(&mut to.compile.rules, parse_rules(text)),
    },
    OptionRow {
        name: "blocks",
        part: Part::Plan,
        effect: Effect::Shape,
        repeats: false,
        texts: || format!("{}; default `auto`", choices::<BlockChoice>()),
        purpose: "Class of devices whose blocks kernels compute, with bit-identical results. `auto` is the device's \
                  class.",
        set: |to, text| store(&mut to.compile.blocks, parse_choice(text)),
    },
    OptionRow {
        name: "deadline",
        part: Part::Plan,
        effect: Effect::Outside,
        repeats: false,
        texts: || "seconds, or `none`; default `none`".to_owned(),
        purpose: "Time limit of the search for a plan, which then ends with the best plan so far.",
        set: |to, text| store(&mut to.deadline, parse_deadline(text)),
    },
    OptionRow {
        name: "cache_dir",
        part: Part::Folder,
        effect: Effect::Shape,
        repeats: false,
        texts: || "a folder".to_owned(),
        purpose: "Cache that speeds up the next start: packed weights in its folder `weights`, plans in `plans`. Nobody \
                  else may change files there while they are in use.",
        set: |to, text| match text {
            "" => Err("it must name a folder".to_owned()),
            folder => store(&mut to.cache_dir, Ok(Some(folder.into()))),
        },
    },
];
