//! `texpool report`: writes a model's plans as a page for a browser.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    args::{AdapterArgs, ModelArgs, PlanSetting},
    bench_steps::{profile, steps, top},
    device::Device,
    error::CliError,
    inputs::random,
    out, progress, setup_model,
    stats::{ms, percentile},
    timed_work::{MIN_RUNS, for_time},
};
use crate::{
    io::{DistinctFiles, printable},
    page::{FrontPlan, MeasuredRun, PlanGroup, ReportPage},
    report::{DeviceMemoryReport, KindTime, MemoryReport, StepTime, grouped, step_table, with_speeds},
};
use texpool_compile::{CompileOptions, CompiledModel, Objective, option_text::parse_seconds};
use texpool_gpu::{ExecutorOptions, Gpu};
use texpool_ops::graph::{Graph, InputValues};
use texpool_plan::{
    PlanError, Planner, Progress, SearchBudget, StopReason, Strategy, internal::try_strategy, offsets, solve,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    /// Write the page to this file, whole or not at all. Default: the model's name with `.html`, in this folder.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Add the Pareto front of device memory and predicted time, with a slider along its plans.
    #[arg(long, conflicts_with = "stripes", help_heading = "Output")]
    front: bool,
    /// Run the plan on this machine's device, and add its memory and the time of each step.
    #[arg(long, help_heading = "Measurement")]
    measure: bool,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// With --measure: duration of the measurement.
    #[arg(long, default_value = "1", value_parser = parse_seconds, requires = "measure", help_heading = "Measurement")]
    seconds: Duration,
    /// With --measure: number of steps to print, the slowest first, or `all`.
    #[arg(long, value_name = "N", default_value = "5", value_parser = top, requires = "measure", help_heading = "Output")]
    top: usize,
}

#[derive(Serialize)]
struct Answer {
    model: String,
    file: String,
    file_bytes: usize,
    plans: Vec<Plan>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    front: Vec<FrontPlan>,
    /// Median wall time of a run; only with `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ms: Option<f64>,
    /// The device; only with `--measure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Device>,
    /// The operators in order, with their times; only with `--measure`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<StopReason>,
}

#[derive(Serialize)]
struct Plan {
    name: String,
    group: PlanGroup,
    bytes: u64,
    /// Runs of rows with one live range, which the page draws.
    blocks: usize,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    let source = args.model.find()?;
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.html", source.name())));
    let mut files = DistinctFiles::default();
    files.writes("the report", &output)?;
    let graph = source.import_apart(&mut files)?;
    let gpu = args.measure.then(|| args.adapter.open(true)).transpose()?;
    let search = args.model.search();
    let mut page = ReportPage::new(&graph.name);
    let options = args.model.compile_options();
    let options = gpu.as_ref().map_or(Ok(options.clone()), |gpu| setup_model::options_for(gpu, options))?;
    let run = add_plans(&mut page, &graph, args, &options)?;
    let mut stopped = run.stopped();
    if args.front {
        let front = setup_model::front(&graph, &options, search.deadline)?;
        page.set_front(&front, options.device_profile.clock)?;
        stopped = stopped.or(front.stopped());
    }
    let (mut wall_ms, mut steps) = (None, Vec::new());
    let device = gpu.as_ref().map(Device::of);
    if let Some(gpu) = gpu {
        setup_model::check_interrupted("planning")?;
        let options = ExecutorOptions { compile: options, weights: search.weights(&run), ..ExecutorOptions::default() };
        let measured;
        (measured, steps) = self::measured(&gpu, &graph, run, &options, args.seconds)?;
        wall_ms = Some(measured.wall_ms);
        page.set_measured(measured);
    }

    let html = page.html()?;
    files.write(&output, html.as_bytes())?;
    let by_operator = with_speeds(&mut steps, None);
    let plan = |(name, group, bytes, blocks): (&str, _, _, _)| Plan { name: name.to_owned(), group, bytes, blocks };
    let answer = Answer {
        model: graph.name.clone(),
        file: output.display().to_string(),
        file_bytes: html.len(),
        plans: page.summary().map(plan).collect(),
        front: page.front_points().to_vec(),
        wall_ms,
        device,
        steps,
        stopped,
    };
    if json { out::json(&answer) } else { out::text(&text(&answer, &by_operator, args)) }?;
    setup_model::check_answered()
}

/// Adds the plan of whole tensors with all strategies, and the tiled plan if it was asked for. Returns the model with
/// the last of them.
fn add_plans(
    page: &mut ReportPage,
    graph: &Graph,
    args: &Args,
    options: &CompileOptions,
) -> Result<CompiledModel, CliError> {
    let search = args.model.search();
    let off = PlanSetting { name: "fastest".to_owned(), objective: Objective::Fastest };
    let whole = setup_model::compiled(graph, &args.model.options_for(&off), search.deadline);
    let refused = match whole {
        Ok(whole) => {
            let schedule = page.add_plan("whole tensors", notes(&whole), &whole)?;
            if let Some(best) = whole.best() {
                page.set_solution(schedule, best);
            }
            add_strategies(page, schedule, &whole, search.deadline)?;
            if options.objective == Objective::Fastest {
                return Ok(whole);
            }
            None
        }
        // Some models fit into textures only in stripes of rows.
        Err(CliError::Compile(error)) if options.objective != Objective::Fastest => {
            Some(format!("as whole tensors, the model has no plan: {error}"))
        }
        Err(error) => return Err(error),
    };
    let tiled = setup_model::kept_or_compiled(graph, options, &search)?.0;
    let name = if tiled.tiled().is_some() { "tiles" } else { "whole tensors: tiling saves nothing" };
    page.add_plan(name, notes(&tiled).into_iter().chain(refused).collect(), &tiled)?;
    Ok(tiled)
}

