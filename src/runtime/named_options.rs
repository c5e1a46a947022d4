//! Options given as names and texts, as in command lines, configuration files and other languages.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

#[cfg(not(target_arch = "wasm32"))]
use super::{Context, Error};
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::{WEIGHTS, make_cache_folder};
use crate::{
    compile::{
        CompileOptions, Objective, StreamedIo,
        option_text::{
            Streamed, parse_deadline, parse_objective, parse_precision, parse_rules, parse_seconds, parse_streamed,
            parse_texture_planner, parse_tiling, parse_weight_format, parse_weight_tile,
        },
        parse_size,
    },
    gpu::GpuOptions,
    import::{ImportOptions, parse_dim, parse_fake_quant},
    plan::{Planner, Strategy, printable},
};

/// Options for the device, the model file and the plan, given as names and texts. For programs that take options from a
/// file, a command line or another language. The names and texts are those of the command `texpool`.
///
/// | name | text | purpose |
/// |---|---|---|
/// | `adapter` | part of an adapter's name, in any case, or its PCI address | the device to open: [`GpuOptions::adapter`] |
/// | `timeout` | seconds, default `600` | longest wait for the device: [`GpuOptions::timeout`] |
/// | `dim` | `NAME=VALUE`; may be given several times | value of an extent that an `.onnx` file leaves open: [`ImportOptions::dims`] |
/// | `fake_quant` | `on`, `off` | rounding of values to the file's 8-bit quantization: [`ImportOptions::fake_quant`] |
/// | `precision` | `f32`, `f16` | storage of activations and weights: [`CompileBuilder::texels`] |
/// | `weights` | `f32`, `f16`, `file`, `int8` | storage of weights: [`CompileBuilder::weight_format`] |
/// | `budget` | `2MiB`, `512KiB`, `1500000` | limit on all device memory: [`CompileBuilder::device_budget`] |
/// | `objective` | `fastest`, `balanced`, `smallest` | quality that decides between plans; not together with a budget. Default: `fastest`. [`balanced`], [`smallest`] |
/// | `tiling` | `rows`, `whole` | whether operators may run in stripes of rows to save memory. Default: `rows`. [`Tiling`] |
/// | `stream` | `none`, `weights`, `io`, `all` | data that goes through the pool in every run; not together with a budget. Default: `all` with `objective=smallest`, else `io`. With `io`, no textures of the program can be bound |
/// | `weight_tile` | a size, default `64KiB` | tiles of streamed weights; not together with a budget: [`CompileBuilder::stream_weights`] |
/// | `strategy` | `best`, `optimum`, `banks`, or a strategy's name | [`CompileBuilder::planner`] |
/// | `rules` | `default`, `exact`, `all`, `none`, or names separated by commas | [`CompileBuilder::rules`] |
/// | `deadline` | seconds, or `none` (the default) | time limit of the search: [`CompileBuilder::deadline`] |
/// | `cache_dir` | a folder | cache that speeds up the next start: packed weights in its folder `weights` ([`Context::with_weights_folder`]), plans in `plans` ([`CompileBuilder::plan_folder`]) |
///
/// ```no_run
/// use texpool::{Context, Model, NamedOptions};
///
/// let options = NamedOptions::parse([("budget", "2MiB"), ("precision", "f16")])?;
/// let model = Model::open_with("mobilenet_v2.tflite", options.import())?;
/// let context = options.open()?;
/// let session = context.compile(&model).named_options(&options).build()?.session()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`CompileBuilder::texels`]: crate::CompileBuilder::texels
/// [`CompileBuilder::weight_format`]: crate::CompileBuilder::weight_format
/// [`CompileBuilder::device_budget`]: crate::CompileBuilder::device_budget
/// [`balanced`]: crate::CompileBuilder::balanced
/// [`smallest`]: crate::CompileBuilder::smallest
/// [`CompileBuilder::stream_weights`]: crate::CompileBuilder::stream_weights
/// [`CompileBuilder::planner`]: crate::CompileBuilder::planner
/// [`CompileBuilder::rules`]: crate::CompileBuilder::rules
/// [`CompileBuilder::deadline`]: crate::CompileBuilder::deadline
/// [`Context::with_weights_folder`]: crate::Context::with_weights_folder
/// [`CompileBuilder::plan_folder`]: crate::CompileBuilder::plan_folder
#[derive(Clone, Debug)]
pub struct NamedOptions {
    given: Vec<&'static str>,
    gpu: GpuOptions,
    import: ImportOptions,
    compile: CompileOptions,
    deadline: Option<Duration>,
    cache_dir: Option<PathBuf>,
}

