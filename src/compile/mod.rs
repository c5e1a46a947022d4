//! All that can be known of a run without a device: the rewritten graph, its steps, and the plan of the pool.
//!
//! Joins the rewriter, the scheduler and the planner; knows no kernel and no device.

mod changes;
mod device_profile;
mod front;
mod fronts;
mod lowered;
mod parallel;
mod phases;
mod precision;
mod prices;
mod relay;
mod variant;

pub use device_profile::{Clock, DeviceProfile, Rate};
pub use phases::{Peak, Phases, Point};

use fronts::Fronts;
use lowered::LoweredModel;

use crate::{
    graph::{CheckError, Graph},
    plan::{Best, Budget, Choice, Plan, PlanError, SearchControl, StopReason, TexelFormat, TextureLimits},
    rewrite::{Report, Rules},
    schedule::{Schedule, ScheduleError, phases::Segment},
};

/// What is asked of the plan.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Which rewriting rules are on.
    pub rules: Rules,
    /// Texel format of the pool.
    pub format: TexelFormat,
    /// Which plan: the smallest, or what is named.
    pub choice: Choice,
    /// How far to search for a better plan.
    pub budget: Budget,
    /// Whether operators run band by band of rows.
    pub phases: Phases,
    /// What the device takes for a dispatch and for arithmetic; decides between phased plans.
    pub device_profile: DeviceProfile,
    /// What the device allows of a texture.
    pub limits: TextureLimits,
}

/// `maxTextureDimension2D` that every WebGPU device has.
const CORE_EXTENT: u32 = 8192;

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            rules: Rules::default(),
            format: TexelFormat::Rgba32Float,
            choice: Choice::Best,
            budget: Budget::default(),
            phases: Phases::default(),
            device_profile: DeviceProfile::default(),
            limits: TextureLimits { max_extent: CORE_EXTENT },
        }
    }
}

/// A model ready to be put on a device. Only [`compile`] and [`frontier`] make one, from a graph that was checked and with
/// a plan that was, and nothing outside this crate alters it: kernels rely on both without asking again.
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
    pub(crate) best: Best,
    pub(crate) plan: Plan,
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

    /// What the planner tried, and what it chose; sizes in texels.
    pub const fn best(&self) -> &Best {
        &self.best
    }

    /// The pool, checked.
    pub const fn plan(&self) -> &Plan {
        &self.plan
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

/// The phases of a compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct Phased {
    /// Operators that run interleaved, by the steps of the schedule without phases.
    pub segments: Vec<Segment>,
    /// Bytes of the rows alive at the fullest step; no placement of this schedule takes less.
    pub live_bytes: u64,
    /// The fullest step.
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

/// Why a model cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The graph is not whole.
    #[error(transparent)]
    Graph(Box<CheckError>),
    /// The graph has no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The records have no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Indices would be rounded to others by 16-bit floats.
    #[error(
        "node {node} ({op}): the indices `{tensor}` are of {places} places, and 16-bit floats count whole numbers no \
         further than 2048: run it with 32-bit floats (--precision f32)"
    )]
    Indices {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the indices.
        tensor: String,
        /// Places that they tell apart.
        places: usize,
    },
    /// Indices would be rounded to others by any floats that there are.
    #[error(
        "node {node} ({op}): the indices `{tensor}` are of {places} places, and 32-bit floats count whole numbers no \
         further than 16777216: split the axis, and look in each part"
    )]
    ManyIndices {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the indices.
        tensor: String,
        /// Places that they tell apart.
        places: usize,
    },
    /// No plan fits the budget.
    #[error(
        "no plan fits a pool of {bytes} bytes; the smallest that was found takes {least} bytes{}",
        beyond(*phases, *stopped, *too_many_rows)
    )]
    Budget {
        /// The budget.
        bytes: u64,
        /// The smallest pool that was found.
        least: u64,
        /// Whether that runs in phases.
        phases: bool,
        /// Why the search ended before it was done, if it did: a smaller one may exist.
        stopped: Option<StopReason>,
        /// The rows of all operators' results, where they are too many to look for phases.
        too_many_rows: Option<u64>,
    },
}

