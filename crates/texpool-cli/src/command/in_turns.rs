//! Sessions of one model that run in turns, so that other load on the machine affects them equally.

use super::{
    error::CliError,
    stats::{ms, percentile},
    timed_work::for_time,
};
use cpu_time::ProcessTime;
use std::time::{Duration, Instant};
use texpool_gpu::Executor;

/// Minimum number of rounds, however short the given time is.
const MIN_ROUNDS: usize = 5;

/// A session, with the times of its runs in milliseconds and the results of the last.
pub(super) struct TimedSession {
    pub(super) session: Executor,
    outputs: Vec<Vec<f32>>,
    pub(super) wall: Vec<f64>,
    pub(super) cpu: Vec<f64>,
}

impl TimedSession {
    /// Runs the session once, as a warm-up that is not timed. Variables begin with their first values.
    pub(super) fn new(mut session: Executor, inputs: &[&[f32]]) -> Result<Self, CliError> {
        session.reset_carried();
        let outputs = session.run(inputs)?;
        Ok(Self { session, outputs, wall: Vec::new(), cpu: Vec::new() })
    }

    /// Returns true if both have the same results. Compares bits, because NaN equals nothing and -0 equals 0.
    pub(super) fn has_bits_of(&self, other: &Self) -> bool {
        let bits = |timed: &Self| timed.outputs.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        bits(self) == bits(other)
    }
}

/// Runs the sessions in turns for `time`, with a progress bar. Returns the number of rounds.
pub(super) fn run(timed: &mut [TimedSession], inputs: &[&[f32]], time: Duration) -> Result<usize, CliError> {
    let mut rounds = 0;
    for_time("measuring plans in turns", time, MIN_ROUNDS, || {
        for TimedSession { session, outputs, wall, cpu } in &mut *timed {
            let (begun, cpu_begun) = (Instant::now(), ProcessTime::now());
            session.run_into(inputs, outputs)?;
            wall.push(ms(begun.elapsed()));
            cpu.push(ms(cpu_begun.elapsed()));
        }
        rounds += 1;
        Ok(true)
    })?;
    Ok(rounds)
}

/// Returns the median over the rounds of the ratio of two times. Times are compared within each round, so that a
/// temporary slowdown of the machine affects both.
pub(super) fn ratio(mine: &[f64], others: &[f64]) -> f64 {
    let ratios: Vec<f64> = mine.iter().zip(others).map(|(a, b)| a / b).collect();
    percentile(&ratios, 0.5)
}
