//! `texpool plan`: computes the memory that a model, or a set of usage records, would take.

use std::{ffi::OsString, fmt::Write as _, path::PathBuf, time::Duration};

use serde::Serialize;

use super::{
    args::{self, AdapterArgs, PlanArgs, Search, StrategyArg},
    error::CliError,
    fitting::Plain,
    help::RESEARCH,
    hint, memories,
    micro::{self, MicroArgs},
    operator_profiles::{self, ProfileOutput},
    out, picture,
    plan_device::Device,
    plan_files::PlanFiles,
    plan_rows::{self, RowsOf},
    progress::{self, Deadline},
    records::{self, RecordsArgs},
    records_out::{self, RecordsOut},
    repeated_options, setup_model,
    strategies::{self, Comparison},
};
use crate::{
    io::DistinctFiles,
    report::{self, FrontReport, MemoryReport, PlanRow, PlanRows, open_extents, size},
};
use texpool_compile::{
    CompileOptions, CompiledModel, Objective,
    option_text::{in_textures, parse_seconds, parse_texture_planner},
    parse_size,
};
use texpool_model::rewrite::{RULES, Rule, Rules};
use texpool_ops::graph::Graph;
use texpool_plan::{Memory, Planner, SearchBudget, StepUse, StrategyComparison, UsageRecord, compare_strategies};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A .tflite or .onnx file, or a name from `texpool models list`.
    #[arg(required_unless_present_any = ["records", "published"])]
    model: Option<OsString>,
    /// Planning strategy: `best` takes the smallest plan of all strategies; `optimum` and `banks` search exactly;
    /// `all` shows every strategy, the bounds, the optimum with its proof, banks, and the reason for the chosen plan.
    /// Default: `best`.
    #[arg(long, value_name = "NAME", value_parser = args::strategy_arg, help_heading = "Plan")]
    strategy: Option<StrategyArg>,
    /// Compare the pools of strategies, such as `naive,best`, and the share of each in all bytes with the weights. With
    /// --picture, draw them below each other at the same scale.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_texture_planner,
        conflicts_with_all = [
            "strategy", "profile", "details", "records", "published", "why", "front", "measure", "objective", "budget",
            "arena", "write", "records_out"
        ],
        help_heading = "Plan"
    )]
    strategies: Vec<Planner>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Print the whole report of one plan instead: every strategy, where each tensor lies, and every step.
    #[arg(long, conflicts_with_all = ["records", "published", "why", "front", "measure"], help_heading = "Output")]
    details: bool,
    /// Plan usage records instead of a model: minimalloc's CSV (`id,lower,upper,size`), a CSV of
    /// `tensor,first_op,last_op,size_bytes`, or JSON. Records with `alignment`, `gaps` or some `offset`s are placed
    /// in one arena. If all have an offset, the file is a plan already, and the records are planned again.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["model", "why", "front", "objective", "budget", "measure"],
        help_heading = "Input"
    )]
    records: Option<PathBuf>,
    /// With --records: only check whether they fit into one arena of this size, such as 1MiB. Exit code 0: they fit;
    /// 3: proven not to fit; 4: undecided at the deadline.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_size,
        requires = "records",
        conflicts_with = "strategy",
        help_heading = "Plan"
    )]
    capacity: Option<u64>,
    /// With --records: place each in one of several memories, such as --memory sram=512KiB --memory dram, at the least
    /// cost. A column named like a memory has a record's cost there; an empty field keeps the record out. Without such
    /// columns, as many bytes as possible are in the earlier memories.
    #[arg(
        long,
        value_name = "NAME[=SIZE]",
        value_parser = memories::memory,
        requires = "records",
        conflicts_with_all = ["strategy", "capacity", "arena"],
        help_heading = "Plan"
    )]
    memory: Vec<Memory>,
    /// Limit the search to this time and use the best plans so far; `none` searches to the end. Default: 6 for the
    /// table of plans, 10 with --records, and 30 for a single plan and --front.
    #[arg(long, value_name = "SECONDS", value_parser = progress::deadline, help_heading = "Search")]
    deadline: Option<Deadline>,
    /// Do not use or write the cache of plans.
    #[arg(long, help_heading = "Search")]
    no_cache: bool,
    /// With --records: write the plan as minimalloc's CSV with an offset for each record, and its memory. With --arena: write a copy of
    /// the model with the plan.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    write: Option<PathBuf>,
    /// Also write the model's usage records, in bytes, for other planners: as JSON if the name ends in .json, and
    /// otherwise as minimalloc's CSV. Inputs and outputs are included unless --stream is none. `plan --records` reads
    /// both.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["records", "published", "arena", "why", "front", "objective", "budget"],
        help_heading = "Output"
    )]
    records_out: Option<PathBuf>,
    /// With --records-out: round the size of each record up to a multiple of this.
    #[arg(
        long,
        value_name = "BYTES",
        value_parser = records_out::alignment,
        default_value_t = 1,
        requires = "records_out",
        help_heading = "Output"
    )]
    align: u64,
    /// With --records-out: add a column `in_place`, which names the operand in whose place a function of each element may
    /// compute its result.
    #[arg(long, requires = "records_out", help_heading = "Output")]
    in_place: bool,
    /// Plan the arena of TensorFlow Lite Micro for a .tflite model, in bytes. With --write, the copy of the model makes
    /// that runtime use the plan. With --records: place all records in one arena.
    #[arg(long, conflicts_with_all = ["why", "front", "objective", "budget", "strategy", "details"], help_heading = "Plan")]
    arena: bool,
    /// With --arena: leave room for the scratch buffer of an operator's kernel, such as 12=4096. Operators are counted
    /// from 0. Repeat for each buffer.
    #[arg(
        long,
        value_name = "OPERATOR=SIZE",
        value_parser = micro::scratch,
        requires = "arena",
        conflicts_with = "records",
        help_heading = "Plan"
    )]
    scratch: Vec<(usize, u64)>,
    /// Limit on the relaxations that the exact solver may solve.
    #[arg(long, value_name = "N", default_value_t = 20_000, help_heading = RESEARCH)]
    nodes: u64,
    /// Print the two published tables of Pisarchyk and Lee cell by cell beside the results of this program.
    #[arg(
        long,
        conflicts_with_all = ["model", "records", "why", "front", "objective", "budget", "measure"],
        help_heading = RESEARCH
    )]
    published: bool,
    /// Print the rewrite rules: which applied, why others did not, and the effect of each on numbers.
    #[arg(long, conflicts_with_all = ["json", "measure"], help_heading = "Output")]
    why: bool,
    /// Print the Pareto front of device memory and predicted time: the plans that no other plan beats in both.
    #[arg(long, conflicts_with_all = ["why", "budget", "objective", "stripes"], help_heading = "Output")]
    front: bool,
    /// Print the operator profiles instead: for each step the tensors alive and their sum, the positional maximums, and
    /// both lower bounds, as Pisarchyk and Lee define them. With --picture, draw them.
    #[arg(
        long,
        conflicts_with_all = [
            "details", "published", "why", "front", "measure", "objective", "budget", "strategy", "capacity", "memory",
            "arena", "write", "records_out"
        ],
        help_heading = RESEARCH
    )]
    profile: bool,
    /// Also draw the plan as SVG: positions of each tensor's rows in the pool over time. Draws the plain plan unless
    /// flags select another. With --front: memory against time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["why", "published"], help_heading = "Output")]
    picture: Option<PathBuf>,
    /// Predict times from measurements of this machine's device, and run every plan there.
    #[arg(long, help_heading = "Device")]
    measure: bool,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// With --measure: duration of the measurement for each plan.
    #[arg(long, default_value = "0.5", value_parser = parse_seconds, requires = "measure", help_heading = "Device")]
    seconds: Duration,
}

