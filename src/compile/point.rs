//! One plan among several: its steps, what they take, and where their peak is.

use crate::{
    graph::NodeSet,
    plan::Plan,
    schedule::{Schedule, phases::Segment},
};

/// The step at which most texels are alive: what keeps the pool from being smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The step.
    pub step: usize,
    /// Its operator.
    pub operator: &'static str,
    /// The tensor it writes.
    pub tensor: String,
    /// The segment it is in, counted from none; none where there are no phases.
    pub segment: Option<usize>,
}

/// One point of the front: a schedule and its plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of the device's memory that a session of it takes: see
    /// [`CompiledModel::device_bytes`](super::CompiledModel::device_bytes).
    pub device_bytes: u64,
    /// Bytes of the rows alive at the peak of this schedule; no placement of it takes less.
    pub live_bytes: u64,
    /// The step of the peak.
    pub peak: Peak,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Operators that run interleaved, and in how many phases; empty for the point without phases.
    pub segments: Vec<Segment>,
    /// The concatenations and pads whose parts are written in place.
    pub in_place: NodeSet,
    /// Its steps.
    pub schedule: Schedule,
    /// The pool, checked.
    pub plan: Plan,
}
