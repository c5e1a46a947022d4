//! All that can be known of a run without a device: the rewritten graph, its steps, and the plan of the pool.
//!
//! Joins the rewriter, the scheduler and the planner; knows no kernel and no device.

mod changes;
mod figures;
mod front;
mod fronts;
mod phases;
mod precision;
mod spread;
mod way;

pub use figures::{Clock, Figures, Rate};
pub use phases::{Peak, Phases, Point};

use std::borrow::Cow;

use fronts::Fronts;
use spread::spread;

use crate::{
    graph::Graph,
    plan::{self, Best, Budget, Choice, Plan, PlanError, TexelFormat, TextureLimits},
    rewrite::{self, Report, Rewritten, Rules, Views},
    schedule::{
        self, Schedule, ScheduleError,
        phases::{Band, Model, Segment, worth_joining},
    },
};

/// What is asked of the plan.
#[derive(Clone, Debug)]
pub struct PrepareOptions {
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
    pub figures: Figures,
    /// What the device allows of a texture.
    pub limits: TextureLimits,
}

/// `maxTextureDimension2D` that every WebGPU device has.
const CORE_EXTENT: u32 = 8192;

impl Default for PrepareOptions {
    fn default() -> Self {
        Self {
            rules: Rules::all(),
            format: TexelFormat::Rgba32Float,
            choice: Choice::Best,
            budget: Budget::default(),
            phases: Phases::default(),
            figures: Figures::default(),
            limits: TextureLimits { max_extent: CORE_EXTENT },
        }
    }
}

/// A model ready to be put on a device.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The model as it will run.
    pub graph: Graph,
    /// Which rules fired, and why others did not.
    pub rewriting: Report,
    /// Its steps and usage records.
    pub schedule: Schedule,
    /// What the planner tried, and what it chose; sizes in texels.
    pub best: Best,
    /// The pool, checked.
    pub plan: Plan,
    /// What was asked of phases.
    pub asked: Phases,
    /// What is known of its phases; none where it has none.
    pub phased: Option<Phased>,
}

/// The phases of a prepared model.
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
    pub without_bytes: u64,
    /// Predicted time of a run without.
    pub without_us: f64,
}

/// Why a model cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The graph has no schedule.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The records have no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Indices of a lookup would be rounded to others.
    #[error(
        "node {node} ({op}) looks `{tensor}` up in {places} places, and 16-bit floats count whole numbers no further \
         than 2048: run it with 32-bit floats (--precision f32)"
    )]
    Indices {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the indices.
        tensor: String,
        /// Places that are looked up in.
        places: usize,
    },
    /// No plan fits the budget.
    #[error(
        "no plan fits a pool of {bytes} bytes; the smallest that was found takes {least} bytes{}",
        if *phases { "" } else { ", and phases make none smaller: its operators need whole operands" }
    )]
    Budget {
        /// The budget.
        bytes: u64,
        /// The smallest pool that was found.
        least: u64,
        /// Whether that runs in phases.
        phases: bool,
    },
}

/// Plans of which none is beaten in both bytes and time by another.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The model without phases.
    pub whole: Prepared,
    /// The points, the fastest first.
    pub points: Vec<Point>,
    /// Predicted time of a run without phases.
    pub without_us: f64,
}

impl Frontier {
    /// The model ready to run as `point` says.
    pub fn prepared(&self, point: &Point) -> Prepared {
        self.whole.clone().at(point.clone(), self.without_us)
    }
}

impl Prepared {
    fn at(mut self, point: Point, without_us: f64) -> Self {
        if !point.segments.is_empty() {
            let Point { segments, live_bytes, peak, dispatches, predicted_us, schedule, plan, .. } = point;
            let without_bytes = self.plan.bytes();
            let phased = Phased { segments, live_bytes, peak, dispatches, predicted_us, without_bytes, without_us };
            self.phased = Some(phased);
            (self.schedule, self.plan) = (schedule, plan);
        }
        self
    }
}

