//! The front of phased plans: pool bytes against predicted time, and which point of it is taken.
//!
//! Joins the phase scheduler and the row planner; knows no kernel and no device but for what it is told of one.

use std::collections::BTreeMap;

use super::{PrepareError, PrepareOptions, Watch, changes::Changes, spread::spread};
use crate::{
    graph::Graph,
    plan::{Plan, RowEffort, RowProblem, RowStep, TensorRows, check_rows, live_row_peak, place_rows, realize_rows},
    schedule::{
        Schedule, StorageKind,
        phases::{Model, Segment, Table, Work, phased, work},
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

/// Where a schedule is fullest: what keeps its pool from being smaller.
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
    /// Bytes of the rows alive at the fullest step of this schedule; no placement of it takes less.
    pub live_bytes: u64,
    /// The fullest step.
    pub peak: Peak,
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

/// A schedule that has no plan yet.
struct Draft {
    live_bytes: u64,
    peak: Peak,
    dispatches: u64,
    predicted_us: f64,
    segments: Vec<Segment>,
    schedule: Schedule,
    steps: Vec<RowStep>,
}

impl Draft {
    fn with(self, plan: Plan) -> Point {
        let Self { live_bytes, peak, dispatches, predicted_us, segments, schedule, .. } = self;
        Point { bytes: plan.bytes(), live_bytes, peak, dispatches, predicted_us, segments, schedule, plan }
    }
}

/// Bands that are driven to look at segments.
const LOOKED_AT: u64 = 3_000_000;
/// Memory limits between the least and no phases at all that are tried, a constant factor apart.
const LIMITS: u32 = 10;
/// Changes of the smallest schedule that are tried.
const CHANGES: usize = 120;
/// Work of placing them, which grows with the square of their steps.
const PLACED: u64 = 600_000_000;
/// Effort for points of which only one is taken.
const BRIEF: RowEffort = RowEffort { moves: 3_000, packings: 36 };
/// With more steps than these, the last placement has less effort.
const THOROUGH: u64 = 2_500;

/// All that a point is made from.
pub(super) struct Front<'a> {
    options: &'a PrepareOptions,
    graph: &'a Graph,
    unphased: &'a Schedule,
    model: Model,
    table: Table,
    tensors: Vec<TensorRows>,
    whole: Vec<bool>,
    /// What each operator has to do.
    work: Vec<Work>,
    /// Microseconds of a run beside its dispatches.
    beside_us: f64,
}

impl<'a> Front<'a> {
    pub(super) fn new(graph: &'a Graph, unphased: &'a Schedule, options: &'a PrepareOptions) -> Self {
        let model = Model::new(graph, unphased);
        let table = Table::new(&model, LOOKED_AT);
        let outside = unphased.storages.iter().filter(|s| !matches!(s.kind, StorageKind::Intermediate(_)));
        let moved: u64 = outside.map(|storage| storage.texels()).sum();
        Self {
            options,
            graph,
            unphased,
            table,
            model,
            tensors: unphased.tensors(),
            whole: unphased.whole(graph),
            work: unphased.steps.iter().map(|step| work(graph, &graph.nodes[step.node])).collect(),
            beside_us: options.figures.run_us + options.figures.transfer_us * moved as f64 / 1e3,
        }
    }

    /// A division into segments, not placed yet.
    fn draft(&self, segments: Vec<Segment>) -> Result<Draft, PrepareError> {
        let schedule = phased(self.unphased, &self.model, &segments);
        self.priced(segments, schedule, &self.whole)
    }

    fn priced(&self, segments: Vec<Segment>, schedule: Schedule, whole: &[bool]) -> Result<Draft, PrepareError> {
        let steps: Vec<RowStep> = schedule.row_steps();
        let fullest = live_row_peak(&RowProblem { tensors: &self.tensors, whole, steps: &steps })?;
        let operators: BTreeMap<_, _> = self.unphased.steps.iter().map(|step| step.node).zip(0..).collect();
        let figures = &self.options.figures;
        let (mut dispatches, mut predicted_us) = (0, self.beside_us);
        for step in &schedule.steps {
            let Some(&operator) = operators.get(&step.node) else { continue };
            let (model, work): (_, &Work) = (&self.model.operators[operator], &self.work[operator]);
            let more = model.dispatches.saturating_sub(1);
            dispatches += u64::from(model.dispatches);
            let share = step.rows.len() as f64 / f64::from(model.rows.max(1));
            predicted_us += figures.band_us(work, share) + f64::from(more) * figures.dispatch_us;
        }
        let live_bytes = fullest.texels * self.options.format.texel_bytes();
        let peak = self.peak(&segments, &schedule, fullest.step);
        Ok(Draft { live_bytes, peak, dispatches, predicted_us, segments, schedule, steps })
    }

    fn placed(&self, draft: Draft, effort: RowEffort) -> Result<Point, PrepareError> {
        let problem = RowProblem { tensors: &self.tensors, whole: &self.whole, steps: &draft.steps };
        let layout = place_rows(&problem, effort)?;
        let mut plan = realize_rows(&layout, &problem, self.options.format, self.options.limits)?;
        "phases".clone_into(&mut plan.strategy);
        check_rows(&self.tensors, &self.whole, &draft.steps, &plan, self.options.limits)?;
        Ok(draft.with(plan))
    }

    fn point(&self, segments: Vec<Segment>, effort: RowEffort) -> Result<Point, PrepareError> {
        self.placed(self.draft(segments)?, effort)
    }

    /// The point of the plan without phases.
    fn without(&self, plan: &Plan) -> Result<Point, PrepareError> {
        // Without phases every tensor lives as a whole.
        let all = vec![true; self.tensors.len()];
        Ok(self.priced(Vec::new(), self.unphased.clone(), &all)?.with(plan.clone()))
    }

    fn peak(&self, segments: &[Segment], schedule: &Schedule, step: usize) -> Peak {
        let node = schedule.steps.get(step).map(|step| step.node);
        let operator = self.unphased.steps.iter().position(|whole| Some(whole.node) == node).unwrap_or(0);
        let written = schedule.steps.get(step).map(|step| schedule.storages[step.writes].tensor);
        Peak {
            step,
            operator: node.map_or("", |node| self.graph.nodes[node].op.name()),
            tensor: written.map_or_else(String::new, |tensor| self.graph.tensors[tensor].name.clone()),
            segment: segments.iter().position(|segment| segment.operators.contains(&operator)),
        }
    }

    /// The divisions that keep few texels alive for their dispatches.
    fn divisions(&self) -> Vec<Vec<Segment>> {
        let mut divisions: Vec<Vec<Segment>> = Vec::new();
        let finest = std::iter::once(self.table.least(true).1);
        for segments in self.limits().into_iter().filter_map(|limit| self.table.within(limit)).chain(finest) {
            if !divisions.contains(&segments) {
                divisions.push(segments);
            }
        }
        divisions
    }

    /// Every point that no other one beats, fewest bytes last. `whole` is the plan without phases.
    fn points(&self, whole: &Plan) -> Result<Vec<Point>, PrepareError> {
        let mut points = vec![self.without(whole)?];
        for point in spread(&self.divisions(), |segments| self.point(segments.clone(), RowEffort::default())) {
            points.push(point?);
        }
        Ok(unbeaten(points))
    }

    /// The point with the least product of bytes and time. No placement takes less than what is alive, so divisions
    /// whose live bytes are worth no more than a plan that is there are never placed. They are compared with
    /// little effort, and the one that is taken is placed again with the usual one.
    fn worthiest(&self, whole: &Plan) -> Result<Point, PrepareError> {
        let worth = |bytes: u64, us: f64| bytes as f64 * us;
        let mut best = self.without(whole)?;
        let drafts = spread(&self.divisions(), |segments| self.draft(segments.clone()));
        let mut drafts = drafts.into_iter().collect::<Result<Vec<Draft>, _>>()?;
        let bound = |draft: &Draft| worth(draft.live_bytes, draft.predicted_us);
        drafts.sort_by(|a, b| bound(a).total_cmp(&bound(b)));
        for draft in drafts {
            if bound(&draft) >= worth(best.bytes, best.predicted_us) {
                break;
            }
            let point = self.placed(draft, BRIEF)?;
            if worth(point.bytes, point.predicted_us) < worth(best.bytes, best.predicted_us) {
                best = point;
            }
        }
        if best.segments.is_empty() || best.bytes == best.live_bytes {
            return Ok(best);
        }
        let usual = self.point(best.segments.clone(), RowEffort::default())?;
        Ok(if usual.bytes < best.bytes { usual } else { best })
    }

    /// The same and the smallest pool that is found.
    pub(super) fn all(&self, whole: &Plan, watch: Watch<'_>) -> Result<Vec<Point>, PrepareError> {
        let mut points = self.points(whole)?;
        if let Some(last) = points.last().cloned() {
            points.push(self.smallest(last, watch)?);
        }
        Ok(unbeaten(points))
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
    fn smallest(&self, from: Point, watch: Watch<'_>) -> Result<Point, PrepareError> {
        let mut best = from;
        if best.segments.is_empty() {
            return Ok(best);
        }
        let operators = self.model.operators.len();
        let mut changes = Changes::new();
        let mut spent = 0;
        for change in 0..CHANGES {
            watch(change, CHANGES);
            if spent >= PLACED {
                break;
            }
            let segments = changes.next(&best.segments, operators);
            if self.table.peak(&segments).is_some_and(|peak| peak * self.options.format.texel_bytes() >= best.bytes) {
                continue;
            }
            let point = self.point(segments, RowEffort { moves: 4_000, packings: 24 })?;
            spent += (point.schedule.steps.len() as u64).pow(2);
            if (point.bytes, point.dispatches) < (best.bytes, best.dispatches) {
                best = point;
            }
        }
        let steps = (best.schedule.steps.len() as u64).max(THOROUGH);
        let share = |effort: u64| effort * THOROUGH.pow(2) / steps.pow(2);
        let effort = RowEffort { moves: share(200_000), packings: share(2_000) };
        let thorough = self.point(best.segments.clone(), effort)?;
        watch(CHANGES, CHANGES);
        Ok(if thorough.bytes < best.bytes { thorough } else { best })
    }
}

/// The points that no other one beats, the fastest first.
fn unbeaten(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.predicted_us.total_cmp(&b.predicted_us).then(a.bytes.cmp(&b.bytes)));
    let mut least = u64::MAX;
    points.retain(|point| {
        let better = point.bytes < least;
        least = least.min(point.bytes);
        better
    });
    points
}

/// The point that `options` asks for; `whole` is the plan without phases.
pub(super) fn choose(
    graph: &Graph,
    unphased: &Schedule,
    whole: &Plan,
    options: &PrepareOptions,
    watch: Watch<'_>,
) -> Result<Option<Point>, PrepareError> {
    let front = || Front::new(graph, unphased, options);
    match options.phases {
        Phases::Off => Ok(None),
        Phases::Min => Ok(front().all(whole, watch)?.pop()),
        Phases::Auto => front().worthiest(whole).map(Some),
        Phases::Budget(bytes) if whole.bytes() <= bytes => Ok(None),
        Phases::Budget(bytes) => {
            let front = front();
            let mut points = front.points(whole)?;
            if let Some(fitting) = points.iter().position(|point| point.bytes <= bytes) {
                return Ok(Some(points.swap_remove(fitting)));
            }
            let Some(last) = points.pop() else { return Ok(None) };
            let least = front.smallest(last, watch)?;
            if least.bytes > bytes {
                return Err(PrepareError::Budget { bytes, least: least.bytes });
            }
            Ok(Some(least))
        }
    }
}
