//! Compiles models for a device, with its profile if that affects the plan, and with a progress bar if the search takes
//! long.

use super::{
    args::Search,
    error::CliError,
    progress,
    stats::{ms, percentile},
};
use crate::{
    fetch::cache_folder,
    report::MemoryReport,
    setup::{self, SetupError},
};
use serde::Serialize;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use texpool_cache::CachedPlan;
use texpool_compile::{
    BlockChoice, CompileError, CompileOptions, CompiledModel, DeviceCeiling, DeviceProfile, Objective, ParetoFront,
    compile, compile_from, pareto_front,
};
use texpool_gpu::{Executor, ExecutorOptions, Gpu, TuneLayer, TunedKind};
use texpool_ops::graph::{Blocks, Graph, InputValues};
use texpool_plan::{Progress, SearchControl, TexelFormat};

/// Minimum number of runs, however short the given time is.
const MIN_RUNS: usize = 5;
/// Number of visits per plan. With several visits, a burst of other load does not affect all runs of one plan.
const PASSES: usize = 2;

/// Median time of some runs, measured by two clocks.
#[derive(Clone, Copy)]
pub(super) struct Medians {
    pub(super) ms: f64,
    pub(super) wall_ms: f64,
}

/// Origin of a plan.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlanSource {
    /// A search in this call.
    Search,
    /// The cache of earlier searches.
    Cache,
    /// A file given by the user.
    File,
}

/// Returns the folder of the device's measurements, and creates it.
fn measurements() -> Result<PathBuf, CliError> {
    let folder = cache_folder()?;
    Search { cache: Some(folder.clone()), ..Search::new(None, true) }.make_cache();
    Ok(folder)
}

/// Returns the blocks that kernels compute on the device: those that were chosen, or those that `texpool tune`
/// measured, or those of the device's class. Without a cache folder nothing was measured.
pub(super) fn blocks_on(gpu: &Gpu, format: TexelFormat, choice: BlockChoice) -> Blocks {
    match (choice, cache_folder()) {
        (BlockChoice::Auto, Ok(folder)) => setup::device_blocks(gpu, format, &folder),
        (choice, _) => choice.on(gpu.blocks()).blocks(),
    }
}

/// Returns the device's profile for kernels that compute `blocks`. Measures it if none is stored, or if `again` is set.
pub(super) fn device_profile(
    gpu: &Gpu,
    format: TexelFormat,
    blocks: Blocks,
    again: bool,
) -> Result<DeviceProfile, CliError> {
    measured_in("measuring the device", |folder, tell| setup::device_profile(gpu, format, blocks, folder, again, tell))
}

/// Measures the device's ceilings, and keeps them.
pub(super) fn device_ceiling(gpu: &Gpu, format: TexelFormat) -> Result<DeviceCeiling, CliError> {
    measured_in("measuring the ceilings", |folder, tell| setup::device_ceiling(gpu, format, folder, tell))
}

/// Measures which blocks are fastest for layers on the device, and keeps them.
pub(super) fn tuned_blocks(
    gpu: &Gpu,
    format: TexelFormat,
    layers: &[TuneLayer],
) -> Result<(Blocks, Vec<TunedKind>), CliError> {
    measured_in("measuring blocks", |folder, tell| setup::tuned_blocks(gpu, format, folder, layers, tell))
}

/// Measures something of the device, with a progress bar. `measure` gets the folder in which measurements are kept, and
/// a function that reports how much is done and says whether to go on.
fn measured_in<T>(
    doing: &'static str,
    measure: impl FnOnce(&Path, &mut dyn FnMut(usize, usize) -> ControlFlow<()>) -> Result<T, SetupError>,
) -> Result<T, CliError> {
    let folder = measurements()?;
    let outcome = progress::with_progress(None, |control| {
        measure(&folder, &mut |done, of| report_progress(control, doing, done, of))
    });
    check_interrupted(doing)?;
    Ok(outcome?)
}