impl From<CheckError> for CompileError {
    fn from(error: CheckError) -> Self {
        Self::Graph(Box::new(error))
    }
}

/// What is to be said of smaller pools than the smallest that was found.
fn beyond(phases: bool, stopped: Option<StopReason>, too_many_rows: Option<u64>) -> String {
    match (stopped, too_many_rows) {
        (Some(reason), _) => format!(
            "; the search was stopped because {reason}, and a smaller one may exist: give it more time (--deadline)"
        ),
        (None, Some(rows)) => format!(", and phases are not looked for where operators have {rows} rows together"),
        (None, None) if phases => String::new(),
        (None, None) => ", and phases make none smaller: its operators need whole operands".to_owned(),
    }
}

/// Plans of which none is beaten in both bytes and time by another.
#[derive(Clone, Debug)]
pub struct Frontier {
    whole: CompiledModel,
    points: Vec<Point>,
    baseline_us: f64,
}

impl Frontier {
    /// The model without phases.
    pub const fn whole(&self) -> &CompiledModel {
        &self.whole
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
        self.whole.stopped
    }

    /// The model ready to run as the point of that index says; `None` where there are fewer points.
    pub fn compiled(&self, index: usize) -> Option<CompiledModel> {
        self.points.get(index).map(|point| self.whole.clone().at(point.clone(), self.baseline_us))
    }
}

impl CompiledModel {
    fn at(mut self, point: Point, baseline_us: f64) -> Self {
        if !point.segments.is_empty() {
            let Point { segments, live_bytes, peak, dispatches, predicted_us, schedule, plan, .. } = point;
            let baseline_bytes = self.plan.bytes();
            let phased = Phased { segments, live_bytes, peak, dispatches, predicted_us, baseline_bytes, baseline_us };
            self.phased = Some(phased);
            (self.schedule, self.plan) = (schedule, plan);
        }
        self
    }
}

/// Checks, rewrites, schedules and plans a model, and checks the plan. A search that `control` stops answers with the best
/// plan found so far, at least one without phases, and says so ([`CompiledModel::stopped`]).
///
/// # Errors
/// Where the graph is not whole, no texture can hold a tensor, or no plan fits the budget.
pub fn compile(
    graph: &Graph,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<CompiledModel, CompileError> {
    let lowered = LoweredModel::new(graph, options, control)?;
    if options.phases == Phases::Off {
        let whole = lowered.planned(options, control)?;
        return Ok(lowered.compiled(whole, options, control));
    }
    let (whole, fronts) = Fronts::new(&lowered, options, options.phases != Phases::Auto, control)?;
    let baseline_us = fronts.baseline_us();
    let point = phases::choose(&fronts, options, lowered.too_many_rows(), control)?;
    drop(fronts);
    let compiled = lowered.compiled(whole, options, control);
    Ok(match point {
        Some(point) => compiled.at(point, baseline_us),
        None => compiled,
    })
}

/// The Pareto front of pool bytes against predicted time: no point is beaten in both by another, and the last is what
/// [`Phases::Min`] takes. Stopped like [`compile`].
///
/// # Errors
/// As [`compile`].
pub fn frontier(
    graph: &Graph,
    options: &CompileOptions,
    control: &SearchControl<'_>,
) -> Result<Frontier, CompileError> {
    let lowered = LoweredModel::for_row_tiling(graph, options, control)?;
    let (whole, fronts) = Fronts::new(&lowered, options, true, control)?;
    let found = fronts.all(fronts.placed(control)?, control)?;
    let (points, baseline_us) = (found.into_iter().map(|found| fronts.point(found)).collect(), fronts.baseline_us());
    drop(fronts);
    Ok(Frontier { whole: lowered.compiled(whole, options, control), points, baseline_us })
}