/// Returns the reasons for a compiled model's plan.
fn notes(compiled: &CompiledModel) -> Vec<String> {
    let report = MemoryReport::from_compiled(compiled);
    let stopped = report.stopped.map(|reason| format!("search stopped: {reason}; a smaller pool may exist"));
    let chosen = compiled.best().filter(|_| compiled.tiled().is_none()).map(|best| best.reason.clone());
    report.tiling_why.into_iter().chain(chosen).chain(stopped).collect()
}

/// Adds the layout of every strategy, and of the searches for banks and for one arena.
fn add_strategies(
    page: &mut ReportPage,
    schedule: usize,
    whole: &CompiledModel,
    deadline: Option<Duration>,
) -> Result<(), CliError> {
    let (records, uses) = (&whole.schedule().records, &whole.schedule().uses());
    let budget = SearchBudget::default();
    progress::with_progress(deadline, |control| -> Result<(), PlanError> {
        // A third of the time for each search, which leaves the rest to the strategies.
        let banks = solve(records, uses, Planner::Banks, budget, &control.share(1, 3))?;
        page.add_layout("banks", schedule, whole, &banks.layout);
        let arena = offsets::smallest(records, budget.moves, &control.share(1, 3))?;
        page.add_layout("smallest arena", schedule, whole, &arena.layout);
        for (done, &strategy) in (0..).zip(Strategy::ALL) {
            control.report(Progress::new(strategy.name(), done, Strategy::ALL.len() as u64));
            // A quarter of the remaining time, so that one slow strategy does not block all others.
            match try_strategy(strategy, records, &control.share(1, 4))? {
                Ok(layout) => page.add_layout(strategy.name(), schedule, whole, &layout),
                Err(not_tried) => page.add_not_tried(not_tried),
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Runs the plan for some time: its memory, the time of its runs, that of each step, and that of each operator.
fn measured(
    gpu: &Gpu,
    graph: &Graph,
    run: CompiledModel,
    options: &ExecutorOptions,
    time: Duration,
) -> Result<(MeasuredRun, Vec<StepTime>), CliError> {
    let count = run.schedule().steps.len();
    let mut session = setup_model::loaded(gpu, run, options)?;
    let inputs = random(graph);
    let given: Vec<InputValues<'_>> = inputs.iter().map(InputValues::from).collect();
    let mut outputs = session.run(&given)?;
    let mut wall = Vec::new();
    for_time("measuring the plan", time, MIN_RUNS, || {
        let begun = Instant::now();
        session.run_into(&given, &mut outputs)?;
        wall.push(ms(begun.elapsed()));
        Ok(true)
    })?;
    // Read before the dispatches are timed, which takes buffers that a run does not have.
    let memory = DeviceMemoryReport::from_memory(&session.memory());
    let profiles = profile(&mut session, Duration::ZERO)?;
    let mut step_ms = vec![vec![0.0; profiles.len()]; count];
    for (run, dispatches) in profiles.iter().enumerate() {
        for dispatch in dispatches {
            if let Some(times) = dispatch.step.and_then(|step| step_ms.get_mut(step)) {
                times[run] += dispatch.ms;
            }
        }
    }
    let nanoseconds = |times: &Vec<f64>| (percentile(times, 0.5) * 1e6).round() as u64;
    // Empty if the device has no timestamps.
    let step_ns = if profiles.is_empty() { vec![] } else { step_ms.iter().map(nanoseconds).collect() };
    let (adapter, runs, profiled_runs) = (gpu.device.adapter_info().name, wall.len(), profiles.len());
    let measured = MeasuredRun { adapter, memory, runs, wall_ms: percentile(&wall, 0.5), profiled_runs, step_ns };
    Ok((measured, steps(&session, &profiles)))
}

fn text(answer: &Answer, by_operator: &[KindTime], args: &Args) -> String {
    let Answer { model, file, file_bytes, plans, front, steps, .. } = answer;
    let mut text = format!("{model}: plans on the page\n\n");
    for plan in plans.iter().filter(|plan| plan.group == PlanGroup::Runs) {
        text += &format!("  {:<46} {:>14} bytes\n", plan.name, grouped(plan.bytes));
    }
    let count = plans.iter().filter(|plan| plan.group == PlanGroup::Strategy).count();
    text += &format!("  and {count} layouts of strategies, for comparison\n");
    if !front.is_empty() {
        let drawn = front.iter().filter(|point| point.plan.is_some()).count();
        text += &format!("  and the front, {} points, {drawn} of them with their plans\n", front.len());
    }
    if !steps.is_empty() {
        text += &format!("\n{}", step_table(steps, by_operator, args.top));
    }
    let stopped = super::hint::stopped(answer.stopped);
    text += &format!(
        "\nthe report is in {}, {} bytes; open it in a browser\n{stopped}",
        printable(file),
        grouped(*file_bytes as u64)
    );
    if args.model.compile_options().objective == Objective::Fastest {
        text += "  --objective smallest adds the plan in stripes of rows\n";
    }
    if !args.front {
        text += "  --front adds a slider along the front of bytes and time\n";
    }
    if !args.measure {
        text += "  --measure adds the device's memory and the time of each step\n";
    }
    text
}
