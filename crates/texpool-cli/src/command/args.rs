//! Arguments that several subcommands share.

use super::{
    error::CliError,
    help::RESEARCH,
    model_source::{DimArgs, ModelSource},
    option_names::{no_such_adapter, planner, rules, texture_planner},
    progress::{self, Deadline},
};
use crate::{
    fetch::{cache_folder, make_cache},
    report::size,
    setup::{self, Install, SetupError},
};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use texpool_cache::{PLANS, WEIGHTS};
use texpool_compile::{
    BlockChoice, CompileOptions, CompiledModel, Objective, OperatorOrder, StreamedIo, Stripes, Tiling, WeightFormat,
    option_text::{Choice, Streamed, WEIGHT_TILE, choice_name, parse_choice, parse_objective_or_budget, parse_seconds},
    parse_size,
};
use texpool_gpu::{Gpu, GpuError, GpuOptions, SharedWeights};
use texpool_model::rewrite::Rules;
use texpool_plan::{Planner, TexelFormat};

/// The model, and how it is to be rewritten and planned.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArgs {
    /// A .tflite or .onnx file, or a name from `texpool models list`.
    model: OsString,
    /// Planning strategy: `best` takes the smallest plan of all strategies; `optimum` and `banks` search exactly.
    #[arg(long, value_name = "NAME", default_value = "best", value_parser = texture_planner, help_heading = "Plan")]
    strategy: Planner,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    deadline: DeadlineArgs,
    /// Do not use or write the cache of plans and weights.
    #[arg(long, help_heading = "Cache")]
    no_cache: bool,
}

/// Returns the parser of an option whose values have names; help lists them with their descriptions.
fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::VALUES.iter().map(|&(_, name, help)| PossibleValue::new(name).help(help.trim_end_matches('.')));
    PossibleValuesParser::new(values).try_map(|name| parse_choice(&name))
}

/// How values are stored.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Plan")]
pub(super) struct PrecisionArgs {
    /// Storage format of activations and weights. Arithmetic always uses 32 bits.
    #[arg(long, value_parser = choice::<TexelFormat>(), default_value = "f32")]
    precision: TexelFormat,
}

impl PrecisionArgs {
    /// Returns the texel format for the requested precision.
    pub(super) fn format(self) -> TexelFormat {
        self.precision
    }
}

/// How a model is stored and rewritten.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Plan")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    precision: PrecisionArgs,
    /// Storage format of the weights of convolutions and fully connected layers on the device, streamed ones too.
    /// With `--precision f16`, streamed weights are stored as with `f32`.
    #[arg(long, value_name = "FORMAT", value_parser = choice::<WeightFormat>(), default_value = "f32")]
    weights: WeightFormat,
    /// Rewrite rules: `default` changes results by rounding at most; `exact` keeps every bit; `all` includes rules
    /// that may give a number where the file's nodes overflow; `none`; or names separated by commas, also after one of
    /// these: `default,winograd` computes 3 by 3 convolutions by Winograd's algorithm, faster and in more memory;
    /// `separable` joins a depthwise convolution and the pointwise one after it, faster but with a longer first run.
    /// `texpool plan MODEL --why` shows the effect of each rule on numbers.
    #[arg(long, default_value = "default", value_parser = rules, help_heading = RESEARCH)]
    rules: Rules,
    /// Quality that decides between plans. All but `fastest` run operators in stripes of rows if that saves memory, so
    /// that tensors are never stored whole; the results have the same bits. Default: `fastest`.
    #[arg(long, value_parser = choice::<Objective>())]
    objective: Option<Objective>,
    /// Use the fastest plan found within this limit on all device memory, such as 2MiB, 512KiB or 1500000. It runs
    /// operators in stripes of rows and streams weights if necessary. Speeds are predicted from this device's
    /// measurements if `texpool devices --measure` has made them (it takes 60 MB of the device), and otherwise from
    /// typical ones.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_negative_numbers = true, conflicts_with = "objective")]
    budget: Option<u64>,
    /// Division of operators that the plan may use to save memory. The results have the same bits.
    #[arg(long, value_parser = choice::<Tiling>(), default_value = "rows", help_heading = RESEARCH)]
    tiling: Tiling,
    /// Run operators in this many stripes of rows, or each of these operators in a number of its own, with all others
    /// whole: `8`, or the names of their results, `conv1=8,conv2=4`. --details prints the names. Replaces the search for
    /// stripes; the results have the same bits.
    #[arg(long, value_name = "NUMBERS", conflicts_with = "budget", help_heading = RESEARCH)]
    stripes: Option<Stripes>,
    /// Order of the operators. `memory` searches for the order whose pool of whole tensors is smallest; the results
    /// have the same bits. `plan` shows the memory in both orders, and whether no order takes less.
    #[arg(long, value_parser = choice::<OperatorOrder>(), default_value = "file")]
    order: OperatorOrder,
    /// Tensors that pass through the pool in every run instead of staying on the device beside it. Default: `io`;
    /// `all` with `--objective smallest`; with `--budget`, also weights if necessary. `none` matches published tables,
    /// whose pools contain intermediate tensors only.
    #[arg(long, value_name = "WHAT", value_parser = choice::<Streamed>(), conflicts_with = "budget")]
    stream: Option<Streamed>,
    /// Upper limit on a tile of streamed weights, for operators that run over all their rows at once. Weights that
    /// cannot be divided may exceed it.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_size,
        default_value = WEIGHT_TILE,
        conflicts_with = "budget",
        help_heading = RESEARCH
    )]
    weight_tile: u64,
    /// Class of devices whose blocks kernels compute: the pixels and channels of an invocation. The results have the
    /// same bits.
    #[arg(
        long,
        value_name = "CLASS",
        value_parser = choice::<BlockChoice>(),
        default_value = "auto",
        help_heading = RESEARCH
    )]
    blocks: BlockChoice,
    #[command(flatten)]
    pub(super) dims: DimArgs,
}

