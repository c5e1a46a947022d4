//! Results of compiling: a model ready to run, or the Pareto front of its plans.

use std::collections::BTreeMap;

use crate::{
    error::CompileError,
    options::{Objective, StreamedIo, WeightFormat, WeightStorage},
    order::MemoryOrder,
    schedule::{Schedule, tiling::Cascade},
    weight_format::{self, Rounded},
};
use texpool_model::rewrite::{Patches, Report, Rules};
use texpool_ops::{
    graph::{Graph, IdVec, NodeId, NodeSet, TensorId, share_constants},
    kernels::WeightPacking,
};
use texpool_plan::{Plan, Solution, StopReason, TexelFormat, TextureLimits};

/// A model ready to be loaded onto a device. Only [`compile`](super::compile), [`pareto_front`](super::pareto_front) and
/// [`load`](super::load) create one, from a checked graph and with a checked plan. No code outside this crate can
/// modify it, so kernels rely on both without checking again.
///
/// ```compile_fail,E0616
/// fn emptied(mut compiled: texpool_compile::CompiledModel) {
///     compiled.plan.textures.clear();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct CompiledModel {
    pub(crate) graph: Graph,
    pub(crate) rewriting: Report,
    pub(crate) schedule: Schedule,
    pub(crate) best: Option<Solution>,
    pub(crate) plan: Plan,
    pub(crate) format: TexelFormat,
    pub(crate) limits: TextureLimits,
    pub(super) lowering: Lowering,
    /// Packing of each node's weights. Empty until the weights are rounded and packed.
    pub(crate) packings: IdVec<NodeId, WeightPacking>,
    /// Number of values beyond the range of 16-bit floats, of each constant that was rounded to them.
    pub(crate) rounded_beyond: BTreeMap<TensorId, u64>,
    pub(crate) objective: Objective,
    pub(crate) tiled: Option<RowTiling>,
    pub(crate) too_many_rows: Option<u64>,
    pub(crate) stopped: Option<StopReason>,
}

impl CompiledModel {
    /// Returns the rewritten graph that runs.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Reports which rewriting rules were applied, and why others were not.
    pub const fn rewriting(&self) -> &Report {
        &self.rewriting
    }

    /// Returns the steps and usage records.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the strategies that the planner tried with whole tensors, and its choice; sizes in texels. `None` if the
    /// plan was [loaded](super::load), because loading does not search.
    pub const fn best(&self) -> Option<&Solution> {
        self.best.as_ref()
    }

    /// Returns the plan of the pool, which has been checked.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the texel format of the pool, inputs and outputs.
    pub const fn format(&self) -> TexelFormat {
        self.format
    }

    /// Returns the packing of each node's weights.
    pub const fn packings(&self) -> &IdVec<NodeId, WeightPacking> {
        &self.packings
    }

    /// Returns the number of values beyond the range of 16-bit floats, of each constant that was rounded to them.
    pub const fn rounded_beyond(&self) -> &BTreeMap<TensorId, u64> {
        &self.rounded_beyond
    }

    /// Returns the storage format of the weights on the device.
    pub const fn weight_format(&self) -> WeightFormat {
        self.lowering.weight_format
    }

    /// Returns the limits that the plan's textures keep within. The device must support at least these.
    pub const fn limits(&self) -> TextureLimits {
        self.limits
    }

    /// Returns the objective that the plan was chosen for.
    pub const fn objective(&self) -> Objective {
        self.objective
    }

    /// Returns the order of the operators, with its memory and that of the file's order; `None` if it was not searched.
    pub const fn order(&self) -> Option<&MemoryOrder> {
        self.lowering.order.as_ref()
    }

    /// Returns the patches into which the first layers are divided, if they are.
    pub const fn patches(&self) -> Option<Patches> {
        self.lowering.patches
    }

    /// Returns details of the tiling, or `None` for a plan of whole tensors.
    pub const fn tiled(&self) -> Option<&RowTiling> {
        self.tiled.as_ref()
    }

    /// Returns the total number of rows of all operators' results, if tiling was allowed but not searched because
    /// of this number.
    pub const fn too_many_rows(&self) -> Option<u64> {
        self.too_many_rows
    }

    /// Returns the reason why the search for the plan ended early, in which case a smaller pool may exist. `None` if
    /// the search was completed.
    pub const fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }
}

