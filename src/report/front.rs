//! The front of phased plans: pool bytes against predicted time.

use super::{SegmentReport, grouped, prepared::segments};
use crate::prepare::Point;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Plans of which none is beaten in both bytes and time by another, the fastest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Name of the model.
    pub model: String,
    /// The points.
    pub points: Vec<FrontPoint>,
}

/// One plan of the front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of the rows alive at the fullest step of its schedule.
    pub live_bytes: u64,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_ms: f64,
    /// Operators that run interleaved; empty where there are no phases.
    pub segments: Vec<SegmentReport>,
}

impl Front {
    /// The report of a front.
    pub fn of(model: &str, points: &[Point]) -> Self {
        let point = |point: &Point| FrontPoint {
            bytes: point.bytes,
            live_bytes: point.live_bytes,
            dispatches: point.dispatches,
            predicted_ms: point.predicted_us / 1e3,
            segments: segments(&point.segments),
        };
        Self { model: model.to_owned(), points: points.iter().map(point).collect() }
    }
}

impl fmt::Display for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: pool bytes against predicted time", self.model)?;
        writeln!(f)?;
        writeln!(f, "  {:>14} {:>14} {:>11} {:>10}  segments", "pool bytes", "live rows", "dispatches", "about ms")?;
        for p in &self.points {
            let segments = match p.segments.len() {
                0 => "no phases".to_owned(),
                segments => segments.to_string(),
            };
            let (bytes, live) = (grouped(p.bytes), grouped(p.live_bytes));
            writeln!(f, "  {bytes:>14} {live:>14} {:>11} {:>10.1}  {segments}", p.dispatches, p.predicted_ms)?;
        }
        Ok(())
    }
}
