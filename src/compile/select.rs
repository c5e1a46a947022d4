//! Which point of the front answers what is asked of phases.

use super::{
    error::CompileError,
    fronts::{FrontEntry, Fronts},
    options::{CompileOptions, Phases},
    point::Point,
};
use crate::plan::SearchControl;

/// Where no plan fits a budget of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// After a search for the smallest pool, which the error then names.
    Searched,
    /// At once where what lives at the same time is more than the budget: who asks has other settings to try.
    Bounded,
}

/// The point that `options` asks for.
pub(super) fn select(
    fronts: &Fronts<'_>,
    options: &CompileOptions,
    refusal: Refusal,
    too_many_rows: Option<u64>,
    control: &SearchControl<'_>,
) -> Result<Option<Point>, CompileError> {
    if options.phases == Phases::Auto {
        return fronts.best_product(control).map(Some);
    }
    let placed = fronts.placed(control)?;
    let Phases::Budget(bytes) = options.phases else {
        return Ok(fronts.all(placed, control)?.pop().map(|least| fronts.point(least)));
    };
    let fits = |found: &FrontEntry| found.placed.bytes <= bytes;
    // They come fastest first, so this is the fastest that fits. The search for the smallest pool takes longer, and is
    // left for budgets that none of them fits.
    if let Some(fitting) = fronts.unbeaten(&placed).into_iter().find(fits) {
        return Ok(Some(fronts.point(fitting)));
    }
    // No placement takes fewer bytes than live at once, so a search for one that fits would be in vain.
    let bound = fronts.least_live_bytes().filter(|&live| refusal == Refusal::Bounded && live > bytes);
    if let Some(live) = bound {
        return Err(CompileError::Budget {
            bytes,
            least: live,
            phases: true,
            stopped: control.stopped(),
            too_many_rows,
        });
    }
    match fronts.all(placed, control)?.pop() {
        Some(least) if !fits(&least) => Err(CompileError::Budget {
            bytes,
            least: least.placed.bytes,
            phases: !least.placed.segments.is_empty(),
            stopped: control.stopped(),
            too_many_rows,
        }),
        least => Ok(least.map(|least| fronts.point(least))),
    }
}
