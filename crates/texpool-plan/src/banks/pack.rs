//! Packs one bank like an arena, with several greedy strategies, and keeps the smallest result.

use crate::{
    control::SearchControl,
    error::PlanError,
    offsets::{Gap, TieBreak, greedy_by_breadth, greedy_by_size, greedy_in_order, strip_packing},
    profile::Ties,
    record::UsageRecord,
};

/// Returns the offsets of the records of one bank, and its size. Stops when a packing reaches `peak`, since it cannot
/// be smaller.
pub(super) fn pack(records: &[UsageRecord], peak: u64) -> Result<(Vec<u64>, u64), PlanError> {
    // A bank has few tensors, so stopping a packing early is never worthwhile.
    let control = SearchControl::new();
    let mut best: Option<(Vec<u64>, u64)> = None;
    for attempt in 0..4 {
        let layout = match attempt {
            0 => greedy_by_size(records, 1, &control)?,
            1 => strip_packing(records, TieBreak::Largest, &control)?,
            2 => greedy_by_breadth(records, Ties::Lower, &control)?,
            _ => greedy_in_order(records, Gap::BestFit, &control)?,
        };
        let size = layout.total();
        if best.as_ref().is_none_or(|b| size < b.1) {
            best = Some((layout.places.iter().map(|p| p.offset).collect(), size));
        }
        if size <= peak {
            break;
        }
    }
    Ok(best.unwrap_or_default())
}