/// A plan between the fastest and the smallest, with the text that selected it.
#[derive(Clone, Debug)]
pub(super) struct PlanSetting {
    pub(super) name: String,
    pub(super) objective: Objective,
}

/// Parses `fastest`, `balanced`, `smallest`, or a budget.
pub(super) fn plan_setting(text: &str) -> Result<PlanSetting, String> {
    let objective = parse_objective_or_budget(text)?;
    Ok(PlanSetting { name: text.to_owned(), objective })
}

/// Value of `plan --strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrategyArg {
    All,
    One(Planner),
}

/// Parses the name of a strategy, or `all`.
pub(super) fn strategy_arg(text: &str) -> Result<StrategyArg, String> {
    if text == "all" { Ok(StrategyArg::All) } else { planner(text).map(StrategyArg::One) }
}

impl PlanArgs {
    /// Returns the texel format for the requested precision.
    pub(super) fn format(&self) -> TexelFormat {
        self.precision.format()
    }

    /// Returns the blocks that kernels compute.
    pub(super) const fn blocks(&self) -> BlockChoice {
        self.blocks
    }

    /// Returns the options for the plan.
    pub(super) fn compile_options(&self, planner: Planner) -> CompileOptions {
        let objective = self.budget.map(Objective::Device).or(self.objective).unwrap_or_default();
        self.options_for(planner, objective)
    }

    /// Returns the name of the plan that the flags select, or `None` if they leave open which plan.
    pub(super) fn selected(&self) -> Option<String> {
        let stream = self.stream.and_then(choice_name).map(|name| format!("stream {name}"));
        let objective = self.objective.and_then(choice_name).map(|name| format!("objective {name}"));
        let order = (self.order != OperatorOrder::File).then(|| choice_name(self.order)).flatten();
        let order = order.map(|name| format!("order {name}"));
        let stripes = self.stripes.as_ref().map(|_| "set stripes".to_owned());
        self.budget.map(|bytes| format!("budget {}", size(bytes))).or(stripes).or(objective).or(stream).or(order)
    }

    /// Returns the options of the plain plan: the best of whole tensors, in the file's order, with weights on the
    /// device.
    pub(super) fn plain_options(&self) -> CompileOptions {
        let options = self.streaming_options(Planner::Best, Objective::Fastest, Streamed::with(Objective::Fastest));
        CompileOptions { order: OperatorOrder::File, stripes: Stripes::Searched, ..options }
    }

    /// Returns the options for comparing with published figures. There, inputs and outputs are not records unless
    /// requested.
    pub(super) fn published_options(&self, planner: Planner) -> CompileOptions {
        let mut options = self.compile_options(planner);
        if self.stream.is_none() {
            options.stream_io = StreamedIo::NONE;
        }
        options
    }

    /// Returns the options with this objective.
    pub(super) fn options_for(&self, planner: Planner, objective: Objective) -> CompileOptions {
        self.streaming_options(planner, objective, self.stream.unwrap_or(Streamed::with(objective)))
    }

    fn streaming_options(&self, planner: Planner, objective: Objective, streamed: Streamed) -> CompileOptions {
        let &Self { rules, weights: weight_format, tiling, order, blocks, .. } = self;
        let (format, stripes) = (self.format(), self.stripes.clone().unwrap_or_default());
        let defaults = CompileOptions::default();
        let choices = CompileOptions { planner, objective, tiling, stripes, order, ..defaults };
        let mut options = CompileOptions { rules, format, weight_format, blocks, ..choices };
        streamed.ask(&mut options, self.weight_tile);
        options
    }
}

impl ModelArgs {
    /// Returns the texel format for the requested precision.
    pub(super) fn format(&self) -> TexelFormat {
        self.plan.format()
    }