/// An invalid option name or text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The option does not exist.
    #[error("there is no option `{}`; there are: {}", printable(name), all_names())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The text is not valid for the option.
    #[error("option `{name}`: {}", printable(why))]
    Value {
        /// The option.
        name: &'static str,
        /// The defect of the text, and the expected form.
        why: String,
    },
    /// The option is given twice.
    #[error("option `{name}` is given twice")]
    Twice {
        /// The option.
        name: &'static str,
    },
    /// The options exclude each other, because one determines the other.
    #[error("options `{name}` and `{other}` do not go together")]
    Conflict {
        /// The first option.
        name: &'static str,
        /// The second option.
        other: &'static str,
    },
}

/// The step that an option applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Device,
    Import,
    Plan,
    Folder,
}

const DIM: &str = "dim";

const OPTIONS: [(&str, Part); 15] = [
    ("adapter", Part::Device),
    ("timeout", Part::Device),
    (DIM, Part::Import),
    ("fake_quant", Part::Import),
    ("precision", Part::Plan),
    ("weights", Part::Plan),
    ("budget", Part::Plan),
    ("objective", Part::Plan),
    ("tiling", Part::Plan),
    ("stream", Part::Plan),
    ("weight_tile", Part::Plan),
    ("strategy", Part::Plan),
    ("rules", Part::Plan),
    ("deadline", Part::Plan),
    ("cache_dir", Part::Folder),
];

/// Options that conflict with a budget, because the budget determines their values.
const DECIDED_BY_BUDGET: [&str; 3] = ["objective", "stream", "weight_tile"];

/// Options that shape a plan, but not the results, or that store files.
const LEFT_OUT_OF_TRIALS: [&str; 7] =
    ["budget", "objective", "tiling", "stream", "weight_tile", "strategy", "cache_dir"];

fn all_names() -> String {
    OPTIONS.map(|(name, _)| name).join(", ")
}

impl Default for NamedOptions {
    /// The defaults if no option is given.
    fn default() -> Self {
        Self {
            given: Vec::new(),
            gpu: GpuOptions::default(),
            import: ImportOptions::default(),
            // Callers that set options by name never bind textures, so inputs and outputs are streamed.
            compile: CompileOptions { stream_io: StreamedIo::BOTH, ..CompileOptions::default() },
            deadline: None,
            cache_dir: None,
        }
    }
}