/// Default deadline in seconds of all searches for the table of plans together.
const TABLE_DEADLINE: &str = "6";

/// The document of a model: the report of one plan, and the table.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a MemoryReport,
    #[serde(flatten)]
    table: &'a PlanRows,
}

/// The answer to `--published`.
#[derive(Serialize)]
struct PublishedTables {
    cells: Vec<texpool_plan::published::Cell>,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    if args.published {
        let cells = texpool_plan::published::tables()?;
        return if json {
            out::json(&PublishedTables { cells })
        } else {
            out::text(&texpool_plan::published::tables_text()?)
        };
    }
    let mut files = DistinctFiles::default();
    args.picture.as_deref().map_or(Ok(()), |picture| picture::check(picture, &mut files))?;
    args.write.as_deref().map_or(Ok(()), |write| files.writes("the plan", write))?;
    args.records_out.as_deref().map_or(Ok(()), |to| files.writes("the records", to))?;
    let strategy = args.strategy.unwrap_or(StrategyArg::One(Planner::Best));
    if let Some(path) = &args.records {
        files.reads("the records", path)?;
        if args.profile {
            return operator_profiles::of_records(path, &args.profile_output(&files, json));
        }
        let records_args = RecordsArgs {
            strategy,
            capacity: args.capacity,
            arena: args.arena,
            memories: &args.memory,
            deadline: args.deadline,
            nodes: args.nodes,
            files: PlanFiles { picture: args.picture.as_deref(), csv: args.write.as_deref(), all: &files },
        };
        return records::run(path, &records_args, json);
    }
    // clap does not enforce a required flag that conflicts with a given one, like --records with a model.
    for (name, given) in [("--capacity", args.capacity.is_some()), ("--memory", !args.memory.is_empty())] {
        if given {
            return Err(CliError::Usage(format!("{name} goes with --records FILE, not with a model")));
        }
    }
    let Some(model) = &args.model else {
        return Err(CliError::Usage("say which model to plan, or --records FILE, or --published".into()));
    };
    if args.arena {
        let micro_args =
            MicroArgs { write: args.write.as_deref(), scratch: &args.scratch, deadline: args.time(args::DEADLINE) };
        return micro::run(&args.plan.dims.find(model)?, &micro_args, &mut files, json);
    }
    if args.write.is_some() {
        return Err(CliError::Usage("--write goes with --records FILE, or with a model and --arena".into()));
    }
    let planner = match strategy {
        StrategyArg::One(planner) => in_textures(planner).map_err(CliError::Usage)?,
        StrategyArg::All => Planner::Best,
    };
    let options = args.plan.compile_options(planner);
    if strategy == StrategyArg::All && options.objective != Objective::Fastest {
        return Err(CliError::Usage(
            "--strategy all compares plans of whole tensors: leave out --objective and --budget".into(),
        ));
    }
    let graph = args.plan.dims.find(model)?.import_apart(&mut files)?;
    if !args.strategies.is_empty() {
        let (strategies, plan, time) = (&*args.strategies, &args.plan, args.time(args::DEADLINE));
        let picture = args.picture.as_deref();
        return strategies::run(&graph, &Comparison { strategies, plan, time, picture, files: &files, json });
    }
    if args.profile {
        // The order of steps may depend on the strategy, so the profiles are those of the plain plan.
        let compiled = setup_model::compiled(&graph, &options, args.time(args::DEADLINE))?;
        return operator_profiles::of_model(&compiled, &args.profile_output(&files, json));
    }
    if args.front {
        let front = front(args, &graph, options)?;
        picture::write(args.picture.as_deref(), &files, || Ok(front.svg()))?;
        let assumed = if args.measure { "" } else { ASSUMED };
        if json { out::json(&front) } else { out::text(&format!("{front}{}{assumed}", hint::stopped(front.stopped))) }?;
        return setup_model::check_answered();
    }
    if args.why {
        let compiled = setup_model::compiled(&graph, &options, args.time(args::DEADLINE))?;
        return out::text(&format!("{}{}", compiled.rewriting(), rules(&options.rules)));
    }
    if strategy == StrategyArg::All {
        let compiled = setup_model::compiled(&graph, &options, args.time(args::DEADLINE))?;
        picture::write(args.picture.as_deref(), &files, || Ok(report::picture(&compiled)?))?;
        records_out::write(args.records_out(), &compiled, &files)?;
        let comparison = surveyed(&compiled.schedule().records, &compiled.schedule().uses(), args)?;
        return if json { out::json(&comparison) } else { out::text(&format!("sizes are in texels\n{comparison}")) };
    }
    answer(args, &graph, planner, &files, json)?;
    setup_model::check_answered()
}

