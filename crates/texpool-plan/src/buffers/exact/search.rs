//! Decides whether items fit into a capacity, by branch and bound.
//!
//! An arrangement is a plan unless two items are on neither side of each other. So if all items are at their lowest
//! offsets and no two of them are too close, that is a plan. Otherwise the search picks two items that are too close,
//! decides for one side and later for the other, and propagates the consequences. It is complete for all kinds of
//! buffers: every set of decisions leaves each item a lowest offset, and there are finitely many decisions.

use super::{
    domains::{Domains, Side},
    instance::{Instance, Separation},
};
use crate::{control::SearchControl, offsets::Fit};

/// Searches for a plan within `capacity`, until `effort` items have been processed. Returns the offset of each item,
/// and the effort used.
pub(super) fn decide(
    instance: &Instance,
    capacity: i64,
    effort: u64,
    control: &SearchControl<'_>,
) -> (Fit<Vec<i64>>, u64) {
    let Some(mut domains) = Domains::new(instance, capacity) else { return (Fit::Infeasible, 1) };
    // Decisions whose other side was not tried yet, with the length of the log before them.
    let mut open: Vec<(usize, usize, Side)> = Vec::new();
    loop {
        let possible = domains.propagate(effort);
        // Choosing the next decision takes about as long as processing half of all items.
        domains.work += instance.items.len() as u64 / 2;
        if domains.is_spent(effort) || control.should_stop() {
            return (Fit::BudgetExhausted, domains.work);
        }
        if possible {
            let Some((at, side)) = choose(instance, &domains) else {
                return (Fit::Fits(domains.lowest), domains.work);
            };
            open.push((domains.mark(), at, side.other()));
            domains.decide(at, side);
        } else {
            let Some((mark, at, side)) = open.pop() else { return (Fit::Infeasible, domains.work) };
            domains.undo(mark);
            domains.decide(at, side);
        }
    }
}

/// Chooses two items that are too close at their lowest offsets, and the side to try first. It picks the pair with
/// the least room on both sides relative to its size, and the side with more room. Of seven rules, this one proved
/// the most plans of random buffers with each kind of constraint.
fn choose(instance: &Instance, domains: &Domains<'_>) -> Option<(usize, Side)> {
    let Domains { lowest, highest, .. } = domains;
    let mut best: Option<(i128, usize, Side)> = None;
    for (at, &Separation { a, b, low, high }) in instance.aparts.iter().enumerate() {
        let difference = lowest[a] - lowest[b];
        if difference <= low || difference >= high {
            continue;
        }
        let (above, below) = (highest[a] - lowest[b] - high, highest[b] - lowest[a] + low);
        let size = 1 + i128::from(instance.items[a].size.min(instance.items[b].size));
        let room = (i128::from(above) + 1) * (i128::from(below) + 1) / size;
        if best.is_none_or(|(least, ..)| room < least) {
            best = Some((room, at, if above > below { Side::Above } else { Side::Below }));
        }
    }
    best.map(|(_, at, side)| (at, side))
}
