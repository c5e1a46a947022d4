//! `texpool bench`: measures the time of a model's runs, and their processor time.

use super::{
    args::{self, AdapterArgs, ModelArgs, PlanSetting},
    bench_against::{Changes, EarlierBench, Measured, PlanFigures},
    bench_steps::{profile, steps, top},
    compare_plans::{self, PlanChoice},
    compare_storage::{self, Storage},
    device::Device,
    error::CliError,
    inputs::random,
    out,
    saved_plan::SavedPlanArgs,
    setup_model::PlanSource,
    stats::{Spread, ms},
    timed_work::{MIN_RUNS, for_time},
    timeline,
};
use crate::{
    fetch::cache_folder,
    io::{DistinctFiles, printable},
    report::{
        ClampedReport, DeviceMemoryReport, KindTime, StepTime, ValueSummary, grouped, size, step_table, with_speeds,
    },
    setup,
};
use cpu_time::ProcessTime;
use serde::Serialize;
use std::{
    fmt::Write,
    path::PathBuf,
    time::{Duration, Instant},
};
use texpool_compile::{
    DeviceCeiling,
    option_text::{parse_seconds, parse_texture_planner},
};
use texpool_gpu::ExecutorOptions;
use texpool_ops::graph::{Graph, InputValues, TensorId};
use texpool_plan::Planner;
use tracing::debug_span;

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
    #[arg(long, default_value = "3", value_parser = parse_seconds, help_heading = "Measurement")]
    seconds: Duration,
    /// Compare plans in alternating runs: `fastest`, `balanced`, `smallest` and budgets such as `2MiB`, separated by
    /// commas. Ratios refer to the first plan.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = args::plan_setting,
        conflicts_with_all = ["objective", "budget", "plan"],
        help_heading = "Measurement"
    )]
    plans: Vec<PlanSetting>,
    /// Compare planning strategies in alternating runs, such as `naive,best`. Ratios refer to the first.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_texture_planner,
        conflicts_with_all = ["strategy", "plans", "plan"],
        help_heading = "Measurement"
    )]
    strategies: Vec<Planner>,
    /// `buffer` runs the plan in storage buffers, too, in alternating runs, and compares the bits. Takes the device's
    /// memory twice.
    #[arg(
        long,
        value_enum,
        default_value_t = Storage::Texture,
        conflicts_with_all = ["plans", "strategies", "against", "trace", "details", "top"],
        help_heading = "Measurement"
    )]
    storage: Storage,
    /// Compare with an earlier `texpool bench --json` in this file. Times whose ranges from the tenth to the ninetieth
    /// percentile do not overlap are marked as changed.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plans", "strategies"], help_heading = "Measurement")]
    against: Option<PathBuf>,
    /// Write the timeline of this call to this file, for ui.perfetto.dev: import, planning, pipelines, uploads of
    /// weights, runs, and each dispatch of a run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plans", "strategies"], help_heading = "Output")]
    trace: Option<PathBuf>,
    /// Number of steps to print, the slowest first, or `all`.
    #[arg(long, value_name = "N", default_value = "10", value_parser = top, help_heading = "Output")]
    top: usize,
    /// Print every step in order, and the parts of the device's memory.
    #[arg(long, conflicts_with_all = ["top", "plans", "strategies"], help_heading = "Output")]
    details: bool,
}

#[derive(Serialize)]
struct Answer {
    model: String,
    device: Device,
    runs: usize,
    wall_ms: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_ms: Option<Spread>,
    cpu_ms: Spread,
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
    steps: Vec<StepTime>,
    by_operator: Vec<KindTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<DeviceCeiling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Changes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<TraceFile>,
}

/// The timeline that was written.
#[derive(Serialize)]
struct TraceFile {
    file: String,
    events: usize,
}

/// An output of the last run.
#[derive(Serialize)]
struct Output {
    name: String,
    #[serde(flatten)]
    values: ValueSummary,
}