    /// Returns the options for the plan.
    pub(super) fn compile_options(&self) -> CompileOptions {
        self.plan.compile_options(self.strategy)
    }

    /// Returns the options with the objective of a setting.
    pub(super) fn options_for(&self, setting: &PlanSetting) -> CompileOptions {
        self.plan.options_for(self.strategy, setting.objective)
    }

    /// Returns the options of the plain plan.
    pub(super) fn plain_options(&self) -> CompileOptions {
        self.plan.plain_options()
    }

    /// Returns the settings of the search for the plan.
    pub(super) fn search(&self) -> Search {
        Search::new(self.deadline.time(), self.no_cache)
    }

    /// Returns the options with another strategy.
    pub(super) fn options_with(&self, planner: Planner) -> CompileOptions {
        self.plan.compile_options(planner)
    }

    /// Finds the model, and downloads it if necessary.
    pub(super) fn find(&self) -> Result<ModelSource, CliError> {
        self.plan.dims.find(&self.model)
    }
}

/// Settings of the search for a plan.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// Time limit of the search.
    pub(super) deadline: Option<Duration>,
    /// Folder for plans and packed weights. `None` if the user disabled the cache, or the folder cannot be determined.
    pub(super) cache: Option<PathBuf>,
    /// Name of the row of a table that the search is for.
    pub(super) row: Option<String>,
}

impl Search {
    /// Returns the settings with this time limit, with the cache unless the user disabled it.
    pub(super) fn new(deadline: Option<Duration>, no_cache: bool) -> Self {
        Self { deadline, cache: (!no_cache).then(cache_folder).and_then(Result::ok), row: None }
    }

    /// Returns the weights for a session with this plan. Weights that are uploaded in every run are also stored in the
    /// cache folder.
    pub(super) fn weights(&self, compiled: &CompiledModel) -> SharedWeights {
        let streams = !compiled.schedule().streamed().is_empty();
        match self.cache.as_deref().filter(|_| streams) {
            Some(cache) => {
                self.make_cache();
                SharedWeights::kept_in(cache.join(WEIGHTS))
            }
            None => SharedWeights::default(),
        }
    }

    /// Returns the folder for cached plans.
    pub(super) fn plans(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join(PLANS))
    }

    /// Creates the cache folder first, so that the cache tag is in it and not in each of its subfolders. If it cannot
    /// be created, nothing is stored, which is not an error.
    pub(super) fn make_cache(&self) {
        if let Some(cache) = &self.cache
            && let Err(error) = make_cache(cache)
        {
            tracing::debug!(path = %cache.display(), %error, "there is no cache folder");
        }
    }
}

/// Parses a fraction, such as a tolerance.
pub(super) fn fraction(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if part >= 0.0 && part.is_finite() => Ok(part),
        _ => Err(format!("`{text}` is no part of anything; write a number such as 1e-4, or 0 for the same bits")),
    }
}

/// Default limit, in seconds, of the search for a model's plan. The slowest models of the catalogue, RetinaFace and
/// ShuffleNet with everything in the smallest pool, take up to 28 on two cores in a release build.
pub(super) const DEADLINE: &str = "30";

/// How long to search for a plan.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct DeadlineArgs {
    /// Limit the search for a plan to this time and use the best plan so far; `none` searches to the end.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = DEADLINE,
        value_parser = progress::deadline,
        help_heading = "Search"
    )]
    deadline: Deadline,
}

impl DeadlineArgs {
    /// Returns the time limit of a search, or `None` if it is unlimited.
    pub(super) fn time(self) -> Option<Duration> {
        self.deadline.0
    }
}

/// Which adapter to use.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Device")]
pub(super) struct AdapterArgs {
    /// Use the first adapter whose name contains this, or the one with this PCI address: `texpool devices` shows both.
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// If there is no adapter, install the software Vulkan driver (apt-get, as root or through sudo).
    #[arg(long)]
    install_driver: bool,
    /// Fail if the device takes longer than this for a run or a transfer.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse_seconds)]
    timeout: Duration,
}

impl AdapterArgs {
    /// The name that was given.
    pub(super) fn name(&self) -> Option<&str> {
        self.adapter.as_deref()
    }

    /// Opens the adapter. If none exists, installs the software driver first if the user permits it, by the flag or
    /// on the terminal.
    pub(super) fn open(&self, timestamps: bool) -> Result<Gpu, CliError> {
        let install = if self.install_driver { Install::Yes } else { Install::Ask };
        let options =
            GpuOptions { adapter: self.adapter.clone(), timestamps, timeout: self.timeout, ..GpuOptions::default() };
        // No spinner, because it may ask a question.
        setup::open_gpu(&options, install).map_err(|error| match (&self.adapter, error) {
            (Some(name), SetupError::Gpu(GpuError::NoAdapter { .. })) => no_such_adapter(name),
            (_, error) => error.into(),
        })
    }
}
