//! Models compiled for a device: with its profile where that decides, and a bar where the search takes long.

use super::{
    args::Search,
    error::CliError,
    progress,
    stats::{ms, percentile},
};
use crate::{
    compile::{
        CompileError, CompileOptions, CompiledModel, DeviceProfile, Frontier, Phases, compile, compile_from, frontier,
    },
    fetch::cache_folder,
    gpu::{Executor, ExecutorOptions, Gpu},
    graph::Graph,
    plan::{Progress, SearchControl, TexelFormat},
    report::MemoryReport,
    runtime::CachedPlan,
    setup,
};
use serde::Serialize;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// However short the time given, this often.
const MIN_RUNS: usize = 5;
/// Every point is visited so often, so that a burst of other work does not meet all its runs.
const PASSES: usize = 2;

/// The median of some runs by two clocks.
#[derive(Clone, Copy)]
pub(super) struct Medians {
    pub(super) ms: f64,
    pub(super) wall_ms: f64,
}

/// Origin of a plan.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlanSource {
    /// It was searched for.
    Search,
    /// It had been searched for and kept.
    Cache,
    /// The user named its file.
    File,
}

/// Returns the profile of the device. Measures it if there is none yet, or if `again` is set.
pub(super) fn device_profile(gpu: &Gpu, format: TexelFormat, again: bool) -> Result<DeviceProfile, CliError> {
    let folder = cache_folder()?;
    Search { deadline: None, cache: Some(folder.clone()) }.make_cache();
    let found = progress::with_progress(None, |control| {
        let mut tell = |done: usize, of: usize| report_progress(control, "measuring the device", done, of);
        setup::device_profile(gpu, format, &folder, again, &mut tell)
    });
    check_interrupted("measuring the device")?;
    Ok(found?)
}

/// Tells a control how far something is; whether it goes on.
pub(super) fn report_progress(
    control: &SearchControl<'_>,
    stage: &'static str,
    done: usize,
    of: usize,
) -> ControlFlow<()> {
    control.report(Progress::new(stage, done as u64, of as u64));
    if control.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// An error where Ctrl-C was pressed while something was done whose half is of no use.
pub(super) fn check_interrupted(doing: &'static str) -> Result<(), CliError> {
    if progress::interrupted() { Err(CliError::Interrupted { doing }) } else { Ok(()) }
}

/// Returns the error with the exit code for a search that Ctrl-C ended, after its best plan was printed.
pub(super) fn check_answered() -> Result<(), CliError> {
    if progress::interrupted() { Err(CliError::Answered(progress::INTERRUPTED)) } else { Ok(()) }
}

/// The options for that device, with its profile where that decides between plans.
pub(super) fn options_for(gpu: &Gpu, options: CompileOptions) -> Result<CompileOptions, CliError> {
    let device_profile = match options.phases {
        Phases::Auto | Phases::Budget(_) => device_profile(gpu, options.format, false)?,
        // To measure a device takes 60 MB of its memory, and a budget is a promise about all of that.
        Phases::DeviceBudget(_) => {
            setup::kept_device_profile(gpu, options.format, &cache_folder()?).unwrap_or(options.device_profile)
        }
        // These plans depend on no figures, so no device need be measured for them.
        Phases::Off | Phases::Min => options.device_profile,
    };
    Ok(CompileOptions { limits: gpu.texture_limits(), device_profile, ..options })
}

/// Compiles a model, with a progress bar for long searches. Returns the best plan so far if the deadline passes or
/// Ctrl-C is pressed.
pub(super) fn compiled(
    graph: &Graph,
    options: &CompileOptions,
    deadline: Option<Duration>,
) -> Result<CompiledModel, CliError> {
    progress::with_progress(deadline, |control| compile(graph, options, control)).or_else(unless_interrupted)
}

/// The error, unless Ctrl-C was pressed: it may come of the search that was cut short, such as a budget that was not met
/// yet.
fn unless_interrupted<T>(error: CompileError) -> Result<T, CliError> {
    check_interrupted(PLANNING).and(Err(error.into()))
}

/// Returns the stored plan, or compiles the model.
pub(super) fn kept_or_compiled(
    graph: &Graph,
    options: &CompileOptions,
    search: &Search,
) -> Result<(CompiledModel, PlanSource), CliError> {
    let Some(cached) = search.plans().and_then(|folder| CachedPlan::new(&folder, graph, options)) else {
        return Ok((compiled(graph, options, search.deadline)?, PlanSource::Search));
    };
    search.make_cache();
    let found = cached.get_or_search(graph, options, search.deadline, |start| {
        progress::with_progress(search.deadline, |control| compile_from(graph, options, start, control))
    });
    let (found, is_kept) = found.or_else(unless_interrupted)?;
    Ok((found, if is_kept { PlanSource::Cache } else { PlanSource::Search }))
}

/// Creates the report of a compiled model, with the figures that count like the papers.
pub(super) fn report(graph: &Graph, compiled: &CompiledModel, deadline: Option<Duration>) -> MemoryReport {
    let report = MemoryReport::from_compiled(compiled);
    match progress::with_progress(deadline, |control| compiled.intermediates_alone(graph, control)) {
        Ok(alone) => report.with_intermediates_alone(alone),
        // Bands of rows may be all that textures can hold.
        Err(error) => {
            tracing::debug!(%error, "intermediate tensors have no plan as wholes");
            report
        }
    }
}

/// Stage before the first run.
const PLANNING: &str = "planning";

/// The front of a model, with a bar where that takes long; what there is of it where the time is up, or Ctrl-C is
/// pressed.
pub(super) fn front(graph: &Graph, options: &CompileOptions, deadline: Option<Duration>) -> Result<Frontier, CliError> {
    Ok(progress::with_progress(deadline, |control| frontier(graph, options, control))?)
}

/// A session of a model, compiled for the device. Ctrl-C ends it: a run of a plan that nobody waited for is of no use.
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
    Ok((Executor::from_compiled(gpu, compiled, &options)?, source))
}

/// Milliseconds of the median run of each point by the clock of the device's profile, and by the wall's;
/// each is run for so long.
pub(super) fn measured(
    gpu: &Gpu,
    front: &Frontier,
    options: &CompileOptions,
    inputs: &[&[f32]],
    time: Duration,
) -> Result<Vec<Medians>, CliError> {
    let options = ExecutorOptions { compile: options.clone(), ..ExecutorOptions::default() };
    let points = front.points().len();
    let mut all = vec![[Vec::new(), Vec::new()]; points];
    let doing = "running the points";
    progress::with_progress(None, |control| -> Result<(), CliError> {
        for turn in 0..PASSES * points {
            if report_progress(control, doing, turn, PASSES * points).is_break() {
                break;
            }
            let point = turn % points;
            let Some(compiled) = front.compiled(point) else { continue };
            let session = Executor::from_compiled(gpu, compiled, &options)?;
            timed(session, &options, inputs, time / PASSES as u32, &mut all[point])?;
        }
        Ok(())
    })?;
    check_interrupted(doing)?;
    let median = |times: &[f64]| percentile(times, 0.5);
    Ok(all.iter().map(|[ms, wall_ms]| Medians { ms: median(ms), wall_ms: median(wall_ms) }).collect())
}

/// Runs a session for a while, and adds the milliseconds of each run by the clock of the device's profile and by
/// the wall's.
fn timed(
    mut session: Executor,
    options: &ExecutorOptions,
    inputs: &[&[f32]],
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