/// Reports progress to a control. Returns `Break` if the work should stop.
pub(super) fn report_progress(
    control: &SearchControl<'_>,
    stage: &'static str,
    done: usize,
    of: usize,
) -> ControlFlow<()> {
    control.report(Progress::new(stage, done as u64, of as u64));
    if control.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Returns an error if Ctrl-C was pressed. Used for work whose partial result is useless.
pub(super) fn check_interrupted(doing: &'static str) -> Result<(), CliError> {
    if progress::interrupted() { Err(CliError::Interrupted { doing }) } else { Ok(()) }
}

/// Returns the error with the exit code for a search that Ctrl-C ended, after its best plan was printed.
pub(super) fn check_answered() -> Result<(), CliError> {
    if progress::interrupted() { Err(CliError::Answered(progress::INTERRUPTED)) } else { Ok(()) }
}

/// Returns the options for this device, with its profile if that affects the choice between plans.
pub(super) fn options_for(gpu: &Gpu, options: CompileOptions) -> Result<CompileOptions, CliError> {
    let blocks = blocks_on(gpu, options.format, options.blocks);
    let device_profile = match options.objective {
        Objective::Balanced | Objective::Pool(_) => device_profile(gpu, options.format, blocks, false)?,
        // Measuring would take 60 MB of device memory, but a device budget covers all memory.
        Objective::Device(_) => {
            setup::kept_device_profile(gpu, options.format, blocks, &cache_folder()?).unwrap_or(options.device_profile)
        }
        // These plans do not depend on the profile, so the device does not have to be measured.
        Objective::Fastest | Objective::Smallest => options.device_profile,
    };
    let (limits, blocks) = (gpu.texture_limits(), BlockChoice::Fixed(blocks));
    Ok(CompileOptions { limits, device_profile, blocks, ..options })
}

/// Compiles a model, with a progress bar for long searches. If the deadline passes or Ctrl-C is pressed, returns the
/// best plan found.
pub(super) fn compiled(
    graph: &Graph,
    options: &CompileOptions,
    deadline: Option<Duration>,
) -> Result<CompiledModel, CliError> {
    progress::with_progress(deadline, |control| compile(graph, options, control)).or_else(unless_interrupted)
}

/// Returns the error, or the one for an interrupt if Ctrl-C was pressed. After an interrupt the error may be
/// misleading, such as a budget that the search had not met yet.
fn unless_interrupted<T>(error: CompileError) -> Result<T, CliError> {
    check_interrupted(PLANNING).and(Err(error.into()))
}

/// Returns the stored plan, or compiles the model.
pub(super) fn kept_or_compiled(
    graph: &Graph,
    options: &CompileOptions,
    search: &Search,
) -> Result<(CompiledModel, PlanSource), CliError> {
    kept_or_searched(graph, options, search, search.deadline)
}

/// Returns the stored plan, or compiles the model within `time`. The deadline of `search` decides if the stored plan of
/// a stopped search is good enough; it differs from `time` where several searches share a deadline.
pub(super) fn kept_or_searched(
    graph: &Graph,
    options: &CompileOptions,
    search: &Search,
    time: Option<Duration>,
) -> Result<(CompiledModel, PlanSource), CliError> {
    let _span = tracing::debug_span!("plan").entered();
    let row = search.row.as_deref();
    let Some(cached) = search.plans().and_then(|folder| CachedPlan::new(&folder, graph, options)) else {
        let compiled = progress::for_row(row, time, |control| compile(graph, options, control));
        return Ok((compiled.or_else(unless_interrupted)?, PlanSource::Search));
    };
    search.make_cache();
    let outcome = cached.get_or_search(graph, options, search.deadline, |start| {
        progress::for_row(row, time, |control| compile_from(graph, options, start, control))
    });
    let (outcome, is_kept) = outcome.or_else(unless_interrupted)?;
    Ok((outcome, if is_kept { PlanSource::Cache } else { PlanSource::Search }))
}

/// Creates the report of a compiled model, including the memory of intermediates alone, as the papers count it.
pub(super) fn report(graph: &Graph, compiled: &CompiledModel, deadline: Option<Duration>) -> MemoryReport {
    let report = MemoryReport::from_compiled(compiled);
    match progress::with_progress(deadline, |control| compiled.intermediates_alone(graph, control)) {
        Ok(alone) => report.with_intermediates_alone(alone),
        // Some models fit into textures only in stripes of rows.
        Err(error) => {
            tracing::debug!(%error, "intermediate tensors have no plan as wholes");
            report
        }
    }
}

/// Name of the stage before the first run, for messages.
const PLANNING: &str = "planning";

/// Computes the Pareto front of a model, with a progress bar for long searches. After the deadline or Ctrl-C, returns
/// the points found until then.
pub(super) fn front(
    graph: &Graph,
    options: &CompileOptions,
    deadline: Option<Duration>,
) -> Result<ParetoFront, CliError> {
    Ok(progress::with_progress(deadline, |control| pareto_front(graph, options, control))?)
}

/// Creates a session of a model compiled for the device. Ctrl-C ends the command, because a run with an incomplete plan
/// is not useful.
pub(super) fn session(
    gpu: &Gpu,
    graph: &Graph,
    options: &ExecutorOptions,
    search: &Search,
) -> Result<(Executor, PlanSource), CliError> {
    let compile = options_for(gpu, options.compile.clone())?;
    let (compiled, source) = kept_or_compiled(graph, &compile, search)?;
    check_interrupted(PLANNING)?;
    let options = ExecutorOptions { compile, weights: search.weights(&compiled), ..options.clone() };
    Ok((loaded(gpu, compiled, &options)?, source))
}

/// Creates a session of a compiled model, with a spinner while its weights are packed and its pipelines compiled.
pub(super) fn loaded(gpu: &Gpu, compiled: CompiledModel, options: &ExecutorOptions) -> Result<Executor, CliError> {
    let _span = tracing::debug_span!("load").entered();
    Ok(progress::during("loading weights and kernels", || Executor::from_compiled(gpu, compiled, options))?)
}

/// Measures the median run of each of `plans` plans in milliseconds, by the clock of the device's profile and by the
/// wall clock. `compiled` returns the model with a plan. Each runs for `time`.
pub(super) fn measured(
    gpu: &Gpu,
    (plans, compiled): (usize, impl Fn(usize) -> Option<CompiledModel>),
    options: &CompileOptions,
    inputs: &[InputValues<'_>],
    time: Duration,
) -> Result<Vec<Medians>, CliError> {
    let options = ExecutorOptions { compile: options.clone(), ..ExecutorOptions::default() };
    let mut all = vec![[Vec::new(), Vec::new()]; plans];
    let doing = "running the plans";
    progress::with_progress(None, |control| -> Result<(), CliError> {
        for turn in 0..PASSES * plans {
            if report_progress(control, doing, turn, PASSES * plans).is_break() {
                break;
            }
            let plan = turn % plans;
            let Some(compiled) = compiled(plan) else { continue };
            let session = Executor::from_compiled(gpu, compiled, &options)?;
            timed(session, &options, inputs, time / PASSES as u32, &mut all[plan])?;
        }
        Ok(())
    })?;
    check_interrupted(doing)?;
    let median = |times: &[f64]| percentile(times, 0.5);
    Ok(all.iter().map(|[ms, wall_ms]| Medians { ms: median(ms), wall_ms: median(wall_ms) }).collect())
}

/// Runs a session for `time`, and adds the milliseconds of each run by the clock of the device's profile and by the
/// wall clock.
fn timed(
    mut session: Executor,
    options: &ExecutorOptions,
    inputs: &[InputValues<'_>],
    time: Duration,
    times: &mut [Vec<f64>; 2],
) -> Result<(), CliError> {
    let clock = options.compile.device_profile.clock;
    let mut outputs = session.run(inputs)?;
    let end = Instant::now() + time;
    let mut runs = 0;
    while runs < MIN_RUNS || Instant::now() < end {
        let (begun, read) = (Instant::now(), setup::clock_time(clock));
        session.run_into(inputs, &mut outputs)?;
        times[0].push(ms(setup::clock_time(clock) - read));
        times[1].push(ms(begun.elapsed()));
        runs += 1;
    }
    Ok(())
}
