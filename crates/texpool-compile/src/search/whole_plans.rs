//! Plans of whole tensors, which differ in the parts that are written in place: a choice between memory and time.

use super::{
    memory_limit::MemoryLimit,
    variant::{PlacedCandidate, of_whole_tensors},
};
use crate::{
    error::CompileError,
    lowered::{LoweredModel, UntiledPlan},
    model::Point,
    options::{CompileOptions, Objective},
};
use texpool_ops::graph::Graph;
use texpool_plan::SearchControl;

/// A plan of whole tensors with its memory and its predicted time.
pub(crate) struct WholePlan {
    pub(crate) untiled: UntiledPlan,
    pub(crate) placed: PlacedCandidate,
}

impl WholePlan {
    /// Computes the figures of a plan.
    pub(crate) fn new(graph: &Graph, untiled: UntiledPlan, options: &CompileOptions) -> Self {
        Self { placed: of_whole_tensors(graph, &untiled, options), untiled }
    }

    /// Returns the point of the plan.
    pub(crate) fn point(&self) -> Point {
        let UntiledPlan { steps, streamed, best, .. } = &self.untiled;
        let point = self.placed.clone().with(streamed.clone(), steps.in_place.clone());
        Point { best: Some(best.clone()), ..point }
    }
}

/// Returns the plan of whole tensors that the objective asks for; without one within the limit, the smallest.
pub(crate) fn chosen(
    lowered: &LoweredModel,
    options: &CompileOptions,
    limit: Option<MemoryLimit>,
    control: &SearchControl<'_>,
) -> Result<UntiledPlan, CompileError> {
    let mut plans = lowered.plans(options, control)?;
    // With a single plan there is no choice, and its figures are not needed.
    if plans.len() == 1 {
        return Ok(plans.swap_remove(0));
    }
    let figures: Vec<PlacedCandidate> =
        plans.iter().map(|plan| of_whole_tensors(&lowered.graph, plan, options)).collect();
    Ok(plans.swap_remove(best(&figures, options.objective, limit)))
}

/// Returns the index of the plan that the objective asks for.
pub(crate) fn best(plans: &[PlacedCandidate], objective: Objective, limit: Option<MemoryLimit>) -> usize {
    // The figure to be small, and the one that decides between equal ones.
    let rank = |plan: &PlacedCandidate| {
        let (bytes, us) = (plan.running_bytes as f64, plan.predicted_us);
        match (limit, objective) {
            (Some(limit), _) if limit.holds(plan) => (false, us, bytes),
            (Some(limit), _) => (true, limit.bytes_of(plan) as f64, us),
            (None, Objective::Balanced) => (false, bytes * us, us),
            (None, Objective::Smallest) => (false, bytes, us),
            (None, Objective::Fastest | Objective::Pool(_) | Objective::Device(_)) => (false, us, bytes),
        }
    };
    let least = |a: &usize, b: &usize| {
        let (a, b) = (rank(&plans[*a]), rank(&plans[*b]));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
    };
    (0..plans.len()).min_by(least).unwrap_or(0)
}
