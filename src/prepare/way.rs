//! One way to run a network: its steps, with parts written in place or copied, and what any division of them into phases takes.

use std::collections::BTreeMap;

use super::{
    PrepareError, PrepareOptions,
    phases::{Peak, Point},
};
use crate::{
    graph::Graph,
    plan::{Plan, RowEffort, RowProblem, RowStep, TensorRows, check_rows, live_row_peak, place_rows, realize_rows},
    schedule::{
        Schedule, Step, StorageKind,
        phases::{Model, Segment, Work, phased, work},
    },
};

/// A schedule that has no plan yet.
pub(super) struct Draft {
    pub(super) live_bytes: u64,
    peak: Peak,
    dispatches: u64,
    pub(super) predicted_us: f64,
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

/// All that a point is made from.
pub(super) struct Way<'a> {
    pub(super) options: &'a PrepareOptions,
    pub(super) graph: &'a Graph,
    /// The steps without phases.
    pub(super) unphased: Schedule,
    pub(super) model: Model,
    tensors: Vec<TensorRows>,
    whole: Vec<bool>,
    /// What each operator has to do.
    work: Vec<Work>,
    /// Microseconds of a run beside its dispatches.
    beside_us: f64,
}

impl<'a> Way<'a> {
    pub(super) fn new(graph: &'a Graph, unphased: Schedule, options: &'a PrepareOptions) -> Self {
        let outside = unphased.storages.iter().filter(|s| !matches!(s.kind, StorageKind::Intermediate(_)));
        let moved: u64 = outside.map(|storage| storage.texels()).sum();
        Self {
            options,
            graph,
            model: Model::new(graph, &unphased),
            tensors: unphased.tensors(),
            whole: unphased.whole(graph),
            work: unphased.steps.iter().map(|step| step_work(graph, step)).collect(),
            beside_us: options.figures.run_us + options.figures.transfer_us * moved as f64 / 1e3,
            unphased,
        }
    }

    /// A division into segments, not placed yet.
    pub(super) fn draft(&self, segments: Vec<Segment>) -> Result<Draft, PrepareError> {
        let schedule = phased(&self.unphased, &self.model, &segments);
        self.priced(segments, schedule, &self.whole)
    }

    /// A draft, placed.
    pub(super) fn placed(&self, draft: Draft, effort: RowEffort) -> Result<Point, PrepareError> {
        let problem = RowProblem { tensors: &self.tensors, whole: &self.whole, steps: &draft.steps };
        let layout = place_rows(&problem, effort)?;
        let mut plan = realize_rows(&layout, &problem, self.options.format, self.options.limits)?;
        "phases".clone_into(&mut plan.strategy);
        check_rows(&self.tensors, &self.whole, &draft.steps, &plan, self.options.limits)?;
        Ok(draft.with(plan))
    }

    /// The point of a division into segments.
    pub(super) fn point(&self, segments: Vec<Segment>, effort: RowEffort) -> Result<Point, PrepareError> {
        self.placed(self.draft(segments)?, effort)
    }

    /// The point without phases, whose plan is `plan`: every tensor lives as a whole.
    pub(super) fn without_phases(&self, plan: Plan) -> Result<Point, PrepareError> {
        Ok(self.priced(Vec::new(), self.unphased.clone(), &vec![true; self.tensors.len()])?.with(plan))
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
            let taken = model.dispatches(&step.rows);
            dispatches += taken;
            let share = step.rows.len() as f64 / f64::from(model.rows.max(1));
            predicted_us += figures.band_us(work, share) + taken.saturating_sub(1) as f64 * figures.dispatch_us;
        }
        let live_bytes = fullest.texels * self.options.format.texel_bytes();
        let peak = self.peak(&segments, &schedule, fullest.step);
        Ok(Draft { live_bytes, peak, dispatches, predicted_us, segments, schedule, steps })
    }

    fn peak(&self, segments: &[Segment], schedule: &Schedule, step: usize) -> Peak {
        let node = schedule.steps.get(step).map(|step| step.node);
        let operator = self.unphased.steps.iter().position(|whole| Some(whole.node) == node).unwrap_or(0);
        let written = schedule.steps.get(step).map(|step| schedule.storages[step.to].tensor);
        Peak {
            step,
            operator: node.map_or("", |node| self.graph.nodes[node].op.name()),
            tensor: written.map_or_else(String::new, |tensor| self.graph.tensors[tensor].name.clone()),
            segment: segments.iter().position(|segment| segment.operators.contains(&operator)),
        }
    }
}

/// What a step has to do for all rows of its result.
fn step_work(graph: &Graph, step: &Step) -> Work {
    let node = &graph.nodes[step.node];
    let work = work(graph, node);
    match (step.frame, node.inputs.first()) {
        (true, Some(&part)) => Work { texels: work.texels - graph.shape(part).texels() as f64, ..work },
        _ => work,
    }
}
