//! Arguments that several subcommands share.

use super::CliError;
use crate::{
    fetch::{Bar, FetchError, Fetcher},
    gpu::{Gpu, GpuOptions},
    graph::Graph,
    import::{self, ImportOptions},
    plan::{Choice, Problem, Strategy, TexelFormat},
    prepare::{Phases, PrepareOptions},
    rewrite::Rules,
    setup,
};
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// The model, and how it is to be rewritten and planned.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// A .tflite or .onnx file, or a name from `texpool models list`.
    model: String,
    /// Plan with this strategy, or `optimum`, or `banks`; `best` takes the smallest of all.
    #[arg(long, value_name = "NAME", default_value = "best", value_parser = runnable_by_name)]
    strategy: Choice,
    #[command(flatten)]
    how: How,
}

/// How a model is stored and rewritten.
#[derive(Debug, clap::Args)]
pub(super) struct How {
    /// How activations and weights are stored; arithmetic is always in 32 bits.
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
    /// Rewriting rules to apply: `all`, `none`, or names with commas between them.
    #[arg(long, default_value = "all", value_parser = rules)]
    rules: Rules,
    /// Run operators in bands of rows, so that tensors need never be whole: the same bits from a smaller pool.
    #[arg(long, value_enum, default_value_t)]
    phases: PhasesArg,
    /// The fastest plan whose pool is no larger than this, in phases where it must be: 2MiB, 512KiB, 1500000.
    #[arg(long, value_name = "SIZE", value_parser = super::size::parse, conflicts_with = "phases")]
    budget: Option<u64>,
    /// Bind an extent that an .onnx file leaves open, by its name, or by INPUT:AXIS; once for each.
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    dims: Vec<(String, usize)>,
}

/// A name and the extent that it is bound to.
fn dim(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = text.rsplit_once('=').ok_or_else(|| "it must be NAME=VALUE".to_owned())?;
    match extent.parse() {
        Ok(extent) if extent > 0 && !name.is_empty() => Ok((name.to_owned(), extent)),
        _ => Err(format!("`{extent}` is no extent")),
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum PhasesArg {
    /// Every operator at once.
    #[default]
    Off,
    /// Where a percent of bytes still costs less than a percent of time.
    Auto,
    /// The smallest pool.
    Min,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats.
    F16,
}

/// Any plan by name.
pub(super) fn choice(text: &str) -> Result<Choice, String> {
    text.parse().map_err(|_| format!("no strategy is called `{text}`; choose from: {}", names(|_| true)))
}

/// A plan that textures can hold, by name.
fn runnable_by_name(text: &str) -> Result<Choice, String> {
    choice(text).and_then(runnable)
}

/// Refuses a plan of one arena, which textures cannot hold.
pub(super) fn runnable(choice: Choice) -> Result<Choice, String> {
    let textures = |s: Strategy| s.problem() != Problem::Offsets;
    match choice {
        Choice::Strategy(strategy) if !textures(strategy) => Err(format!(
            "it plans one arena, and no step may read and write the same texture; choose from: {}",
            names(textures)
        )),
        choice => Ok(choice),
    }
}

fn names(which: impl Fn(Strategy) -> bool) -> String {
    let strategies = Strategy::ALL.iter().filter(|&&s| which(s)).map(|s| s.name());
    ["best", "optimum", "banks"].into_iter().chain(strategies).collect::<Vec<_>>().join(", ")
}

fn rules(text: &str) -> Result<Rules, String> {
    let with_names = |e| format!("{e}; there are: {}", Rules::names().collect::<Vec<_>>().join(", "));
    match text {
        "all" => Ok(Rules::all()),
        "none" => Ok(Rules::none()),
        names => Rules::only(&names.split(',').collect::<Vec<_>>()).map_err(with_names),
    }
}

impl How {
    /// Reads a model, with its open extents bound.
    pub(super) fn import(&self, path: &Path) -> Result<Graph, CliError> {
        let options = ImportOptions { dims: self.dims.iter().cloned().collect(), ..ImportOptions::default() };
        import::open_with(path, &options)
            .map_err(|source| CliError::Import { path: path.into(), source: Box::new(source) })
    }

    /// The texel format of the precision asked for.
    pub(super) fn format(&self) -> TexelFormat {
        match self.precision {
            Precision::F32 => TexelFormat::Rgba32Float,
            Precision::F16 => TexelFormat::Rgba16Float,
        }
    }

    /// What is asked of the plan.
    pub(super) fn prepare_options(&self, choice: Choice) -> PrepareOptions {
        let phases = match (self.budget, self.phases) {
            (Some(bytes), _) => Phases::Budget(bytes),
            (None, PhasesArg::Off) => Phases::Off,
            (None, PhasesArg::Auto) => Phases::Auto,
            (None, PhasesArg::Min) => Phases::Min,
        };
        PrepareOptions { rules: self.rules, format: self.format(), choice, phases, ..PrepareOptions::default() }
    }
}

impl ModelArgs {
    /// The texel format of the precision asked for.
    pub(super) fn format(&self) -> TexelFormat {
        self.how.format()
    }

    /// What is asked of the plan.
    pub(super) fn prepare_options(&self) -> PrepareOptions {
        self.how.prepare_options(self.strategy)
    }

    /// Where the model file is, fetched if need be.
    pub(super) fn path(&self) -> Result<PathBuf, CliError> {
        file_or_name(&self.model)
    }

    /// Reads the model, fetched if need be.
    pub(super) fn import(&self) -> Result<Graph, CliError> {
        self.import_from(&self.path()?)
    }

    /// Reads the model from where it is.
    pub(super) fn import_from(&self, path: &Path) -> Result<Graph, CliError> {
        self.how.import(path)
    }
}

/// Which adapter to use.
#[derive(Debug, clap::Args)]
pub(super) struct AdapterArgs {
    /// Use the first adapter whose name contains this.
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

impl AdapterArgs {
    /// Opens the adapter; where there is none at all, the software driver is installed first if that may be done.
    pub(super) fn open(&self, timestamps: bool) -> Result<Gpu, CliError> {
        Ok(setup::open_gpu(&GpuOptions { adapter: self.adapter.clone(), timestamps })?)
    }
}

/// A file as it is; else what the catalogue has under that name, fetched if need be.
pub(super) fn file_or_name(text: &str) -> Result<PathBuf, CliError> {
    let path = PathBuf::from(text);
    if path.exists() {
        return Ok(path);
    }
    let bar = Bar::default();
    let fetcher = Fetcher::new(&bar)?;
    match fetcher.get(text) {
        Err(FetchError::UnknownName { known, .. }) => Err(CliError::NoSuchFile { text: text.into(), known }),
        got => Ok(got?),
    }
}
