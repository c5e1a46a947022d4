//! Rows to texels in one texture: several orders, then the rows that stick out go first and it is packed again.

use std::cmp::Reverse;

use crate::plan::{
    UsageRecord,
    offsets::{Arena, Gap},
};

/// What rows are ordered by before they are placed.
type Key = (Reverse<u64>, usize, Reverse<usize>);

/// Of more rows than these, not every order is tried when packings are spent.
const MANY: usize = 1_000;

/// Offsets of `rows`, and the height they take; tries again until `goal` is met or `packings` are spent.
pub(super) fn pack(rows: &[UsageRecord], goal: u64, packings: &mut u64) -> (Vec<u64>, u64) {
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
    let mut best = (Vec::new(), u64::MAX);
    let mut ranked = Vec::new();
    for order in orders {
        for gap in [Gap::Smallest, Gap::Lowest] {
            let enough = *packings == 0 && rows.len() > MANY && best.1 < u64::MAX;
            if best.1 <= goal || enough {
                return best;
            }
            *packings = packings.saturating_sub(1);
            let (offsets, height) = fill(rows, &order, gap);
            ranked.push((height, ranked.len(), order.clone(), gap));
            if height < best.1 {
                best = (offsets, height);
            }
        }
    }
    ranked.sort_by_key(|&(height, index, ..)| (height, index));
    for (_, _, mut order, gap) in ranked.into_iter().take(2) {
        let share = *packings / 2;
        for _ in 0..share {
            if best.1 <= goal {
                return best;
            }
            *packings = packings.saturating_sub(1);
            let (offsets, height) = fill(rows, &order, gap);
            if height < best.1 {
                best = (offsets.clone(), height);
            }
            // What sticks out of the best height goes first next time.
            let out = |&i: &usize| offsets[i] + rows[i].size >= best.1.min(height);
            let (mut first, rest): (Vec<usize>, Vec<usize>) = order.iter().partition(|i| out(i));
            first.extend(rest);
            order = first;
        }
    }
    best
}

fn fill(rows: &[UsageRecord], order: &[usize], gap: Gap) -> (Vec<u64>, u64) {
    let mut arena = Arena::new(rows, 1);
    let mut offsets = vec![0; rows.len()];
    for &row in order {
        offsets[row] = arena.put(row, gap);
    }
    (offsets, arena.top())
}
