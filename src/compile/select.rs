//! Which point of the front answers what is asked of phases.

use super::{
    error::CompileError,
    fronts::{FrontEntry, Fronts},
    options::{CompileOptions, Phases},
    point::Point,
};
use crate::plan::SearchControl;

/// The point that `options` asks for.
pub(super) fn select(
    fronts: &Fronts<'_>,
    options: &CompileOptions,
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
    if let Some(live) = fronts.least_live_bytes().filter(|&live| live > bytes) {
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
