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

/// How much is done for a plan within a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// All that there is: where nothing fits at once the smallest is searched for, and then fewer steps in as much memory.
    Full,
    /// The same up to the first plan that fits: what [`Phases::Min`] does, and no more.
    Fitting,
    /// For one of several settings that are tried: what fits at once.
    Quick,
}

/// The point that is chosen.
pub(super) struct Selected {
    pub(super) point: Point,
    /// Whether it keeps within the limit, if there is one. Where it does not, it is the smallest that was found.
    pub(super) fits: bool,
}

/// The point that is asked for: with the least product of bytes and time, the fastest within a limit, or the smallest.
pub(super) fn select(
    fronts: &Fronts<'_>,
    phases: Phases,
    limit: Option<MemoryLimit>,
    effort: Effort,
    control: &SearchControl<'_>,
) -> Result<Selected, CompileError> {
    let selected = |found: FrontEntry, fits: bool| Selected { point: fronts.point(found), fits };
    if phases == Phases::Auto {
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
    // They come fastest first, so this is the fastest that fits. The search for the smallest pool takes longer, and is
    // left for budgets that none of them fits.
    if let Some(fitting) = unbeaten.iter().find(|found| limit.holds(&found.placed)) {
        return Ok(selected(finished(fitting.clone())?, true));
    }
    if effort == Effort::Quick {
        return Ok(selected(fronts.smallest_of(unbeaten), false));
    }
    let mut least = fronts.smallest_of(fronts.all(placed, control)?);
    if !limit.holds(&least.placed) {
        // That may take a little more for fewer steps.
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
