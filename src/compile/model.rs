//! What compiling answers with: a model ready to run, or all plans of it among which none is beaten.

use super::{
    error::CompileError,
    options::{Phases, StreamedIo, WeightFormat, WeightStorage},
    point::{Peak, Point},
    weight_format,
};
use crate::{
    graph::{Graph, IdVec, NodeId, NodeSet, share_constants},
    kernels::WeightPacking,
    plan::{Plan, Solution, StopReason, TexelFormat, TextureLimits},
    rewrite::{Report, Rules},
    schedule::{Schedule, phases::Segment},
};

/// A model ready to be put on a device. Only [`compile`](super::compile), [`frontier`](super::frontier) and
/// [`load`](super::load) make one, from a graph that was checked and with a plan that was, and nothing outside
/// this crate alters it: kernels rely on both without asking again.
///
/// ```compile_fail,E0616
/// fn emptied(mut compiled: texpool::compile::CompiledModel) {
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
    /// How the weights of each node are packed; none as long as they are as the graph had them.
    pub(crate) packings: IdVec<NodeId, WeightPacking>,
    pub(crate) requested: Phases,
    pub(crate) phased: Option<Phased>,
    pub(crate) too_many_rows: Option<u64>,
    pub(crate) stopped: Option<StopReason>,
}

impl CompiledModel {
    /// The model as it will run.
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Which rules fired, and why others did not.
    pub const fn rewriting(&self) -> &Report {
        &self.rewriting
    }

    /// Its steps and usage records.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What the planner tried without phases, and what it chose; sizes in texels. `None` where the plan was
    /// [loaded](super::load): nothing was tried then.
    pub const fn best(&self) -> Option<&Solution> {
        self.best.as_ref()
    }

    /// The pool, checked.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Texel format of the pool, which inputs and outputs have as well.
    pub const fn format(&self) -> TexelFormat {
        self.format
    }

    /// How weights are stored on the device.
    pub const fn weight_format(&self) -> WeightFormat {
        self.lowering.weight_format
    }

    /// What the textures of the plan keep within: the device that it runs on must allow as much.
    pub const fn limits(&self) -> TextureLimits {
        self.limits
    }

    /// What was asked of phases.
    pub const fn requested(&self) -> Phases {
        self.requested
    }

    /// What is known of its phases; none where it has none.
    pub const fn phased(&self) -> Option<&Phased> {
        self.phased.as_ref()
    }

    /// The rows of all operators' results together, where phases were asked for and not looked for because there are so
    /// many.
    pub const fn too_many_rows(&self) -> Option<u64> {
        self.too_many_rows
    }

    /// Why the search for the plan ended before it was done: a smaller pool may exist. `None` where it was done.
    pub const fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }
}

/// How the steps follow from the graph that was compiled: what a saved plan has of it.
#[derive(Clone, Debug)]
pub(super) struct Lowering {
    /// The rewriting rules that were on.
    pub(super) rules: Rules,
    /// Whether means over height and width are two operators, as phases want them.
    pub(super) row_means: bool,
    /// The concatenations and pads of the rewritten graph whose parts are written in place.
    pub(super) in_place: NodeSet,
    /// Where weights are while it runs.
    pub(super) weights: WeightStorage,
    /// How they are stored.
    pub(super) weight_format: WeightFormat,
    /// Which inputs and outputs go through the pool.
    pub(super) stream_io: StreamedIo,
}

/// The phases of a compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct Phased {
    /// Operators that run interleaved, by the steps of the schedule without phases.
    pub segments: Vec<Segment>,
    /// Bytes of the rows alive at the peak; no placement of this schedule takes less.
    pub live_bytes: u64,
    /// The step of the peak.
    pub peak: Peak,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Bytes of the pool without phases.
    pub baseline_bytes: u64,
    /// Predicted time of a run without.
    pub baseline_us: f64,
}

/// Plans of which none is beaten in both bytes and time by another.
#[derive(Clone, Debug)]
pub struct Frontier {
    pub(super) unphased: CompiledModel,
    pub(super) points: Vec<Point>,
    pub(super) baseline_us: f64,
}

impl Frontier {
    /// The model without phases.
    pub const fn unphased(&self) -> &CompiledModel {
        &self.unphased
    }

    /// The points, the fastest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Predicted time of a run without phases.
    pub const fn baseline_us(&self) -> f64 {
        self.baseline_us
    }

    /// Why the search ended before it was done: smaller pools may exist. `None` where it was done.
    pub const fn stopped(&self) -> Option<StopReason> {
        self.unphased.stopped
    }

    /// The model ready to run as the point of that index says; `None` where there are fewer points.
    pub fn compiled(&self, index: usize) -> Option<CompiledModel> {
        self.points.get(index).map(|point| self.unphased.clone().at(point.clone(), self.baseline_us))
    }
}

impl CompiledModel {
    /// The same model with weights as they are asked for: rounded to what they are stored as, and packed so. Comes
    /// last, since no plan depends on the values of weights.
    pub(super) fn with_rounded_weights(mut self) -> Result<Self, CompileError> {
        let format = self.lowering.weight_format;
        self.graph = weight_format::rounded(self.graph, format)?;
        // What was equal before is equal now, and is held twice where it was rounded.
        share_constants(&mut self.graph);
        let streamed = self.schedule.streamed();
        self.packings = weight_format::packings(&self.graph, format, self.format, |id| streamed.contains(id));
        Ok(self)
    }

    /// The same model, run as `point` says.
    pub(super) fn at(mut self, point: Point, baseline_us: f64) -> Self {
        // The point without phases is what this model is already.
        if !point.segments.is_empty() {
            let Point { segments, live_bytes, peak, dispatches, predicted_us, schedule, plan, .. } = point;
            let baseline_bytes = self.plan.bytes();
            self.lowering.in_place = point.in_place;
            let phased = Phased { segments, live_bytes, peak, dispatches, predicted_us, baseline_bytes, baseline_us };
            self.phased = Some(phased);
            (self.schedule, self.plan) = (schedule, plan);
        }
        self
    }
}
