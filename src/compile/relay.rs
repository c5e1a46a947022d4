//! A part of a search tells of the whole: whoever watches sees one stage go on, not the parts it is made of.

use std::ops::ControlFlow;

use crate::plan::{Progress, SearchControl};

/// Does `part` under a control that tells that of the whole, `progress` each time, and stops when that does.
pub(super) fn forward_progress<T>(
    control: &SearchControl<'_>,
    progress: Progress,
    part: impl FnOnce(&SearchControl<'_>) -> T,
) -> T {
    let mut relay = |_: Progress| {
        control.report(progress);
        if control.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    part(&SearchControl::new().progress(&mut relay))
}
