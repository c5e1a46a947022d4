//! The front of phased plans: pool bytes against predicted time, and which point of it is taken.
//!
//! Joins the phase scheduler and the row planner; knows no kernel and no device but for what it is told of one.

use std::collections::BTreeMap;

use super::{PrepareError, PrepareOptions, changes::Changes};
use crate::{
    graph::Graph,
    plan::{
        self, Plan, RowEffort, RowProblem, RowStep, TensorRows, check_rows, live_row_bound, place_rows, realize_rows,
    },
    schedule::{
        Schedule,
        phases::{Model, Segment, Table, flops, phased},
    },
};

/// Whether operators run band by band of rows, and how far that goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phases {
    /// Every operator runs once, over all rows.
    #[default]
    Off,
    /// The point of the front with the least product of bytes and time: beyond it a percent of bytes costs more than a
    /// percent of time.
    Auto,
    /// The smallest pool that is found.
    Min,
    /// The fastest plan whose pool takes no more than so many bytes.
    Budget(u64),
}

/// What a device takes for the two things that a plan's time is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Microseconds of a dispatch that computes next to nothing.
    pub dispatch_us: f64,
    /// Floating point operations in a microsecond.
    pub flop_per_us: f64,
}

impl Default for Figures {
    /// Of lavapipe on two cores: a dispatch costs what a million and a half operations cost.
    fn default() -> Self {
        Self { dispatch_us: 17.0, flop_per_us: 88_000.0 }
    }
}

/// One point of the front: a schedule and its plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// Bytes of the pool.
    pub bytes: u64,
    /// Bytes of the rows alive at the fullest step of this schedule; no placement of it takes less.
    pub live_bytes: u64,
    /// Dispatches of a run.
    pub dispatches: u64,
    /// Predicted time of a run.
    pub predicted_us: f64,
    /// Operators that run interleaved, and in how many phases; empty for the point without phases.
    pub segments: Vec<Segment>,
    /// Its steps.
    pub schedule: Schedule,
    /// The pool, checked.
    pub plan: Plan,
}

/// Bands that are driven to look at segments.
const LOOKED_AT: u64 = 3_000_000;
/// Memory limits between the least and no phases at all that are tried, a constant factor apart.
const LIMITS: u32 = 10;
/// Changes of the smallest schedule that are tried.
const CHANGES: usize = 120;

/// All that a point is made from.
pub(super) struct Front<'a> {
    options: &'a PrepareOptions,
    unphased: &'a Schedule,
    model: Model,
    table: Table,
    tensors: Vec<TensorRows>,
    whole: Vec<bool>,
    arithmetic_us: f64,
}

impl<'a> Front<'a> {
    pub(super) fn new(graph: &Graph, unphased: &'a Schedule, options: &'a PrepareOptions) -> Self {
        let model = Model::new(graph, unphased);
        let table = Table::new(&model, LOOKED_AT);
        let flops: u64 = unphased.steps.iter().map(|step| flops(graph, &graph.nodes[step.node])).sum();
        Self {
            options,
            unphased,
            table,
            model,
            tensors: unphased.tensors(),
            whole: unphased.whole(graph),
            arithmetic_us: flops as f64 / options.figures.flop_per_us,
        }
    }

    /// The point of a division into segments.
    fn point(&self, segments: Vec<Segment>, effort: RowEffort) -> Result<Point, PrepareError> {
        let schedule = phased(self.unphased, &self.model, &segments);
        let steps: Vec<RowStep> = schedule.row_steps();
        let problem = RowProblem { tensors: &self.tensors, whole: &self.whole, steps: &steps };
        let layout = place_rows(&problem, effort)?;
        let mut plan = realize_rows(&layout, &problem, self.options.format, self.options.limits)?;
        "phases".clone_into(&mut plan.strategy);
        check_rows(&self.tensors, &self.whole, &steps, &plan, self.options.limits)?;
        let live_bytes = live_row_bound(&problem)? * self.options.format.texel_bytes();
        Ok(self.measured(segments, schedule, plan, live_bytes))
    }

