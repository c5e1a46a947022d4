//! `texpool plan`: computes the memory that a model, or a set of usage records, would take, without a device.

use std::{ffi::OsString, fmt::Write as _, path::PathBuf, time::Duration};

use super::{
    args::{self, AdapterArgs, PlanArgs, StrategyArg},
    error::CliError,
    hint,
    inputs::random,
    micro::{self, MicroArgs},
    out, picture,
    progress::{self, Deadline},
    records::{self, RecordsArgs},
    setup_model,
};
use crate::{
    io::DistinctFiles,
    report::{self, FrontReport},
};
use texpool::{
    compile::{
        CompileOptions, Phases,
        option_text::{in_textures, parse_seconds},
        parse_size,
    },
    graph::Graph,
    plan::{Planner, SearchBudget, StepUse, StrategyComparison, UsageRecord, compare_strategies, published},
    rewrite::{RULES, Rule, Rules},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A .tflite or .onnx file, or a name from `texpool models list`.
    #[arg(required_unless_present_any = ["records", "published"])]
    model: Option<OsString>,
    /// Planning strategy: `best` takes the smallest plan of all strategies; `optimum` and `banks` search exactly;
    /// `all` shows every strategy, the bounds, the optimum with its proof, banks, and the reason for the chosen plan.
    #[arg(long, value_name = "NAME", default_value = "best", value_parser = args::strategy_arg)]
    strategy: StrategyArg,
    #[command(flatten)]
    plan: PlanArgs,
    /// Plan usage records instead of a model: minimalloc's CSV (`id,lower,upper,size`), a CSV of
    /// `tensor,first_op,last_op,size_bytes`, or JSON. Records with `alignment`, `gaps` or some `offset`s are placed
    /// in one arena. If all have an offset, the file is a plan already, and the records are planned again.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "why", "frontier", "phases", "budget"])]
    records: Option<PathBuf>,
    /// With --records: only check whether they fit into one arena of this size, such as 1MiB. Exit code 0: they fit;
    /// 3: proven not to fit; 4: undecided at the deadline.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "records", conflicts_with = "strategy")]
    capacity: Option<u64>,
    /// Limit the search to this time and use the best plan so far; `none` searches to the end. Default: 10 with
    /// --records, otherwise 30.
    #[arg(long, value_name = "SECONDS", value_parser = progress::deadline)]
    deadline: Option<Deadline>,
    /// With --records: write the plan as minimalloc's CSV with an offset for each record. With --arena: write a copy of
    /// the model with the plan.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Plan the arena of TensorFlow Lite Micro for a .tflite model, in bytes. With --write, the copy of the model makes
    /// that runtime use the plan.
    #[arg(long, conflicts_with_all = ["records", "why", "frontier", "phases", "budget", "strategy"])]
    arena: bool,
    /// With --arena: leave room for the scratch buffer of an operator's kernel, such as 12=4096. Operators are counted
    /// from 0. Repeat for each buffer.
    #[arg(long, value_name = "OPERATOR=SIZE", value_parser = micro::scratch, requires = "arena")]
    scratch: Vec<(usize, u64)>,
    /// Limit on the relaxations that the exact solver may solve.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    nodes: u64,
    /// Print the two published tables of Pisarchyk and Lee cell by cell beside the results of this program.
    #[arg(long, conflicts_with_all = ["model", "records", "why", "frontier", "phases", "budget"])]
    published: bool,
    /// Print the rewrite rules: which applied, why others did not, and the effect of each on numbers.
    #[arg(long, conflicts_with = "json")]
    why: bool,
    /// Print the Pareto front of device memory and predicted time: the plans that no other plan beats in both.
    #[arg(long, conflicts_with_all = ["why", "budget", "phases"])]
    frontier: bool,
    /// Also draw the plan as SVG: positions of each tensor's rows in the pool over time. With --frontier: memory
    /// against time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["why", "published"])]
    picture: Option<PathBuf>,
    /// With --frontier: predict times from measurements of this machine's device, and run every plan there.
    #[arg(long, requires = "frontier")]
    measure: bool,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// With --measure: duration of the measurement for each plan.
    #[arg(long, default_value = "0.5", value_parser = parse_seconds, requires = "measure")]
    seconds: Duration,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    if args.published {
        let cells = published::tables()?;
        return if json { out::json(&cells) } else { out::text(&published::tables_text()?) };
    }
    let mut files = DistinctFiles::default();
    args.picture.as_deref().map_or(Ok(()), |picture| picture::check(picture, &mut files))?;
    args.write.as_deref().map_or(Ok(()), |write| files.writes("the plan", write))?;
    if let Some(path) = &args.records {
        files.reads("the records", path)?;
        let asked = RecordsArgs {
            strategy: args.strategy,
            capacity: args.capacity,
            deadline: args.deadline,
            nodes: args.nodes,
            picture: args.picture.as_deref(),
            write: args.write.as_deref(),
            files: &files,
        };
        return records::run(path, &asked, json);
    }
    // clap does not enforce a required flag that conflicts with a given one, like --records with a model.
    if args.capacity.is_some() {
        return Err(CliError::Usage("--capacity goes with --records FILE, not with a model".into()));
    }
    let Some(model) = &args.model else {
        return Err(CliError::Usage("say which model to plan, or --records FILE, or --published".into()));
    };
    if args.arena {
        let asked = MicroArgs { write: args.write.as_deref(), scratch: &args.scratch, deadline: args.time() };
        return micro::run(&args.plan.dims.find(model)?, &asked, &mut files, json);
    }
    if args.write.is_some() {
        return Err(CliError::Usage("--write goes with --records FILE, or with a model and --arena".into()));
    }
    let planner = match args.strategy {
        StrategyArg::One(planner) => in_textures(planner).map_err(CliError::Usage)?,
        StrategyArg::All => Planner::Best,
    };
    let options = args.plan.compile_options(planner);
    if args.strategy == StrategyArg::All && options.phases != Phases::Off {
        return Err(CliError::Usage(
            "--strategy all compares plans of whole tensors: leave out --phases and --budget".into(),
        ));
    }
    let graph = args.plan.dims.find(model)?.import_apart(&mut files)?;
    if args.frontier {
        let front = front(args, &graph, options)?;
        picture::write(args.picture.as_deref(), &files, || Ok(front.svg()))?;
        let assumed = if args.measure { "" } else { ASSUMED };
        if json { out::json(&front) } else { out::text(&format!("{front}{}{assumed}", hint::stopped(front.stopped))) }?;
        return setup_model::check_answered();
    }
    let compiled = setup_model::compiled(&graph, &options, args.time())?;
    if args.why {
        return out::text(&format!("{}{}", compiled.rewriting(), rules(&options.rules)));
    }
    picture::write(args.picture.as_deref(), &files, || Ok(report::picture(&compiled)?))?;
    if args.strategy == StrategyArg::All {
        let found = surveyed(&compiled.schedule().records, &compiled.schedule().uses, args)?;
        return if json { out::json(&found) } else { out::text(&format!("sizes are in texels\n{found}")) };
    }
    let report = setup_model::report(&graph, &compiled, args.time());
    let assumed = if report.phases.is_some() { ASSUMED } else { "" };
    if json { out::json(&report) } else { out::text(&format!("{report}{}{assumed}", hint::stopped(report.stopped))) }?;
    setup_model::check_answered()
}