/// Answers for a model: with the plan that the flags select, or else with the table of plans.
fn answer(args: &Args, graph: &Graph, planner: Planner, files: &DistinctFiles, json: bool) -> Result<(), CliError> {
    let device =
        args.measure.then(|| Device::open(&args.adapter, args.plan.format(), args.plan.blocks())).transpose()?;
    let for_device = |options: CompileOptions| device.as_ref().map_or(options.clone(), |device| device.adapt(options));
    let options = for_device(args.plan.compile_options(planner));
    let named = args.strategy.map(|_| format!("strategy {planner}"));
    let selected = args.plan.selected().or(named);
    let search = Search { deadline: args.time(args::DEADLINE), ..args.search() };
    // The report has the results of all strategies, which stored plans lack.
    let whole_report = json || args.details;
    let compiled = match whole_report {
        true => setup_model::compiled(graph, &options, search.deadline)?,
        false => setup_model::kept_or_compiled(graph, &options, &search)?.0,
    };
    picture::write(args.picture.as_deref(), files, || Ok(report::picture(&compiled)?))?;
    records_out::write(args.records_out(), &compiled, files)?;
    if args.details && !json {
        let report = setup_model::report(graph, &compiled, search.deadline);
        let assumed = if report.tiling.is_some() { ASSUMED } else { "" };
        return out::text(&format!("{report}{}{assumed}", hint::stopped(report.stopped)));
    }
    let predicted_for = device.as_ref().map_or(TYPICAL, |device| &device.name);
    let (mut table, plans) = match &selected {
        Some(name) => {
            let plain = setup_model::compiled(graph, &for_device(args.plan.plain_options()), search.deadline)?;
            one_row(name, (&plain, &compiled), &options, predicted_for)
        }
        None => {
            let search = Search { deadline: args.time(TABLE_DEADLINE), ..search.clone() };
            let options = |objective| for_device(args.plan.options_for(Planner::Best, objective));
            let keep = device.is_some();
            let of = RowsOf { graph, plain: &compiled, options: &options, predicted_for, keep };
            plan_rows::find(&of, &search)?
        }
    };
    if let Some(device) = &device {
        let plans = (plans.len(), |plan: usize| plans.get(plan).cloned());
        let times = device.times(plans, graph, &options, args.seconds)?;
        let times: Vec<f64> = times.iter().map(|times| times.ms).collect();
        // The plain plan runs first, even if the table does not show it.
        let shown = times.get(times.len().saturating_sub(table.rows.len())..).unwrap_or_default();
        table = table.measured(times.first().copied().unwrap_or_default(), shown);
    }
    if json {
        let report = setup_model::report(graph, &compiled, search.deadline);
        return out::json(&Answer { report: &report, table: &table });
    }
    let model = repeated_options::with_options(args.model.as_deref().unwrap_or_default().as_ref());
    out::text(&text(&graph.name, &model, &compiled, &table, selected.is_none()))
}

