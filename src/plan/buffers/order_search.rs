//! A search for a good order in which to place buffers.

use std::cmp::Reverse;

use super::{buffer::Buffer, conflicts::Conflicts, first_fit::FirstFit, found::Found};
use crate::plan::{
    control::{Progress, SearchControl},
    random::Random,
};

/// The best layout of a few orders, and of those that come of moving one buffer at a time to the front, until `effort`
/// placements are made, the total is within `enough`, or `control` stops it.
pub(super) fn search_orders(
    buffers: &[Buffer],
    conflicts: &Conflicts,
    bound: u64,
    enough: u64,
    effort: u64,
    control: &SearchControl<'_>,
) -> Found {
    let place = |order: &[usize]| {
        let offsets = FirstFit::new(buffers, conflicts).place_all(order, control);
        Found::new(buffers, offsets, bound)
    };
    let mut orders = orders(buffers).into_iter();
    let mut order = orders.next().unwrap_or_default();
    let mut best = place(&order);
    let each = buffers.len().max(1) as u64;
    let mut used = each;
    for other in orders {
        if best.total <= enough || control.should_stop() {
            return best;
        }
        let found = place(&other);
        used += each;
        if found.total < best.total {
            (best, order) = (found, other);
        }
    }
    let mut random = Random::new();
    while used < effort && best.total > enough && !buffers.is_empty() {
        control.report(Progress { best: Some(best.total), ..Progress::new("buffer orders", used, effort) });
        if control.should_stop() {
            break;
        }
        let mut tried = order.clone();
        // One of those that reach highest is placed earlier, or every other time any one is.
        let ends_on_top = |&at: &usize| best.offsets[tried[at]] + buffers[tried[at]].size == best.total;
        let on_top: Vec<usize> = (0..tried.len()).filter(ends_on_top).collect();
        let from = match random.below(2) {
            0 => on_top.get(random.below(on_top.len().max(1))).copied().unwrap_or(0),
            _ => random.below(tried.len()),
        };
        let to = random.below(from + 1);
        tried[to..=from].rotate_right(1);
        let found = place(&tried);
        used += each;
        // A stopped layout is no smaller than the best, for what is stacked on top shares nothing.
        if found.total <= best.total {
            (best, order) = (found, tried);
        }
    }
    best
}

/// The orders of the greedy strategies: by size, by size times life, by life, and by birth.
fn orders(buffers: &[Buffer]) -> [Vec<usize>; 4] {
    let life = |i: usize| buffers[i].live.len() as u128;
    let size = |i: usize| u128::from(buffers[i].size);
    let sorted = |key: &dyn Fn(usize) -> u128| {
        let mut order: Vec<usize> = (0..buffers.len()).collect();
        order.sort_by_key(|&i| (Reverse(key(i)), i));
        order
    };
    [
        sorted(&size),
        sorted(&|i| size(i) * life(i)),
        sorted(&life),
        sorted(&|i| (usize::MAX - buffers[i].live.start) as u128),
    ]
}
