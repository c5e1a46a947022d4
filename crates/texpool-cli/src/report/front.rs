//! The Pareto front of tiled plans: device memory against predicted time.

use super::{CascadeReport, PeakReport, compiled::cascades, grouped};
use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_compile::{Clock, ParetoFront, Point};
use texpool_plan::StopReason;

/// Pareto-optimal plans in bytes and time, fastest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontReport {
    /// Name of the model.
    pub model: String,
    /// Kind of time that is predicted and measured.
    pub clock: Clock,
    /// The points.
    pub points: Vec<FrontPoint>,
    /// Reason why the search was stopped early, if it was; smaller pools may exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
}

/// One plan of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Device memory of a session: pool, weights, inputs and outputs, tables, transfers.
    pub device_bytes: u64,
    /// Bytes of the pool alone.
    pub bytes: u64,
    /// Bytes of the rows alive at the peak of its schedule.
    pub live_bytes: u64,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_ms: f64,
    /// Median time of several runs by the front's clock; only if a device ran the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<f64>,
    /// Wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<f64>,
    /// The step that keeps the schedule from a smaller pool.
    pub peak: PeakReport,
    /// Operators that run interleaved; empty for whole tensors.
    pub cascades: Vec<CascadeReport>,
}

impl FrontReport {
    /// Creates the report of a front.
    pub fn new(model: &str, front: &ParetoFront) -> Self {
        let point = |point: &Point| FrontPoint {
            device_bytes: point.device_bytes,
            bytes: point.bytes,
            live_bytes: point.live_bytes,
            dispatches: point.dispatches,
            predicted_ms: point.predicted_us / 1e3,
            measured_ms: None,
            wall_ms: None,
            peak: PeakReport::from_peak(&point.peak),
            cascades: cascades(&point.cascades),
        };
        let points = front.points().iter().map(point).collect();
        // Predictions are wall time, unless the caller planned with a device profile and sets another clock.
        Self { model: model.to_owned(), clock: Clock::default(), points, stopped: front.stopped() }
    }
}

impl fmt::Display for FrontReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measured = self.points.iter().any(|p| p.measured_ms.is_some());
        let time = match self.clock {
            Clock::Wall => "time",
            Clock::Processor => "processor time (of all cores together, which a software device shares)",
        };
        writeln!(
            f,
            "{}: bytes of the device against {} {time}",
            self.model,
            if measured { "measured" } else { "predicted" }
        )?;
        writeln!(f)?;
        write!(
            f,
            "  {:>14} {:>14} {:>14} {:>11} {:>10}",
            "device bytes", "pool bytes", "live rows", "dispatches", "about ms"
        )?;
        if measured {
            write!(f, " {:>9} {:>6} {:>9}", "ms", "off by", "wall ms")?;
        }
        writeln!(f, "  cascades")?;
        for p in &self.points {
            let cascades = match p.cascades.len() {
                0 => "whole tensors".to_owned(),
                // Rows are placed individually, unlike in the plan of whole tensors, although every operator
                // runs once.
                cascades if p.cascades.iter().all(|cascade| cascade.stripes == Some(1)) => {
                    format!("{cascades}, one stripe each")
                }
                cascades => cascades.to_string(),
            };
            let [device, bytes, live] = [p.device_bytes, p.bytes, p.live_bytes].map(grouped);
            write!(f, "  {device:>14} {bytes:>14} {live:>14} {:>11} {:>10.1}", p.dispatches, p.predicted_ms)?;
            if let Some(ms) = p.measured_ms {
                let wall = p.wall_ms.unwrap_or(ms);
                write!(f, " {ms:>9.1} {:>+4.0} % {wall:>9.1}", 100.0 * (p.predicted_ms / ms - 1.0))?;
            }
            writeln!(f, "  {cascades}")?;
        }
        if let Some(reason) = self.stopped {
            writeln!(f)?;
            writeln!(f, "  search stopped: {reason}; smaller pools may exist")?;
        }
        if let Some(least) = self.points.last() {
            writeln!(f)?;
            writeln!(f, "  the peak of the smallest is at {}", least.peak)?;
        }
        Ok(())
    }
}