impl NamedOptions {
    /// Takes options by name and text, in any order.
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn parse<'o>(options: impl IntoIterator<Item = (&'o str, &'o str)>) -> Result<Self, OptionError> {
        let mut parsed = Self::default();
        let (mut streamed, mut weight_tile) = (None, None);
        for (asked, text) in options {
            let found = OPTIONS.iter().find(|(name, _)| *name == asked);
            let &(name, _) = found.ok_or_else(|| OptionError::Unknown { name: asked.to_owned() })?;
            if parsed.given.contains(&name) && name != DIM {
                return Err(OptionError::Twice { name });
            }
            parsed.given.push(name);
            let wrong = |why| OptionError::Value { name, why };
            match name {
                "stream" => streamed = Some(parse_streamed(text).map_err(wrong)?),
                "weight_tile" => weight_tile = Some(text),
                _ => parsed.set(name, text).map_err(wrong)?,
            }
        }
        if let (true, Some(&other)) = (parsed.has("budget"), DECIDED_BY_BUDGET.iter().find(|name| parsed.has(name))) {
            return Err(OptionError::Conflict { name: "budget", other });
        }
        let wrong = |why| OptionError::Value { name: "weight_tile", why };
        let tile = parse_weight_tile(weight_tile).map_err(wrong)?;
        streamed.unwrap_or(Streamed::with(parsed.compile.objective)).ask(&mut parsed.compile, tile);
        Ok(parsed)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Self { gpu, import, compile, .. } = self;
        match name {
            "adapter" => gpu.adapter = Some(text.to_owned()),
            "timeout" => gpu.timeout = parse_seconds(text)?,
            DIM => {
                let (dim, extent) = parse_dim(text)?;
                if import.dims.insert(dim, extent).is_some() {
                    return Err(format!("`{text}` binds an extent that is bound already"));
                }
            }
            "fake_quant" => import.fake_quant = parse_fake_quant(text)?,
            "precision" => compile.format = parse_precision(text)?,
            "weights" => compile.weight_format = parse_weight_format(text)?,
            "budget" => compile.objective = Objective::Device(parse_size(text)?),
            "objective" => compile.objective = parse_objective(text)?,
            "tiling" => compile.tiling = parse_tiling(text)?,
            "strategy" => compile.planner = parse_texture_planner(text)?,
            "rules" => compile.rules = parse_rules(text)?,
            "deadline" => self.deadline = parse_deadline(text)?,
            "cache_dir" if text.is_empty() => return Err("it must name a folder".to_owned()),
            _ => self.cache_dir = Some(text.into()),
        }
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    fn first(&self, is: impl Fn(Part) -> bool) -> Option<&'static str> {
        let found = |name: &&str| OPTIONS.iter().any(|(other, part)| other == name && is(*part));
        self.given.iter().copied().find(found)
    }

    /// Returns the first of the given options that concerns opening a device. Such options have no effect on a device
    /// that is already open.
    pub fn of_device(&self) -> Option<&'static str> {
        self.first(|part| part == Part::Device)
    }

    /// Returns the first of the given options that does not concern opening a device.
    pub fn beyond_device(&self) -> Option<&'static str> {
        self.first(|part| part != Part::Device)
    }

    /// Returns the first of the given options that concerns planning. Such options have no effect on a loaded plan.
    pub fn of_plan(&self) -> Option<&'static str> {
        self.first(|part| part == Part::Plan)
    }

    /// Returns the options for opening a device.
    pub const fn gpu(&self) -> &GpuOptions {
        &self.gpu
    }

    /// Returns the options for reading a model.
    pub const fn import(&self) -> &ImportOptions {
        &self.import
    }

    /// Returns the budget for all device memory of a session, if there is one.
    pub const fn budget(&self) -> Option<u64> {
        match self.compile.objective {
            Objective::Device(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns these options for a quick compilation that only shows whether a device can compute a model: without
    /// budget, stripes of rows, streams and stored files, and planned by a single strategy. Options that change results
    /// stay as they are.
    ///
    /// ```
    /// let options = texpool::NamedOptions::parse([("budget", "2MiB"), ("precision", "f16")])?;
    /// let trial = options.for_trial();
    /// assert_eq!((trial.budget(), trial.of_plan()), (None, Some("precision")));
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    pub fn for_trial(&self) -> Self {
        let CompileOptions { rules, format, weight_format, .. } = self.compile;
        let planner = Planner::Strategy(Strategy::GreedyBySize);
        let compile = CompileOptions { rules, format, weight_format, planner, ..CompileOptions::default() };
        let given = self.given.iter().copied().filter(|name| !LEFT_OUT_OF_TRIALS.contains(name)).collect();
        Self { given, compile, cache_dir: None, ..self.clone() }
    }

    /// Returns the folder for files that make the next start faster, if there is one.
    pub fn cache_dir(&self) -> Option<&Path> {
        self.cache_dir.as_deref()
    }

    /// Opens the device.
    ///
    /// # Errors
    /// As [`Context::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(&self) -> Result<Context, Error> {
        Ok(self.with_folder(Context::open(&self.gpu)?))
    }

    /// Returns the same context, with packed weights stored as the options state.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with_folder(&self, context: Context) -> Context {
        match self.made_cache_dir() {
            Some(folder) => context.with_weights_folder(folder.join(WEIGHTS)),
            None => context,
        }
    }

    /// Creates the folder for stored files and tags it as a cache. If it cannot be created, nothing is stored, which
    /// is not an error.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn made_cache_dir(&self) -> Option<&Path> {
        let folder = self.cache_dir()?;
        if let Err(error) = make_cache_folder(folder, &|_, _| false) {
            tracing::debug!(path = %folder.display(), %error, "there is no cache folder");
        }
        Some(folder)
    }

    pub(super) const fn compile(&self) -> &CompileOptions {
        &self.compile
    }

    pub(super) const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedOptions, OPTIONS, OptionError};
    use crate::{
        compile::{CompileOptions, Objective, StreamedIo, WeightFormat, WeightStorage},
        import::FakeQuant,
        plan::{Planner, Strategy, TexelFormat},
        rewrite::Rules,
    };
    use std::{path::Path, time::Duration};

    fn parse(options: &[(&str, &str)]) -> Result<NamedOptions, OptionError> {
        NamedOptions::parse(options.iter().copied())
    }

    #[test]
    fn every_option_asks_for_what_it_says() {
        let options = [
            ("adapter", "llvmpipe"),
            ("timeout", "2.5"),
            ("dim", "batch=2"),
            ("dim", "a=b=3"),
            ("fake_quant", "off"),
            ("precision", "f16"),
            ("weights", "int8"),
            ("objective", "smallest"),
            ("stream", "weights"),
            ("weight_tile", "4KiB"),
            ("strategy", "banks"),
            ("rules", "exact"),
            ("deadline", "none"),
            ("cache_dir", "/var/cache/x"),
        ];
        assert!(OPTIONS.iter().all(|(name, _)| *name == "budget" || options.iter().any(|(given, _)| given == name)));
        let found = parse(&options).unwrap();
        assert_eq!(
            (found.gpu().adapter.as_deref(), found.gpu().timeout),
            (Some("llvmpipe"), Duration::from_millis(2500))
        );
        let dims: Vec<(&str, usize)> = found.import().dims.iter().map(|(name, extent)| (&**name, *extent)).collect();
        assert_eq!((dims, found.import().fake_quant), (vec![("a=b", 3), ("batch", 2)], FakeQuant::Off));
        let CompileOptions { rules, format, planner, objective, weights, weight_format, stream_io, .. } =
            found.compile();
        assert_eq!((*format, *objective, *planner), (TexelFormat::Rgba16Float, Objective::Smallest, Planner::Banks));
        assert_eq!((*rules, *stream_io), (Rules::exact(), StreamedIo::NONE));
        assert_eq!(*weight_format, WeightFormat::Int8);
        assert_eq!(*weights, WeightStorage::Streamed { resident_below: 0, tile_bytes: 4096 });
        assert_eq!((found.deadline(), found.cache_dir()), (None, Some(Path::new("/var/cache/x"))));
        assert_eq!((found.of_device(), found.beyond_device()), (Some("adapter"), Some("dim")));
        assert_eq!(found.of_plan(), Some("precision"));
    }

    /// A trial keeps the options that change results, and all of those that read the model and open the device.
    #[test]
    fn a_trial_leaves_out_what_only_shapes_the_plan() {
        let options =
            [("budget", "2MiB"), ("precision", "f16"), ("weights", "int8"), ("rules", "exact"), ("dim", "n=2")];
        let more = [("strategy", "optimum"), ("deadline", "5"), ("cache_dir", "/var/cache/x"), ("timeout", "3")];
        let trial = parse(&[&options[..], &more].concat()).unwrap().for_trial();
        let plain =
            parse(&[&options[1..], &[("strategy", "greedy_by_size"), ("stream", "none")], &more[1..2]].concat());
        let CompileOptions { planner, .. } = *trial.compile();
        assert_eq!(format!("{:?}", trial.compile()), format!("{:?}", plain.unwrap().compile()));
        assert_eq!((trial.budget(), planner), (None, Planner::Strategy(Strategy::GreedyBySize)));
        assert_eq!((trial.deadline(), trial.cache_dir()), (Some(Duration::from_secs(5)), None));
        assert_eq!((trial.import().dims["n"], trial.gpu().timeout), (2, Duration::from_secs(3)));
        assert_eq!(trial.given, ["precision", "weights", "rules", "dim", "deadline", "timeout"]);
    }

    /// Checks that the defaults equal those of the command: inputs and outputs go through the pool, in the smallest
    /// plan weights do too, and a budget makes all of these choices.
    #[test]
    fn unset_options_follow_from_the_others() {
        let streamed = |options: &[(&str, &str)]| {
            let found = parse(options).unwrap();
            (found.compile().weights, found.compile().stream_io, found.compile().objective)
        };
        let tiles = |tile_bytes| WeightStorage::Streamed { resident_below: 0, tile_bytes };
        assert_eq!(streamed(&[]), (WeightStorage::Resident, StreamedIo::BOTH, Objective::Fastest));
        assert_eq!(format!("{:?}", parse(&[]).unwrap()), format!("{:?}", NamedOptions::default()));
        assert_eq!(streamed(&[("objective", "smallest")]), (tiles(64 << 10), StreamedIo::BOTH, Objective::Smallest));
        assert_eq!(streamed(&[("stream", "none")]), (WeightStorage::Resident, StreamedIo::NONE, Objective::Fastest));
        assert_eq!(
            streamed(&[("objective", "smallest"), ("stream", "none")]),
            (WeightStorage::Resident, StreamedIo::NONE, Objective::Smallest)
        );
        let budget = streamed(&[("budget", "2MiB"), ("deadline", "5")]);
        assert_eq!(budget, (WeightStorage::Resident, StreamedIo::BOTH, Objective::Device(2 << 20)));
        assert_eq!(parse(&[("budget", "2MiB")]).unwrap().budget(), Some(2 << 20));
        assert_eq!(parse(&[("objective", "smallest")]).unwrap().budget(), None);
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        for (options, said) in [
            (&[("speed", "high")][..], "there is no option `speed`; there are: adapter, timeout, dim"),
            (&[("budget", "2 parsec")], "option `budget`: `2 parsec` is no size"),
            (&[("objective", "most")], "option `objective`: `most` is none of `fastest`, `balanced`, `smallest`"),
            (&[("strategy", "offsets_greedy_by_size")], "option `strategy`: "),
            (&[("rules", "")], "option `rules`: "),
            (&[("weight_tile", "0")], "option `weight_tile`: `0` is less than a byte"),
            (&[("timeout", "1e9")], "option `timeout`: `1e9` is no time"),
            (&[("cache_dir", "")], "option `cache_dir`: it must name a folder"),
            (&[("dim", "n=1"), ("dim", "n=2")], "option `dim`: `n=2` binds an extent that is bound already"),
            (&[("precision", "f16"), ("precision", "f16")], "option `precision` is given twice"),
            (&[("stream", "all"), ("budget", "1MiB")], "options `budget` and `stream` do not go together"),
        ] {
            let error = parse(options).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
