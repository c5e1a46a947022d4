//! Compiles a model with fully decided options.

use super::{
    fewest_steps::Chains,
    memory_limit::MemoryLimit,
    model_front::{FrontEntry, ModelFront},
    whole_plans,
};
use crate::{
    error::CompileError,
    lowered::LoweredModel,
    model::{CompiledModel, Point},
    options::{CompileOptions, Objective},
};
use texpool_model::rewrite::Patches;
use texpool_ops::graph::Graph;
use texpool_plan::SearchControl;

/// Result of compiling within a limit.
pub(crate) struct Attempt {
    /// The plan; if no plan keeps within the limit, the smallest that was found.
    pub(crate) compiled: CompiledModel,
    /// True if the plan keeps within the limit, or if no limit was set.
    pub(crate) fits: bool,
    /// Lower bound in bytes: the smallest live size of any division that was examined, plus the memory beside the
    /// pool.
    pub(crate) bound: u64,
}

/// Rewrites, schedules and plans the model; streaming follows the options. If `start` is a plan of the same model and
/// the same options, the search starts with it and never returns a worse one.
pub(crate) fn compile_within(
    (graph, patches): (&Graph, Option<Patches>),
    options: &CompileOptions,
    limit: Option<MemoryLimit>,
    effort: Effort,
    start: Option<&CompiledModel>,
    control: &SearchControl<'_>,
) -> Result<Attempt, CompileError> {
    let options = &options.with_pool_format();
    let lowered = LoweredModel::new(graph, patches, options, control)?;
    if !options.considers_tiles() {
        let whole = whole_plans::chosen(&lowered, options, limit, control)?;
        let compiled = lowered.compiled(whole, options, control);
        let fits = limit.is_none_or(|limit| limit.holds_compiled(&compiled));
        let bound = limit.map_or(0, |_| compiled.device_bytes());
        return Ok(Attempt { compiled, fits, bound });
    }
    let front = ModelFront::new(&lowered, options, options.objective != Objective::Balanced, start, control)?;
    let (baseline_us, bound) = (front.baseline_us(), limit.map_or(0, |limit| front.lower_bound(limit)));
    let Selected { point, fits } = select(&front, options.objective, limit, effort, control)?;
    let whole = front.into_whole();
    let compiled = lowered.compiled(whole, options, control).at(point, baseline_us);
    Ok(Attempt { compiled, fits, bound })
}

/// Search effort for a plan within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Full search: if nothing fits immediately, searches for the smallest plan; then reduces the steps within the
    /// memory limit.
    Full,
    /// Like `Full`, but stops at the first plan that fits, as [`Objective::Smallest`] does.
    Fitting,
    /// Only checks plans that are found immediately; for trying several settings.
    Quick,
}

/// The selected point.
struct Selected {
    point: Point,
    /// True if the point keeps within the limit, or if no limit was set. Otherwise, the point is the smallest that
    /// was found.
    pub(crate) fits: bool,
}

/// Returns the requested point: the one with the least product of bytes and time, the fastest within a limit, or the
/// smallest.
fn select(
    front: &ModelFront<'_>,
    objective: Objective,
    limit: Option<MemoryLimit>,
    effort: Effort,
    control: &SearchControl<'_>,
) -> Result<Selected, CompileError> {
    let selected = |entry: FrontEntry, fits: bool| Selected { point: front.point(entry), fits };
    if objective == Objective::Balanced {
        return Ok(selected(front.best_product(control)?, true));
    }
    let placed = front.placed(control)?;
    let Some(limit) = limit else {
        let least = front.smallest_of(front.all(placed, control)?);
        return Ok(selected(front.finished(least, control)?, true));
    };
    let finished = |entry: FrontEntry| match effort {
        Effort::Full => front.with_fewer_steps(entry, limit, Chains::Budget, control),
        Effort::Fitting | Effort::Quick => Ok(entry),
    };
    let unbeaten = front.unbeaten(&placed);
    // Entries are sorted by time, so this is the fastest one that fits. The search for the smallest pool takes longer
    // and only runs if none of them fits.
    if let Some(fitting) = unbeaten.iter().find(|entry| limit.holds(&entry.placed)) {
        return Ok(selected(finished(fitting.clone())?, true));
    }
    if effort == Effort::Quick {
        return Ok(selected(front.smallest_of(unbeaten), false));
    }
    let mut least = front.smallest_of(front.all(placed, control)?);
    if !limit.holds(&least.placed) {
        // `finished` may spend a little more memory for fewer steps, so its result is used only if it is smaller.
        let finished = front.finished(least.clone(), control)?;
        if limit.bytes_of(&finished.placed) < limit.bytes_of(&least.placed) {
            least = finished;
        }
        least = with_fewer_tables(front, least, limit, control)?;
    }
    match limit.holds(&least.placed) {
        true => Ok(selected(finished(least)?, true)),
        false => Ok(selected(least, false)),
    }
}

/// Returns a smaller plan than `least`, which exceeds the limit, or `least` if none is found. Each step has tables, so a
/// plan with fewer steps in no more memory often takes less. Without this, a budget of the size of a plan that was found
/// within a larger budget could be refused.
fn with_fewer_tables(
    front: &ModelFront<'_>,
    mut least: FrontEntry,
    limit: MemoryLimit,
    control: &SearchControl<'_>,
) -> Result<FrontEntry, CompileError> {
    while !limit.holds(&least.placed) && !control.should_stop() {
        // This limit does not depend on the requested one, so every budget below the smallest plan names the same plan.
        let own_size = limit.with_bytes(limit.bytes_of(&least.placed));
        let fewer_steps = front.with_fewer_steps(least.clone(), own_size, Chains::Budget, control)?;
        if own_size.bytes() <= limit.bytes_of(&fewer_steps.placed) {
            break;
        }
        least = fewer_steps;
    }
    Ok(least)
}