/// Returns the table of a single plan, and the plans to run for it: the plain plan and this one.
fn one_row(
    name: &str,
    (plain, compiled): (&CompiledModel, &CompiledModel),
    options: &CompileOptions,
    predicted_for: &str,
) -> (PlanRows, Vec<CompiledModel>) {
    let figures = Plain::new(plain, &options.device_profile);
    let row = figures.row(name, "", compiled, &options.device_profile);
    (figures.table(predicted_for, vec![row]), vec![plain.clone(), compiled.clone()])
}

/// The table, notes on what a reader may miss in it, and what to do next.
fn text(name: &str, model: &str, compiled: &CompiledModel, table: &PlanRows, several: bool) -> String {
    let (steps, naive) = (compiled.schedule().steps.len(), size(table.naive_device_bytes));
    let mut text =
        format!("{name}: {steps} steps; {naive} of device memory with a texture for every tensor\n\n{table}");
    let MemoryReport { tiling_why: why, patches, order, open_extents: open, .. } =
        MemoryReport::from_compiled(compiled);
    text += &open_extents(&open);
    if let Some(order) = order {
        let _ = write!(text, "\n{order}\n");
    }
    if let Some(why) = why.filter(|_| !several) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  row tiling: {why}");
    }
    if let Some(patches) = patches.filter(|_| !several) {
        let _ = writeln!(text, "  {patches}");
    }
    let stopped: Vec<&PlanRow> = table.rows.iter().filter(|row| row.stopped.is_some()).collect();
    if let Some(reason) = stopped.first().and_then(|row| row.stopped) {
        let names: Vec<&str> = stopped.iter().map(|row| &*row.name).collect();
        let (names, hint) = (names.join(", "), hint::stopped(Some(reason)));
        let _ = write!(text, "  search stopped: {reason} ({names}); smaller or faster plans may exist\n{hint}");
    }
    let flags = table.rows.iter().find(|row| row.figures.is_some() && !row.flags.is_empty());
    let flags = flags.map_or("", |row| &row.flags);
    let run =
        if several && !flags.is_empty() { format!("; `texpool run {model} {flags}` runs one") } else { String::new() };
    let _ = writeln!(
        text,
        "  next: --details has every tensor and step; --picture FILE.svg draws the plan; --measure times it here{run}"
    );
    text
}

