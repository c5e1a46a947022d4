//! Searches for a good order in which to place buffers.

use std::cmp::Reverse;

use super::{buffer::Buffer, conflicts::Conflicts, first_fit::FirstFit, offset_plan::OffsetPlan};
use crate::{
    control::{Progress, SearchControl},
    offsets::SqueakyWheel,
    random::Random,
};

/// A search that can be continued after it has ended.
pub(super) struct OrderSearch<'a> {
    buffers: &'a [Buffer],
    conflicts: &'a Conflicts,
    /// Proven lower bound on the size of any plan.
    bound: u64,
    /// A total at which the search may end.
    enough: u64,
    best: OffsetPlan,
    /// Order of the best plan.
    order: Vec<usize>,
    wheel: SqueakyWheel,
    random: Random,
    /// Number of placements made.
    used: u64,
}

impl<'a> OrderSearch<'a> {
    /// Creates the search and tries a few greedy orders. It stops at the first plan that is small enough, or when
    /// `control` stops it.
    pub(super) fn new(
        buffers: &'a [Buffer],
        conflicts: &'a Conflicts,
        bound: u64,
        enough: u64,
        control: &SearchControl<'_>,
    ) -> Self {
        let mut orders = orders(buffers).into_iter();
        let order = orders.next().unwrap_or_default();
        // If there are few conflicts, a search without time still places the first order completely.
        let unstopped = SearchControl::new();
        let first = if conflicts.few { &unstopped } else { control };
        let offsets = FirstFit::new(buffers, conflicts).place_all(&order, first);
        let best = OffsetPlan::new(buffers, offsets, bound);
        let used = buffers.len().max(1) as u64;
        let wheel = SqueakyWheel::new(order.clone());
        let mut search = Self { buffers, conflicts, bound, enough, best, order, wheel, random: Random::new(), used };
        for order in orders {
            if search.is_over(control) {
                break;
            }
            let plan = search.place(&order, control);
            if plan.total < search.best.total {
                (search.best, search.order) = (plan, order);
            }
        }
        search.wheel = SqueakyWheel::new(search.order.clone());
        search
    }

    /// Returns the current best plan.
    pub(super) fn best(&self) -> &OffsetPlan {
        &self.best
    }

    /// Tries the orders of the [`SqueakyWheel`], and in turns with them the best order with one buffer moved to an
    /// earlier position. Ends once `effort` placements are made (including earlier ones), the total is small enough, or
    /// `control` stops it.
    pub(super) fn improve(&mut self, effort: u64, control: &SearchControl<'_>) {
        let mut wheel_turns = true;
        while self.used < effort && !self.buffers.is_empty() {
            let best = Some(self.best.total);
            control.report(Progress { best, ..Progress::new("buffer orders", self.used, effort) });
            if self.is_over(control) {
                return;
            }
            let order = if wheel_turns { self.wheel.order().to_vec() } else { self.moved() };
            let plan = self.place(&order, control);
            if wheel_turns {
                let excess = |at: usize| (plan.offsets[at] + self.buffers[at].size).saturating_sub(self.bound);
                self.wheel.learn(excess, None);
            }
            wheel_turns = !wheel_turns;
            // A stopped plan cannot beat the best one, because the buffers stacked on top share no memory.
            if plan.total <= self.best.total {
                (self.best, self.order) = (plan, order);
            }
        }
    }

    /// Returns the best order with one buffer moved: one of those that end at the top, or every other time any buffer.
    fn moved(&mut self) -> Vec<usize> {
        let mut order = self.order.clone();
        let ends_on_top = |&at: &usize| self.best.offsets[order[at]] + self.buffers[order[at]].size == self.best.total;
        let on_top: Vec<usize> = (0..order.len()).filter(ends_on_top).collect();
        let from = match self.random.below(2) {
            0 => on_top.get(self.random.below(on_top.len().max(1))).copied().unwrap_or(0),
            _ => self.random.below(order.len()),
        };
        let to = self.random.below(from + 1);
        order[to..=from].rotate_right(1);
        order
    }

    fn is_over(&self, control: &SearchControl<'_>) -> bool {
        self.best.total <= self.enough || control.should_stop()
    }

    fn place(&mut self, order: &[usize], control: &SearchControl<'_>) -> OffsetPlan {
        self.used += order.len().max(1) as u64;
        let offsets = FirstFit::new(self.buffers, self.conflicts).place_all(order, control);
        OffsetPlan::new(self.buffers, offsets, self.bound)
    }
}

/// Returns the orders of the greedy strategies: by size, by size times length of the live range, by length of the
/// live range, and by birth. If any buffer has a hint, the order of the hints comes first.
fn orders(buffers: &[Buffer]) -> Vec<Vec<usize>> {
    let life = |i: usize| buffers[i].live.len() as u128;
    let size = |i: usize| u128::from(buffers[i].size);
    let sorted = |key: &dyn Fn(usize) -> u128| {
        let mut order: Vec<usize> = (0..buffers.len()).collect();
        order.sort_by_key(|&i| (Reverse(key(i)), i));
        order
    };
    let mut orders = vec![
        sorted(&size),
        sorted(&|i| size(i) * life(i)),
        sorted(&life),
        sorted(&|i| (usize::MAX - buffers[i].live.start) as u128),
    ];
    if buffers.iter().any(|b| b.hint.is_some()) {
        let mut by_hint = orders[0].clone();
        by_hint.sort_by_key(|&i| buffers[i].hint.unwrap_or(u64::MAX));
        orders.insert(0, by_hint);
    }
    orders
}
