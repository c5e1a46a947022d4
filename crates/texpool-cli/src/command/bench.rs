//! `texpool bench`: measures the time of a model's runs, and their processor time.

use super::{
    args::{self, AdapterArgs, ModelArgs, PlanSetting},
    compare_plans,
    error::CliError,
    inputs::random,
    out,
    saved_plan::SavedPlanArgs,
    setup_model::PlanSource,
    stats::{ms, percentile},
};
use crate::{
    io::printable,
    report::{ClampedReport, DeviceMemoryReport, MemoryReport, ValueSummary},
};
use cpu_time::ProcessTime;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt::Write,
    time::{Duration, Instant},
};
use texpool::{
    compile::option_text::parse_seconds,
    gpu::{DispatchTime, Executor, ExecutorOptions},
    graph::{Graph, NodeId, TensorId},
};

/// Minimum number of runs, however short the given time is. With fewer, the tenth and ninetieth percentiles would be
/// meaningless.
const MIN_RUNS: usize = 5;
/// Share of the measuring time for profiled runs. They are slower, because each dispatch has a separate pass.
const PROFILE_SHARE: f64 = 0.2;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    saved_plan: SavedPlanArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    /// Duration of the measurement, after the first runs.
    #[arg(long, default_value = "3", value_parser = parse_seconds)]
    seconds: Duration,
    /// Compare plans in alternating runs: `off`, `auto`, `min` and budgets such as `2MiB`, separated by commas.
    /// Ratios refer to the first plan.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = args::plan_setting, conflicts_with_all = ["phases", "budget", "plan"])]
    plans: Vec<PlanSetting>,
}

#[derive(Serialize)]
struct Answer {
    model: String,
    runs: usize,
    wall_ms: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_ms: Option<Spread>,
    cpu_ms: Median,
    cold_ms: f64,
    plan_source: PlanSource,
    dispatches: usize,
    pipelines: usize,
    pool_bytes: u64,
    weight_format: &'static str,
    gpu_memory_peak_bytes: Option<u64>,
    device_memory: DeviceMemoryReport,
    outputs: Vec<Output>,
    clamped: ClampedReport,
    steps: Vec<Step>,
}

/// An output of the last run.
#[derive(Serialize)]
struct Output {
    name: String,
    #[serde(flatten)]
    values: ValueSummary,
}

#[derive(Serialize)]
struct Spread {
    median: f64,
    p10: f64,
    p90: f64,
}

#[derive(Serialize)]
struct Median {
    median: f64,
}

#[derive(Serialize)]
struct Step {
    /// First step of the operator.
    step: usize,
    bands: usize,
    operator: String,
    tensor: String,
    shape: Vec<usize>,
    kernels: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_ms: Option<f64>,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    // Downloads the model before the clock starts.
    let found = args.model.find()?;
    let cold = Instant::now();
    let graph = found.import()?;
    let gpu = args.adapter.open(true)?;
    if !args.plans.is_empty() {
        let options = |setting: &PlanSetting| (setting.clone(), args.model.options_for(setting));
        let settings: Vec<_> = args.plans.iter().map(options).collect();
        let what = compare_plans::Comparison { settings: &settings, time: args.seconds, search: args.model.search() };
        return compare_plans::run(&gpu, &graph, &what, json);
    }
    let options = ExecutorOptions { compile: args.model.compile_options(), ..ExecutorOptions::default() };
    let (mut session, plan_source) = args.saved_plan.session(&gpu, &graph, &options, &args.model.search())?;
    let inputs = random(&graph);
    let slices: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
    let mut outputs = session.run(&slices)?;
    let cold_ms = ms(cold.elapsed());
    session.run_into(&slices, &mut outputs)?;

    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let end = Instant::now() + args.seconds;
    while wall.len() < MIN_RUNS || Instant::now() < end {
        let (begun, cpu_begun) = (Instant::now(), ProcessTime::now());
        session.run_into(&slices, &mut outputs)?;
        wall.push(ms(begun.elapsed()));
        cpu.push(ms(cpu_begun.elapsed()));
    }
    // Read before profiling, which allocates buffers that normal callers do not have.
    let memory = session.memory();
    let device_memory = DeviceMemoryReport::from_memory(&memory);
    let clamped = ClampedReport::from(&session.warnings()?);
    // Last, because profiled runs are slower and must not affect the other figures.
    let profiles = profile(&mut session, args.seconds.mul_f64(PROFILE_SHARE))?;
    let sums: Vec<f64> = profiles.iter().map(|times| times.iter().map(|t| t.ms).sum()).collect();

