//! One bank packed: an Offset Calculation of its own, by several orders, the lowest kept.

use crate::plan::{
    control::SearchControl,
    error::PlanError,
    offsets::{Gap, TieBreak, greedy_by_breadth, greedy_by_size, greedy_in_order, strip_packing},
    profile::Ties,
    record::UsageRecord,
};

/// Offsets of the members of one bank, and its height; stops at `goal`, below which nothing can go.
pub(super) fn pack(members: &[UsageRecord], goal: u64) -> Result<(Vec<u64>, u64), PlanError> {
    // Few tensors are in a bank: each packing is followed to its end.
    let control = SearchControl::new();
    let mut best: Option<(Vec<u64>, u64)> = None;
    for attempt in 0..4 {
        let layout = match attempt {
            0 => greedy_by_size(members, 1, &control)?,
            1 => strip_packing(members, TieBreak::Largest, &control)?,
            2 => greedy_by_breadth(members, Ties::Lower, &control)?,
            _ => greedy_in_order(members, Gap::BestFit, &control)?,
        };
        let height = layout.total();
        if best.as_ref().is_none_or(|b| height < b.1) {
            best = Some((layout.places.iter().map(|p| p.offset).collect(), height));
        }
        if height <= goal {
            break;
        }
    }
    Ok(best.unwrap_or_default())
}