/// Describes how the steps follow from the original graph; saved together with a plan.
#[derive(Clone, Debug)]
pub(super) struct Lowering {
    /// The enabled rewriting rules.
    pub(super) rules: Rules,
    /// True if means over height and width are split into two operators, as tiling needs.
    pub(super) row_means: bool,
    /// The concatenations and pads of the rewritten graph whose parts are written in place.
    pub(super) in_place: NodeSet,
    /// Location of the weights while the model runs.
    pub(super) weights: WeightStorage,
    /// Storage format of the weights.
    pub(super) weight_format: WeightFormat,
    /// Inputs and outputs that go through the pool.
    pub(super) stream_io: StreamedIo,
    /// The order of the operators, if it was searched.
    pub(super) order: Option<MemoryOrder>,
    /// The patches into which the first layers are divided.
    pub(super) patches: Option<Patches>,
}

/// The row tiling of a compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct RowTiling {
    /// Cascades of operators that run interleaved. Operators are numbered by the steps of the schedule without
    /// stripes.
    pub cascades: Vec<Cascade>,
    /// Bytes of the rows alive at the peak, a lower bound on any placement of this schedule.
    pub live_bytes: u64,
    /// The step of the peak.
    pub peak: Peak,
    /// Dispatches per run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Bytes of the pool of whole tensors.
    pub baseline_bytes: u64,
    /// Predicted time of a run on whole tensors.
    pub baseline_us: f64,
}

/// Pareto front of plans: no plan is beaten in both bytes and time by another.
#[derive(Clone, Debug)]
pub struct ParetoFront {
    pub(super) untiled: CompiledModel,
    pub(super) points: Vec<Point>,
    pub(super) baseline_us: f64,
}

impl ParetoFront {
    /// Returns the model of whole tensors.
    pub const fn untiled(&self) -> &CompiledModel {
        &self.untiled
    }

    /// Returns the points, fastest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the predicted time of whole tensors.
    pub const fn baseline_us(&self) -> f64 {
        self.baseline_us
    }

    /// Returns the reason why the search ended early, in which case smaller pools may exist. `None` if the search was
    /// completed.
    pub const fn stopped(&self) -> Option<StopReason> {
        self.untiled.stopped
    }

    /// Returns the model ready to run with the plan of point `index`, or `None` if the index is out of range.
    pub fn compiled(&self, index: usize) -> Option<CompiledModel> {
        self.points.get(index).map(|point| self.untiled.clone().at(point.clone(), self.baseline_us))
    }
}

impl CompiledModel {
    /// Rounds the weights to their storage format and packs them. This is the last stage of compiling, because no
    /// plan depends on the values of weights.
    pub(super) fn with_rounded_weights(mut self) -> Result<Self, CompileError> {
        let format = self.lowering.weight_format;
        Rounded { graph: self.graph, beyond: self.rounded_beyond } = weight_format::rounded(self.graph, format)?;
        // Constants that were equal are equal after rounding but stored twice, so they are shared again.
        share_constants(&mut self.graph);
        let streamed = self.schedule.streamed();
        self.packings = weight_format::packings(&self.graph, format, self.format, |id| streamed.contains(id));
        Ok(self)
    }

    /// Returns the model with the schedule and the plan of `point`.
    pub(super) fn at(mut self, point: Point, baseline_us: f64) -> Self {
        let Point { cascades, live_bytes, peak, dispatches, predicted_us, schedule, plan, in_place, best, .. } = point;
        let baseline_bytes = self.plan.bytes();
        (self.lowering.in_place, self.schedule, self.plan) = (in_place, schedule, plan);
        match cascades.is_empty() {
            true => self.best = best,
            false => {
                let tiled =
                    RowTiling { cascades, live_bytes, peak, dispatches, predicted_us, baseline_bytes, baseline_us };
                self.tiled = Some(tiled);
            }
        }
        self
    }
}

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
    /// [`CompiledModel::device_bytes`](CompiledModel::device_bytes).
    pub device_bytes: u64,
    /// Bytes of the rows alive at the peak, a lower bound on any placement of this schedule.
    pub live_bytes: u64,
    /// The step of the peak.
    pub peak: Peak,
    /// Dispatches per run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Operators that run interleaved, and their numbers of stripes; empty for a point of whole tensors.
    pub cascades: Vec<Cascade>,
    /// The concatenations and pads whose parts are written in place.
    pub in_place: NodeSet,
    /// The schedule with all steps.
    pub schedule: Schedule,
    /// The plan of the pool, which has been checked.
    pub plan: Plan,
    /// For a point of whole tensors, the strategies that the planner tried.
    pub(super) best: Option<Solution>,
}

/// The error, together with the smallest plan that was found, from which a later search can start.
#[derive(Debug)]
pub struct Unmet {
    /// Reason why no plan was found.
    pub error: CompileError,
    /// The smallest plan that was found.
    pub smallest: Option<Box<CompiledModel>>,
}

impl From<CompileError> for Unmet {
    fn from(error: CompileError) -> Self {
        Self { error, smallest: None }
    }
}