    let answer = Answer {
        model: graph.name.clone(),
        runs: wall.len(),
        wall_ms: spread(&wall),
        gpu_ms: (!sums.is_empty()).then(|| spread(&sums)),
        cpu_ms: Median { median: percentile(&cpu, 0.5) },
        cold_ms,
        plan_source,
        dispatches: session.dispatches(),
        pipelines: session.pipelines().len(),
        pool_bytes: memory.planned.pool,
        weight_format: session.compiled().weight_format().name(),
        gpu_memory_peak_bytes: device_memory.reserved_peak,
        device_memory,
        outputs: graph.outputs.iter().zip(&outputs).map(|(&tensor, values)| output(&graph, tensor, values)).collect(),
        clamped,
        steps: steps(&session, &profiles),
    };
    if json { out::json(&answer) } else { out::text(&text(&answer)) }
}

fn output(graph: &Graph, tensor: TensorId, values: &[f32]) -> Output {
    Output { name: graph.tensors[tensor].name.clone(), values: ValueSummary::from_slice(values) }
}

/// Measures every dispatch, run after run; empty if the device has no timestamps.
fn profile(session: &mut Executor, time: Duration) -> Result<Vec<Vec<DispatchTime>>, CliError> {
    let end = Instant::now() + time;
    let mut profiles = Vec::new();
    while profiles.len() < MIN_RUNS || Instant::now() < end {
        match session.profile()? {
            Some(times) => profiles.push(times),
            None => break,
        }
    }
    Ok(profiles)
}

/// Lists the operators in the order of their first steps. With bands of rows, each has a step per band.
fn steps(session: &Executor, profiles: &[Vec<DispatchTime>]) -> Vec<Step> {
    let compiled = session.compiled();
    let rows = MemoryReport::from_compiled(compiled).rows;
    let mut made: Vec<Step> = Vec::new();
    let mut of_node: BTreeMap<NodeId, usize> = BTreeMap::new();
    // A table instead of a search, because a plan with bands has tens of thousands of steps, and every run has a time
    // for each dispatch.
    let mut of_step = Vec::with_capacity(rows.len());
    for ((number, row), step) in rows.into_iter().enumerate().zip(&compiled.schedule().steps) {
        // Transfers are not dispatches.
        if step.kind.is_transfer() {
            of_step.push(None);
            continue;
        }
        let at = *of_node.entry(step.node).or_insert_with(|| {
            let shape = compiled.graph().tensors[compiled.graph().nodes[step.node].output].dims.clone();
            let (operator, tensor) = (row.operator, row.writes);
            made.push(Step { step: number, bands: 0, operator, tensor, shape, kernels: Vec::new(), gpu_ms: None });
            made.len() - 1
        });
        made[at].bands += 1;
        of_step.push(Some(at));
    }
    let mut times = vec![vec![0.0; profiles.len()]; made.len()];
    for (run, dispatches) in profiles.iter().enumerate() {
        for time in dispatches {
            // Dispatches that write poison have no step.
            let Some(at) = time.step.and_then(|step| of_step.get(step).copied().flatten()) else { continue };
            times[at][run] += time.ms;
            if !made[at].kernels.contains(&time.kernel) {
                made[at].kernels.push(time.kernel);
            }
        }
    }
    // Empty if the device has no timestamps.
    for (step, times) in made.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
        step.gpu_ms = Some(percentile(&times, 0.5));
    }
    made
}

fn spread(values: &[f64]) -> Spread {
    let at = |share| percentile(values, share);
    Spread { median: at(0.5), p10: at(0.1), p90: at(0.9) }
}

fn text(answer: &Answer) -> String {
    let Answer { model, runs, wall_ms: wall, cold_ms, dispatches, pipelines, .. } = answer;
    let mut text = format!("{model}: {runs} runs, {dispatches} dispatches, {pipelines} pipelines\n\n");
    let spread = |s: &Spread| format!("median {:.2} ms, p10 {:.2}, p90 {:.2}\n", s.median, s.p10, s.p90);
    text += &format!("  wall  {}", spread(wall));
    if let Some(gpu) = &answer.gpu_ms {
        text += &format!("  gpu   {}", spread(gpu));
    }
    text += &format!("  cpu   median {:.2} ms of process time\n", answer.cpu_ms.median);
    text += &format!("  cold  {cold_ms:.0} ms from file to first answer\n");
    for output in &answer.outputs {
        if let Some(warning) = output.values.warning() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  output {}: {warning}", printable(&output.name));
        }
    }
    for sentence in &answer.clamped.sentences {
        let _ = writeln!(text, "  {sentence}");
    }
    let _ = writeln!(text, "\n{}", answer.device_memory);
    for Step { step, bands, operator, tensor, shape, kernels, gpu_ms } in &answer.steps {
        let time = gpu_ms.map(|ms| format!("{ms:8.3} ms ")).unwrap_or_default();
        // Writing to a string cannot fail.
        let bands = if *bands == 1 { String::new() } else { format!(" in {bands} bands") };
        let _ = writeln!(text, "  {step:>4} {time}{operator} {tensor} {shape:?}{bands} {}", kernels.join(" "));
    }
    text
}