    fn measured(&self, segments: Vec<Segment>, schedule: Schedule, plan: Plan, live_bytes: u64) -> Point {
        let mut dispatches_of = BTreeMap::new();
        for (whole, operator) in self.unphased.steps.iter().zip(&self.model.operators) {
            dispatches_of.insert(whole.node, u64::from(operator.dispatches));
        }
        let dispatches = schedule.steps.iter().filter_map(|step| dispatches_of.get(&step.node)).sum();
        let predicted_us = self.arithmetic_us + dispatches as f64 * self.options.figures.dispatch_us;
        Point { bytes: plan.bytes(), live_bytes, dispatches, predicted_us, segments, schedule, plan }
    }

    /// Every point that no other one beats, fewest bytes last. `whole` is the plan without phases.
    pub(super) fn points(&self, whole: &Plan, effort: RowEffort) -> Result<Vec<Point>, PrepareError> {
        let live: u64 = plan::bounds(&self.unphased.records)?.offsets * self.options.format.texel_bytes();
        let mut points = vec![self.measured(Vec::new(), self.unphased.clone(), whole.clone(), live)];
        let mut tried: Vec<Vec<Segment>> = Vec::new();
        let finest = std::iter::once(self.table.least(true).1);
        for segments in self.limits().into_iter().filter_map(|limit| self.table.within(limit)).chain(finest) {
            if !tried.contains(&segments) {
                points.push(self.point(segments.clone(), effort)?);
                tried.push(segments);
            }
        }
        points.sort_by(|a, b| a.predicted_us.total_cmp(&b.predicted_us).then(a.bytes.cmp(&b.bytes)));
        let mut least = u64::MAX;
        points.retain(|point| {
            let better = point.bytes < least;
            least = least.min(point.bytes);
            better
        });
        Ok(points)
    }

    /// Limits in texels, from the least that any schedule keeps within to what no phases at all need.
    fn limits(&self) -> Vec<u64> {
        let (least, most) = (self.table.least(false).0, self.table.unphased());
        let ratio = (most.max(1) as f64 / least.max(1) as f64).max(1.0);
        let between = |i: u32| (least as f64 * ratio.powf(f64::from(i) / f64::from(LIMITS))).ceil() as u64;
        (0..=LIMITS).map(between).collect()
    }

    /// The smallest pool that is found: from the smallest of the front on, borders and numbers of phases are changed one
    /// at a time, and what is left is placed with more effort.
    fn smallest(&self, whole: &Plan) -> Result<Option<Point>, PrepareError> {
        let mut points = self.points(whole, RowEffort::default())?;
        let Some(mut best) = points.pop() else { return Ok(None) };
        if best.segments.is_empty() {
            return Ok(Some(best));
        }
        let operators = self.model.operators.len();
        let mut changes = Changes::new();
        for _ in 0..CHANGES {
            let segments = changes.next(&best.segments, operators);
            if self.table.peak(&segments).is_some_and(|peak| peak * self.options.format.texel_bytes() >= best.bytes) {
                continue;
            }
            let point = self.point(segments, RowEffort { moves: 4_000, packings: 24 })?;
            if (point.bytes, point.dispatches) < (best.bytes, best.dispatches) {
                best = point;
            }
        }
        let thorough = self.point(best.segments.clone(), RowEffort { moves: 200_000, packings: 2_000 })?;
        Ok(Some(if thorough.bytes < best.bytes { thorough } else { best }))
    }
}

/// The point that `options` asks for; `whole` is the plan without phases.
pub(super) fn choose(
    graph: &Graph,
    unphased: &Schedule,
    whole: &Plan,
    options: &PrepareOptions,
) -> Result<Option<Point>, PrepareError> {
    let front = || Front::new(graph, unphased, options);
    match options.phases {
        Phases::Off => Ok(None),
        Phases::Min => front().smallest(whole),
        Phases::Auto => {
            let points = front().points(whole, RowEffort::default())?;
            let worth = |point: &Point| point.bytes as f64 * point.predicted_us;
            Ok(points.into_iter().min_by(|a, b| worth(a).total_cmp(&worth(b))))
        }
        Phases::Budget(bytes) if whole.bytes() <= bytes => Ok(None),
        Phases::Budget(bytes) => {
            let front = front();
            let fits = |point: &Point| point.bytes <= bytes;
            let points = front.points(whole, RowEffort::default())?;
            let found = match points.into_iter().find(fits) {
                Some(point) => Some(point),
                None => front.smallest(whole)?,
            };
            match found {
                Some(point) if !fits(&point) => Err(PrepareError::Budget { bytes, least: point.bytes }),
                found => Ok(found),
            }
        }
    }
}
