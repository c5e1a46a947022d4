//! Work that is measured in turns, so that other load on the machine affects all of it equally.

use super::{
    error::CliError,
    stats::{ms, percentile},
    timed_work::for_time,
};
use cpu_time::ProcessTime;
use serde::Serialize;
use std::time::{Duration, Instant};
use texpool_gpu::Executor;
use texpool_ops::graph::InputValues;

/// Minimum number of rounds, however short the given time is.
pub(super) const MIN_ROUNDS: usize = 5;

/// Times of the rounds in milliseconds.
#[derive(Debug, Default)]
pub(super) struct RoundTimes {
    pub(super) wall: Vec<f64>,
    cpu: Vec<f64>,
}

/// Times beside those of the first that took part.
#[derive(Debug, Serialize)]
pub(super) struct ComparedTimes {
    pub(super) wall_ms: Times,
    pub(super) cpu_ms: Times,
    /// Median over the rounds of the ratio of wall time to that of the first.
    pub(super) wall_ratio: f64,
    /// Median over the rounds of the ratio of processor times.
    pub(super) cpu_ratio: f64,
    /// Ratio of the fastest run to the fastest run of the first.
    pub(super) fastest_ratio: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct Times {
    pub(super) fastest: f64,
    pub(super) median: f64,
}

impl RoundTimes {
    /// Does some work and adds its times.
    pub(super) fn measure(&mut self, work: impl FnOnce() -> Result<(), CliError>) -> Result<(), CliError> {
        let (begun, cpu_begun) = (Instant::now(), ProcessTime::now());
        work()?;
        self.wall.push(ms(begun.elapsed()));
        self.cpu.push(ms(cpu_begun.elapsed()));
        Ok(())
    }

    pub(super) fn compared(&self, first: &Self) -> ComparedTimes {
        let fastest = |values: &[f64]| percentile(values, 0.0);
        let times = |values: &[f64]| Times { fastest: fastest(values), median: percentile(values, 0.5) };
        ComparedTimes {
            wall_ms: times(&self.wall),
            cpu_ms: times(&self.cpu),
            wall_ratio: ratio(&self.wall, &first.wall),
            cpu_ratio: ratio(&self.cpu, &first.cpu),
            fastest_ratio: fastest(&self.wall) / fastest(&first.wall),
        }
    }
}

/// A session, with the times of its runs and the results of the last.
pub(super) struct TimedSession {
    pub(super) session: Executor,
    outputs: Vec<Vec<f32>>,
    pub(super) times: RoundTimes,
}

impl TimedSession {
    /// Runs the session once, as a warm-up that is not timed. Variables begin with their first values.
    pub(super) fn new(mut session: Executor, inputs: &[InputValues<'_>]) -> Result<Self, CliError> {
        session.reset_carried();
        let outputs = session.run(inputs)?;
        Ok(Self { session, outputs, times: RoundTimes::default() })
    }

    /// Returns true if both have the same results. Compares bits, because NaN equals nothing and -0 equals 0.
    pub(super) fn has_bits_of(&self, other: &Self) -> bool {
        let bits = |timed: &Self| timed.outputs.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>();
        bits(self) == bits(other)
    }
}

/// Runs the sessions in turns for `time`, with a progress bar. Returns the number of rounds.
pub(super) fn run(timed: &mut [TimedSession], inputs: &[InputValues<'_>], time: Duration) -> Result<usize, CliError> {
    let mut rounds = 0;
    for_time("measuring plans in turns", time, MIN_ROUNDS, || {
        for TimedSession { session, outputs, times } in &mut *timed {
            times.measure(|| {
                session.run_into(inputs, outputs)?;
                Ok(())
            })?;
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