impl Args {
    /// Returns true if a timeline of the call is wanted.
    pub(super) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Returns the files of the call apart from the model.
    fn files(&self) -> Result<DistinctFiles, CliError> {
        let mut files = DistinctFiles::default();
        if let Some(path) = &self.against {
            files.reads("the earlier measurement", path)?;
        }
        if let Some(path) = &self.trace {
            files.writes("the trace", path)?;
        }
        Ok(files)
    }
}

impl Answer {
    /// Returns the part that is compared with an earlier measurement.
    fn measured(&self) -> Measured<'_> {
        Measured {
            device: &self.device,
            wall_ms: self.wall_ms,
            gpu_ms: self.gpu_ms,
            cpu_ms: self.cpu_ms,
            plan: PlanFigures {
                dispatches: self.dispatches,
                pipelines: self.pipelines,
                pool_bytes: self.pool_bytes,
                weight_format: self.weight_format.to_owned(),
            },
            steps: &self.steps,
        }
    }
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    // Downloads the model before the clock starts.
    let source = args.model.find()?;
    let cold = Instant::now();
    let mut files = args.files()?;
    let graph = debug_span!("import").in_scope(|| source.import_apart(&mut files))?;
    // Before the measurement, which takes seconds.
    let earlier = args.against.as_deref().map(|path| Ok::<_, CliError>((path, EarlierBench::read(path, &graph.name)?)));
    let earlier = earlier.transpose()?;
    let gpu = debug_span!("open the device").in_scope(|| args.adapter.open(true))?;
    let plans =
        args.plans.iter().map(|setting| (PlanChoice::Objective(setting.name.clone()), args.model.options_for(setting)));
    let with = |&planner: &Planner| (PlanChoice::Strategy(planner.to_string()), args.model.options_with(planner));
    let settings: Vec<_> = plans.chain(args.strategies.iter().map(with)).collect();
    if !settings.is_empty() {
        let what = compare_plans::Comparison { settings: &settings, time: args.seconds, search: args.model.search() };
        return compare_plans::run(&gpu, &graph, &what, json);
    }
    let options = ExecutorOptions { compile: args.model.compile_options(), ..ExecutorOptions::default() };
    let (mut session, plan_source) = args.saved_plan.session(&gpu, &graph, &options, &args.model.search())?;
    let inputs = random(&graph);
    let given: Vec<InputValues<'_>> = inputs.iter().map(InputValues::from).collect();
    let mut outputs = debug_span!("first run").in_scope(|| session.run(&given))?;
    let cold_ms = ms(cold.elapsed());
    debug_span!("second run").in_scope(|| session.run_into(&given, &mut outputs))?;
    if args.storage == Storage::Buffer {
        return compare_storage::run(&gpu, session, args.seconds, json);
    }

    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for_time("measuring runs", args.seconds, MIN_RUNS, || {
        let (begun, cpu_begun) = (Instant::now(), ProcessTime::now());
        debug_span!("run").in_scope(|| session.run_into(&given, &mut outputs))?;
        wall.push(ms(begun.elapsed()));
        cpu.push(ms(cpu_begun.elapsed()));
        Ok(true)
    })?;
    // Read before profiling, which allocates buffers that normal callers do not have.
    let memory = session.memory();
    let device_memory = DeviceMemoryReport::from_memory(&memory);
    let clamped = ClampedReport::from(&session.warnings()?);
    // Last, because profiled runs are slower and must not affect the other figures.
    let profiles = profile(&mut session, args.seconds.mul_f64(PROFILE_SHARE))?;
    let sums: Vec<f64> = profiles.iter().map(|times| times.iter().map(|t| t.ms).sum()).collect();

    let mut steps = steps(&session, &profiles);
    let format = session.compiled().format();
    let ceiling = cache_folder().ok().and_then(|folder| setup::kept_device_ceiling(&gpu, format, &folder));
    let by_operator = with_speeds(&mut steps, ceiling.as_ref());
    let mut answer = Answer {
        model: graph.name.clone(),
        device: Device::of(&gpu),
        runs: wall.len(),
        wall_ms: Spread::of(&wall),
        gpu_ms: (!sums.is_empty()).then(|| Spread::of(&sums)),
        cpu_ms: Spread::of(&cpu),
        cold_ms,
        plan_source,
        dispatches: session.dispatches(),
        pipelines: session.pipelines().len(),
        pool_bytes: memory.planned.pool,
        weight_format: session.compiled().weight_format().name(),
        gpu_memory_peak_bytes: device_memory.reserved_peak,
        device_memory,
        outputs: graph
            .caller_outputs()
            .iter()
            .zip(&outputs)
            .map(|(&tensor, values)| output(&graph, tensor, values))
            .collect(),
        clamped,
        steps,
        by_operator,
        ceiling,
        against: None,
        trace: None,
    };
    if let Some(path) = &args.trace {
        let (trace, events) = timeline::json(&answer.device.name)?;
        files.write(path, &trace)?;
        answer.trace = Some(TraceFile { file: path.display().to_string(), events });
    }
    answer.against = earlier.map(|(path, earlier)| earlier.compare(path, &answer.measured()));
    match (json, args.details) {
        (true, _) => out::json(&answer),
        (false, true) => out::text(&(head(&answer, args.top) + "\n" + &details(&answer))),
        (false, false) => out::text(&(head(&answer, args.top) + "\n" + &short(&answer, args.top))),
    }
}

