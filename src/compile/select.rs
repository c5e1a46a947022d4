//! Which point of the front answers what is asked of phases.

use super::{
    error::CompileError,
    fewest_steps::Chains,
    fronts::{FrontEntry, Fronts},
    memory_limit::MemoryLimit,
    options::Phases,
    point::Point,
};
use crate::plan::SearchControl;

/// How much is done for a plan within a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// All that there is: where nothing fits at once the smallest is searched for, and then fewer steps in as much memory.
    /// Where that does not fit either, the error names it.
    Full,
    /// For one of several settings that are tried: what fits at once. Where nothing does, the error names a lower bound.
    Quick,
}

/// The point that is asked for: with the least product of bytes and time, the fastest within a limit, or the smallest.
pub(super) fn select(
    fronts: &Fronts<'_>,
    phases: Phases,
    limit: Option<MemoryLimit>,
    effort: Effort,
    too_many_rows: Option<u64>,
    control: &SearchControl<'_>,
) -> Result<Option<Point>, CompileError> {
    if phases == Phases::Auto {
        return fronts.best_product(control).map(Some);
    }
    let Some(limit) = limit else {
        let least = fronts.all(fronts.placed(control)?, control)?.pop();
        let least = least.map(|least| fronts.finished(least, control)).transpose()?;
        return Ok(least.map(|least| fronts.point(least)));
    };
    let placed = fronts.placed(control)?;
    let finished = |found: FrontEntry| match effort {
        Effort::Full => fronts.with_fewer_steps(found, limit, Chains::Budget, control),
        Effort::Quick => Ok(found),
    };
    // They come fastest first, so this is the fastest that fits. The search for the smallest pool takes longer, and is
    // left for budgets that none of them fits.
    if let Some(fitting) = fronts.unbeaten(&placed).into_iter().find(|found| limit.holds(&found.placed)) {
        return Ok(Some(fronts.point(finished(fitting)?)));
    }
    if effort == Effort::Quick {
        let (least, phases) = fronts.lower_bound(limit);
        return Err(limit.refused(least, phases, control.stopped(), too_many_rows));
    }
    let Some(mut least) = fronts.all(placed, control)?.pop() else { return Ok(None) };
    if !limit.holds(&least.placed) {
        // That may take a little more for fewer steps.
        let finished = fronts.finished(least.clone(), control)?;
        if limit.taken(&finished.placed) < limit.taken(&least.placed) {
            least = finished;
        }
    }
    if !limit.holds(&least.placed) {
        let phases = !least.placed.segments.is_empty();
        return Err(limit.refused(limit.taken(&least.placed), phases, control.stopped(), too_many_rows));
    }
    Ok(Some(fronts.point(finished(least)?)))
}