impl Args {
    /// Returns the time limit of a search, with the default for its kind.
    fn time(&self, default: &str) -> Option<Duration> {
        self.deadline.or_else(|| progress::deadline(default).ok()).and_then(|deadline| deadline.0)
    }

    /// Returns the records that are written, and how.
    fn records_out(&self) -> RecordsOut<'_> {
        RecordsOut { to: self.records_out.as_deref(), align: self.align, in_place: self.in_place }
    }

    /// Returns where the operator profiles go.
    fn profile_output<'a>(&'a self, files: &'a DistinctFiles, json: bool) -> ProfileOutput<'a> {
        ProfileOutput { picture: self.picture.as_deref(), files, json }
    }

    /// Returns settings for searches with the cache.
    fn search(&self) -> Search {
        Search::new(None, self.no_cache)
    }
}

/// Lists every rule, its state, and its effect on numbers.
fn rules(on: &Rules) -> String {
    let mut text = "\nrules, and what they do to numbers:\n".to_owned();
    for Rule { name, about, numerics, .. } in &RULES {
        let off = if on.is_on(name) { "" } else { " (off)" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<20} {numerics:<13}{off} {about}");
    }
    text
}

/// The device whose figures are assumed without a measurement.
pub(super) const TYPICAL: &str = "a typical software device";

/// Note on times that were not measured on a device.
const ASSUMED: &str = "
  times are those of an assumed software device; `run` and `bench` plan with this machine's figures,
  and --front --measure shows them
";

fn front(args: &Args, graph: &Graph, options: CompileOptions) -> Result<FrontReport, CliError> {
    let time = args.time(args::DEADLINE);
    if !args.measure {
        return Ok(FrontReport::new(&graph.name, &setup_model::front(graph, &options, time)?));
    }
    let device = Device::open(&args.adapter, args.plan.format(), args.plan.blocks())?;
    let options = device.adapt(options);
    let front = setup_model::front(graph, &options, time)?;
    let times = device.times((front.points().len(), |point| front.compiled(point)), graph, &options, args.seconds)?;
    let mut report = FrontReport::new(&graph.name, &front);
    report.clock = options.device_profile.clock;
    for (point, middle) in report.points.iter_mut().zip(times) {
        (point.measured_ms, point.wall_ms) = (Some(middle.ms), Some(middle.wall_ms));
    }
    Ok(report)
}

/// Compares all strategies, with a progress bar.
fn surveyed(records: &[UsageRecord], uses: &[StepUse], args: &Args) -> Result<StrategyComparison, CliError> {
    let budget = SearchBudget { nodes: args.nodes, ..SearchBudget::default() };
    let deadline = args.deadline.and_then(|deadline| deadline.0);
    Ok(progress::with_progress(deadline, |control| compare_strategies(records, uses, budget, control))?)
}
