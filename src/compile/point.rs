//! One plan of several: its steps, its costs, and its peak.

use crate::{
    graph::NodeSet,
    plan::Plan,
    schedule::{Schedule, tiling::Cascade},
};

/// The step with the most live texels, which determines the size of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Index of the step.
    pub step: usize,
    /// Name of its operator.
    pub operator: &'static str,
    /// Name of the tensor that it writes.
    pub tensor: String,
    /// Index of its cascade, or `None` with whole tensors.
    pub cascade: Option<usize>,
}

/// A point of the front: a schedule and its plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Device memory that a session of this plan takes, in bytes; see
    /// [`CompiledModel::device_bytes`](super::CompiledModel::device_bytes).
    pub device_bytes: u64,
    /// Bytes of the rows alive at the peak, a lower bound on any placement of this schedule.
    pub live_bytes: u64,
    /// The step of the peak.
    pub peak: Peak,
    /// Dispatches per run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Operators that run interleaved, and their numbers of stripes; empty for the point of whole tensors.
    pub cascades: Vec<Cascade>,
    /// The concatenations and pads whose parts are written in place.
    pub in_place: NodeSet,
    /// The schedule with all steps.
    pub schedule: Schedule,
    /// The plan of the pool, which has been checked.
    pub plan: Plan,
}