/// Is told how far a search for the smallest pool is: so many parts of so many.
pub type Watch<'a> = &'a mut dyn FnMut(usize, usize);

/// Rewrites, schedules and plans a model, and checks the plan.
///
/// # Errors
/// Where the graph is not whole, no texture can hold a tensor, or no plan fits the budget.
pub fn prepare(graph: &Graph, options: &PrepareOptions) -> Result<Prepared, PrepareError> {
    prepare_watched(graph, options, &mut |_, _| {})
}

/// The same, and `watch` is told how far the search is.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_watched(graph: &Graph, options: &PrepareOptions, watch: Watch<'_>) -> Result<Prepared, PrepareError> {
    let (prepared, free) = unphased(graph, options, options.phases != Phases::Off)?;
    let point = phases::choose(&prepared, &free, options, watch)?;
    Ok(match point {
        Some((point, without_us)) => prepared.at(point, without_us),
        None => prepared,
    })
}

/// The Pareto front of pool bytes against predicted time: no point is beaten in both by another, and the last is what
/// [`Phases::Min`] takes.
///
/// # Errors
/// As [`prepare`].
pub fn frontier(graph: &Graph, options: &PrepareOptions, watch: Watch<'_>) -> Result<Frontier, PrepareError> {
    let (whole, free) = unphased(graph, options, true)?;
    let fronts = Fronts::new(&whole, &free, options, true)?;
    let (points, without_us) = (fronts.all(watch)?, fronts.without_us());
    drop(fronts);
    Ok(Frontier { whole, points, without_us })
}

/// The plan without phases, the smaller one of those with and without parts written in place; and the views and
/// the joins of its graph. The graph is made ready for phases if `ready`.
fn unphased(graph: &Graph, options: &PrepareOptions, ready: bool) -> Result<(Prepared, [Views; 2]), PrepareError> {
    let graph = rewrite::split(graph);
    let graph = if ready { rewrite::row_means(&graph) } else { Cow::Borrowed(&*graph) };
    let Rewritten { graph, views, joins, report } = rewrite::rewrite(&graph, &options.rules);
    precision::check_indices(&graph, options.format)?;
    let plain = schedule::schedule(&graph, &views)?;
    let mut schedules = vec![plain];
    if !joins.is_empty() {
        let plain = &schedules[0];
        let model = Model::new(&graph, plain);
        let bands: Vec<Band> =
            (0..).zip(&plain.steps).map(|(operator, step)| Band { operator, rows: step.rows.clone() }).collect();
        let some = worth_joining(&graph, plain, &model, &bands, &joins);
        if !some.is_empty() {
            schedules.push(schedule::schedule(&graph, &views.with(&some))?);
        }
    }
    let plans = spread(&schedules, |schedule| planned(schedule, options));
    let mut plans = plans.into_iter().collect::<Result<Vec<_>, _>>()?;
    // With joins there are fewer steps, so they are in where they take no more bytes.
    let joined = plans.len() > 1 && plans[1].1.bytes() <= plans[0].1.bytes();
    let schedule = schedules.swap_remove(usize::from(joined));
    let (best, plan) = plans.swap_remove(usize::from(joined));
    Ok((
        Prepared { graph, rewriting: report, schedule, best, plan, asked: options.phases, phased: None },
        [views, joins],
    ))
}

/// The best plan of a schedule, checked.
fn planned(schedule: &Schedule, options: &PrepareOptions) -> Result<(Best, Plan), PrepareError> {
    let best = plan::choose(&schedule.records, &schedule.uses, options.choice, options.budget)?;
    let tensors = schedule.tensors();
    let mut plan = plan::realize(&best.layout, &schedule.records, &tensors, options.format, options.limits)?;
    plan.strategy = best.strategy.clone();
    plan::check(&schedule.records, &tensors, &schedule.uses, &plan, options.limits)?;
    Ok((best, plan))
}
