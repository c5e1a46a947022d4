//! Rows to texels in one texture: several orders, then the rows that stick out go first and it is packed again.

use std::cmp::Reverse;

use super::textures::PLACING;
use crate::plan::{
    control::{Progress, SearchControl},
    offsets::{Arena, Gap},
    record::UsageRecord,
};

/// What rows are ordered by before they are placed.
type Key = (Reverse<u64>, usize, Reverse<usize>);

/// Of more rows than these, not every order is tried when packings are spent.
const MANY: usize = 1_000;

/// Fills before what sticks out goes first: each order with each gap.
const FILLS: u64 = 8;

/// Offsets of `rows`, and the height they take; tries again until `goal` is met or `packings` are spent. Nothing if it
/// is seen on the way that the height will not be below `below`, or the search is stopped before there are any.
pub(super) fn pack(
    rows: &[UsageRecord],
    goal: u64,
    below: u64,
    mut packings: u64,
    control: &SearchControl<'_>,
) -> Option<(Vec<u64>, u64)> {
    let by = |key: &dyn Fn(&UsageRecord) -> Key| {
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
    // Where no packings are left for those that are ranked, a fill is given up once it cannot be the best.
    let ranks = packings > FILLS;
    let below = if ranks { u64::MAX } else { below };
    let mut ranked = Vec::new();
    let mut filled = 0;
    for order in orders {
        for gap in [Gap::BestFit, Gap::FirstFit] {
            let enough = packings == 0 && rows.len() > MANY && filled > 0;
            if best.as_ref().is_some_and(|best| best.1 <= goal) || enough || control.should_stop() {
                return best;
            }
            filled += 1;
            packings = packings.saturating_sub(1);
            let least = best.as_ref().map_or(below, |best| best.1);
            let Some((offsets, height)) = fill(rows, &order, gap, if ranks { u64::MAX } else { least }, control) else {
                continue;
            };
            if ranks {
                ranked.push((height, ranked.len(), order.clone(), gap));
            }
            if height < least {
                best = Some((offsets, height));
            }
        }
    }
    ranked.sort_by_key(|&(height, index, ..)| (height, index));
    for (_, _, mut order, gap) in ranked.into_iter().take(2) {
        let share = packings / 2;
        packings -= share;
        for _ in 0..share {
            let least = best.as_ref().map_or(below, |best| best.1);
            if least <= goal || control.should_stop() {
                return best;
            }
            let Some((offsets, height)) = fill(rows, &order, gap, u64::MAX, control) else { break };
            // What sticks out of the best height goes first next time.
            let out = |&i: &usize| offsets[i] + rows[i].size >= least.min(height);
            let (mut first, rest): (Vec<usize>, Vec<usize>) = order.iter().partition(|i| out(i));
            first.extend(rest);
            order = first;
            if height < least {
                best = Some((offsets, height));
            }
        }
    }
    best
}

/// Rows placed between two looks at whether the search goes on.
const STRIDE: usize = 64;

/// Places rows in order; nothing once the height is not below `below`, or the search is stopped.
fn fill(
    rows: &[UsageRecord],
    order: &[usize],
    gap: Gap,
    below: u64,
    control: &SearchControl<'_>,
) -> Option<(Vec<u64>, u64)> {
    control.report(Progress::new(PLACING, 0, 0));
    let mut arena = Arena::new(rows, 1);
    let mut offsets = vec![0; rows.len()];
    for (placed, &row) in order.iter().enumerate() {
        offsets[row] = arena.put(row, gap);
        if arena.top() >= below || placed % STRIDE == 0 && control.should_stop() {
            return None;
        }
    }
    Some((offsets, arena.top()))
}