fn output(graph: &Graph, tensor: TensorId, values: &[f32]) -> Output {
    Output { name: graph.tensors[tensor].name.clone(), values: ValueSummary::from_slice(values) }
}

/// The device, the times of whole runs, warnings, and changes since an earlier measurement.
fn head(answer: &Answer, top: usize) -> String {
    let Answer { model, device, runs, wall_ms: wall, cold_ms, dispatches, pipelines, .. } = answer;
    let mut text = format!("{device}\n{model}: {runs} runs, {dispatches} dispatches, {pipelines} pipelines\n\n");
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
    if let Some(TraceFile { file, events }) = &answer.trace {
        let _ = writeln!(text, "  trace {}, {events} events; ui.perfetto.dev opens it", printable(file));
    }
    if let Some(changes) = &answer.against {
        let _ = write!(text, "\n{}", changes.text(top));
    }
    text
}

/// The slowest steps, and the memory in one line.
fn short(answer: &Answer, top: usize) -> String {
    let mut text = step_table(&answer.steps, &answer.by_operator, top);
    let [device, pool] = [answer.device_memory.parts.sum(), answer.pool_bytes].map(size);
    let _ = writeln!(text, "  memory: {device} of the device, {pool} of them the pool");
    text +=
        "  next: --details has every step in order and the parts of the memory; --plans fastest,SIZE compares plans";
    if answer.ceiling.is_none() {
        text += "; `texpool ceiling` adds a roofline";
    }
    text + "\n"
}

/// The parts of the memory, and every step in order.
fn details(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.device_memory);
    for StepTime { step, stripes, operator, tensor, shape, kernels, gpu_ms, flops, bytes, .. } in &answer.steps {
        let time = gpu_ms.map(|ms| format!("{ms:8.3} ms ")).unwrap_or_default();
        let stripes = if *stripes == 1 { String::new() } else { format!(" in {stripes} stripes") };
        let work = [
            flops.map(|flops| format!("{:.1} MFLOP", flops / 1e6)),
            bytes.map(|bytes| format!("{} bytes", grouped(bytes))),
        ];
        let work = work.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let tensor = printable(tensor);
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "  {step:>4} {time}{operator} {tensor} {shape:?}{stripes} {} ({work})", kernels.join(" "));
    }
    text
}