impl Args {
    /// Returns the time limit of the search for a model's plan.
    fn time(&self) -> Option<Duration> {
        self.deadline.or_else(|| progress::deadline(args::DEADLINE).ok()).and_then(|deadline| deadline.0)
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

/// Note on times that were not measured on a device.
const ASSUMED: &str = "
  times are those of an assumed software device; `run` and `bench` plan with this machine's figures,
  and --frontier --measure shows them
";

fn front(args: &Args, graph: &Graph, options: CompileOptions) -> Result<FrontReport, CliError> {
    if !args.measure {
        return Ok(FrontReport::from_frontier(&graph.name, &setup_model::front(graph, &options, args.time())?));
    }
    let gpu = args.adapter.open(false)?;
    let device_profile = setup_model::device_profile(&gpu, options.format, false)?;
    let options = CompileOptions { limits: gpu.texture_limits(), device_profile, ..options };
    let found = setup_model::front(graph, &options, args.time())?;
    setup_model::check_interrupted("the search for the front")?;
    let inputs = random(graph);
    let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    let times = setup_model::measured(&gpu, &found, &options, &slices, args.seconds)?;
    let mut front = FrontReport::from_frontier(&graph.name, &found);
    front.clock = options.device_profile.clock;
    for (point, middle) in front.points.iter_mut().zip(times) {
        (point.measured_ms, point.wall_ms) = (Some(middle.ms), Some(middle.wall_ms));
    }
    Ok(front)
}

/// Compares all strategies, with a progress bar.
fn surveyed(records: &[UsageRecord], uses: &[StepUse], args: &Args) -> Result<StrategyComparison, CliError> {
    let budget = SearchBudget { nodes: args.nodes, ..SearchBudget::default() };
    let deadline = args.deadline.and_then(|given| given.0);
    Ok(progress::with_progress(deadline, |control| compare_strategies(records, uses, budget, control))?)
}
