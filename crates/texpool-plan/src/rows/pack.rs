//! Packs the rows of one texture: greedily in several orders, and then repeatedly, within the budget, with the rows
//! that stuck out placed first.

use std::cmp::Reverse;

use super::textures::STAGE;
use crate::{
    control::{Progress, SearchControl},
    offsets::{Arena, Gap},
    record::UsageRecord,
};

/// Sort key of rows before they are placed.
type SortKey = (Reverse<u64>, usize, Reverse<usize>);

/// Above this number of rows, the remaining orders are skipped once the packings are used up, because each takes
/// long. A guess.
const MANY_ROWS: usize = 1_000;

/// Number of packings without repetition: four orders, each with two rules for gaps.
const FIRST_PACKINGS: u64 = 8;

/// Returns the offsets of `rows`, and the height of all. Tries until the height is `peak`, a lower bound, or until
/// `packings` are used up. Returns `None` once the height cannot be less than `below`, or if the search is stopped
/// before it has a packing.
pub(super) fn pack(
    rows: &[UsageRecord],
    peak: u64,
    below: u64,
    mut packings: u64,
    control: &SearchControl<'_>,
) -> Option<(Vec<u64>, u64)> {
    let by = |key: &dyn Fn(&UsageRecord) -> SortKey| {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&i| (key(&rows[i]), i));
        order
    };
    let life = |r: &UsageRecord| r.last - r.first + 1;
    let orders = [
        by(&|r| (Reverse(r.size), r.first, Reverse(life(r)))),
        by(&|r| (Reverse(r.size), usize::MAX - life(r), Reverse(0))),
        by(&|r| (Reverse(r.size * life(r) as u64), r.first, Reverse(0))),
        by(&|r| (Reverse(0), r.first, Reverse(r.size as usize))),
    ];
    let mut best: Option<(Vec<u64>, u64)> = None;
    // If packings are left, the best orders are repeated, so each order has to be completed.
    let repeats = packings > FIRST_PACKINGS;
    let below = if repeats { u64::MAX } else { below };
    let mut ranked = Vec::new();
    let mut attempts = 0;
    for order in orders {
        for gap in [Gap::BestFit, Gap::FirstFit] {
            let enough = packings == 0 && rows.len() > MANY_ROWS && attempts > 0;
            if best.as_ref().is_some_and(|best| best.1 <= peak) || enough || control.should_stop() {
                return best;
            }
            attempts += 1;
            packings = packings.saturating_sub(1);
            let least = best.as_ref().map_or(below, |best| best.1);
            let limit = if repeats { u64::MAX } else { least };
            let Some((offsets, height)) = pack_in_order(rows, &order, gap, limit, control) else { continue };
            if repeats {
                ranked.push((height, ranked.len(), order.clone(), gap));
            }
            if height < least {
                best = Some((offsets, height));
            }
        }
    }
    ranked.sort_by_key(|&(height, index, ..)| (height, index));
    for (_, _, mut order, gap) in ranked.into_iter().take(2) {
        // Half of the packings for the best order, a quarter for the second; more orders were not tried.
        let repetitions = packings / 2;
        packings -= repetitions;
        for _ in 0..repetitions {
            let least = best.as_ref().map_or(below, |best| best.1);
            if least <= peak || control.should_stop() {
                return best;
            }
            let Some((offsets, height)) = pack_in_order(rows, &order, gap, u64::MAX, control) else { break };
            // Rows that reach the best height or more are placed first next time.
            let sticks_out = |&i: &usize| offsets[i] + rows[i].size >= least.min(height);
            let (mut first, rest): (Vec<usize>, Vec<usize>) = order.iter().partition(|i| sticks_out(i));
            first.extend(rest);
            order = first;
            if height < least {
                best = Some((offsets, height));
            }
        }
    }
    best
}

/// Number of rows placed between two checks of the control.
const ROWS_BETWEEN_CHECKS: usize = 64;

/// Places rows in order. Returns `None` once the height is `below` or more, or if the search is stopped.
fn pack_in_order(
    rows: &[UsageRecord],
    order: &[usize],
    gap: Gap,
    below: u64,
    control: &SearchControl<'_>,
) -> Option<(Vec<u64>, u64)> {
    control.report(Progress::new(STAGE, 0, 0));
    let mut arena = Arena::new(rows, 1);
    let mut offsets = vec![0; rows.len()];
    for (placed, &row) in order.iter().enumerate() {
        offsets[row] = arena.place(row, gap);
        if arena.top() >= below || placed % ROWS_BETWEEN_CHECKS == 0 && control.should_stop() {
            return None;
        }
    }
    Some((offsets, arena.top()))
}
