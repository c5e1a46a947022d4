//! The time of a run.

use super::{
    error::CliError,
    progress,
    stats::{ms, percentile},
};
use std::time::{Duration, Instant};
use texpool_gpu::Executor;
use texpool_ops::graph::InputValues;

/// Further runs start as long as they end within this time.
const EXTRA: Duration = Duration::from_millis(500);
/// A first run that takes longer is repeated only if the time predicted for a run is much shorter. Software drivers compile
/// shaders in it, for seconds, so a shorter one says little about the next.
const LONG: Duration = Duration::from_secs(5);
/// Share of a long first run that a run is predicted to take at most if the first one is repeated. The rest was probably
/// spent on compiling. The value is a choice: predictions are of a typical device.
const REPEATED: f64 = 0.5;
/// Most further runs.
const MOST: usize = 20;

/// The time of a run: the median of some after the first, or of the first if that is long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) ms: f64,
    /// Number of runs of which it is the median.
    pub(super) runs: usize,
    /// True if it is that of the first run, in which the driver may have compiled shaders.
    pub(super) is_first: bool,
}

/// Values of a model's outputs in a run, and their extents.
#[derive(Clone, Debug)]
pub(super) struct RunOutputs {
    pub(super) values: Vec<Vec<f32>>,
    pub(super) dims: Vec<Vec<usize>>,
}

/// Runs a session once, with a progress bar if that takes long. Also returns the time.
pub(super) fn first_run(
    session: &mut Executor,
    inputs: &[InputValues<'_>],
) -> Result<(RunOutputs, Duration), CliError> {
    let begun = Instant::now();
    let graph = session.compiled().graph();
    let mut values: Vec<_> =
        graph.caller_outputs().iter().map(|&tensor| vec![0.0; graph.shape(tensor).len()]).collect();
    let dims = progress::during("running", || session.run_into(inputs, &mut values))?;
    Ok((RunOutputs { values, dims }, begun.elapsed()))
}

/// Measures a session that ran once: the median of further runs within half a second, or of a single one if it takes
/// longer. The first run is a warm-up, unless it is so long that it is not repeated. A run is predicted to take
/// `predicted_ms`.
pub(super) fn timing(
    session: &mut Executor,
    inputs: &[InputValues<'_>],
    outputs: &RunOutputs,
    first: Duration,
    predicted_ms: f64,
) -> Result<Timing, CliError> {
    if first > LONG && predicted_ms > REPEATED * ms(first) {
        return Ok(Timing { ms: ms(first), runs: 1, is_first: true });
    }
    // Written over in each run.
    let mut outputs = outputs.values.clone();
    let (begun, mut times): (Instant, Vec<f64>) = (Instant::now(), Vec::new());
    while times.len() < MOST && (times.is_empty() || begun.elapsed().as_secs_f64() * 1e3 + times[0] <= ms(EXTRA)) {
        let begun = Instant::now();
        session.run_into(inputs, &mut outputs)?;
        times.push(ms(begun.elapsed()));
    }
    Ok(Timing { ms: percentile(&times, 0.5), runs: times.len(), is_first: false })
}
