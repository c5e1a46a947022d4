//! Selects the point of the front that matches the objective.

use super::{
    error::CompileError,
    fewest_steps::Chains,
    fronts::{FrontEntry, Fronts},
    memory_limit::MemoryLimit,
    options::Objective,
    point::Point,
};
use crate::plan::SearchControl;

/// Search effort for a plan within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Full search: if nothing fits immediately, searches for the smallest plan; then reduces the steps within the
    /// memory limit.
    Full,
    /// Like `Full`, but stops at the first plan that fits, as [`Objective::Smallest`] does.
    Fitting,
    /// Only checks plans that are found immediately; for trying several settings.
    Quick,
}

/// The selected point.
pub(super) struct Selected {
    pub(super) point: Point,
    /// True if the point keeps within the limit, or if no limit was set. Otherwise, the point is the smallest that
    /// was found.
    pub(super) fits: bool,
}

/// Returns the requested point: the one with the least product of bytes and time, the fastest within a limit, or the
/// smallest.
pub(super) fn select(
    fronts: &Fronts<'_>,
    objective: Objective,
    limit: Option<MemoryLimit>,
    effort: Effort,
    control: &SearchControl<'_>,
) -> Result<Selected, CompileError> {
    let selected = |found: FrontEntry, fits: bool| Selected { point: fronts.point(found), fits };
    if objective == Objective::Balanced {
        return Ok(selected(fronts.best_product(control)?, true));
    }
    let placed = fronts.placed(control)?;
    let Some(limit) = limit else {
        let least = fronts.smallest_of(fronts.all(placed, control)?);
        return Ok(selected(fronts.finished(least, control)?, true));
    };
    let finished = |found: FrontEntry| match effort {
        Effort::Full => fronts.with_fewer_steps(found, limit, Chains::Budget, control),
        Effort::Fitting | Effort::Quick => Ok(found),
    };
    let unbeaten = fronts.unbeaten(&placed);
    // Entries are sorted by time, so this is the fastest one that fits. The search for the smallest pool takes longer
    // and only runs if none of them fits.
    if let Some(fitting) = unbeaten.iter().find(|found| limit.holds(&found.placed)) {
        return Ok(selected(finished(fitting.clone())?, true));
    }
    if effort == Effort::Quick {
        return Ok(selected(fronts.smallest_of(unbeaten), false));
    }
    let mut least = fronts.smallest_of(fronts.all(placed, control)?);
    if !limit.holds(&least.placed) {
        // `finished` may spend a little more memory for fewer steps, so its result is used only if it is smaller.
        let finished = fronts.finished(least.clone(), control)?;
        if limit.taken(&finished.placed) < limit.taken(&least.placed) {
            least = finished;
        }
    }
    match limit.holds(&least.placed) {
        true => Ok(selected(finished(least)?, true)),
        false => Ok(selected(least, false)),
    }
}
