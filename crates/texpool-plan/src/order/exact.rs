//! The exact search: the path to all operations whose largest sum of live tensors is smallest, over sets of operations
//! that have run.
//!
//! SERENITY (Ahn et al. 2020) finds it by dynamic programming over these sets, under a budget that it adapts until the
//! search succeeds. Here the sets are visited in the order of the peak that reaches them, as Dijkstra's algorithm does. So
//! no budget has to be guessed, and a search that ends early has proven a bound: every order passes through a set that is
//! still open, and the peaks of those are known.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    free_moves::{Paths, ROOT, run_free},
    region::{Region, State},
    states::{PeakOrder, States},
};
use crate::control::{Progress, SearchControl};

/// Result of the exact search of a region.
pub(super) struct Exact {
    /// A better order than the one that the search began with, if it reached one.
    pub(super) better: Option<PeakOrder>,
    /// No order has a smaller peak.
    pub(super) bound: u64,
    /// Number of sets from which the search went on.
    pub(super) expanded: u64,
}

/// Upper limit on the words of the sets in memory: 256 MiB.
const MAX_WORDS: usize = 1 << 25;

/// Searches for an order with a peak below `best`. No order has a peak below `floor`. Expands at most `effort` sets.
pub(super) fn search(region: &Region, floor: u64, best: u64, effort: u64, control: &SearchControl<'_>) -> Exact {
    let mut search = Search {
        region,
        best,
        better: None,
        level: floor,
        states: States::new(region.words),
        paths: Paths::default(),
        now: Vec::new(),
        later: BinaryHeap::new(),
    };
    let mut state = region.start();
    state.peak = state.peak.max(floor);
    search.reach(state, ROOT);
    let mut expanded = 0;
    while search.best > search.level {
        let Some(number) = search.next() else { break };
        let full = search.states.len().saturating_mul(2 * region.words) > MAX_WORDS || search.paths.is_full();
        if expanded >= effort || full || control.should_stop() {
            let (better, bound) = (search.better, search.level);
            return Exact { better, bound, expanded };
        }
        expanded += 1;
        if expanded % 1024 == 1 {
            let best = Some(search.best);
            control.report(Progress { best, ..Progress::new("operator order", expanded, effort) });
        }
        search.expand(number);
    }
    Exact { better: search.better, bound: search.best, expanded }
}

struct Search<'a> {
    region: &'a Region,
    /// Peak of the best order.
    best: u64,
    better: Option<PeakOrder>,
    /// No order has a smaller peak: all states that are reached with less have been expanded.
    level: u64,
    states: States,
    paths: Paths,
    /// States reached with at most the level; the last is expanded next.
    now: Vec<u32>,
    /// States reached with more.
    later: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

impl Search<'_> {
    /// Returns the next state to expand, and raises the level if there is none below it. Returns `None` if no open
    /// state can lead to a better order; then the best order has the smallest peak of all.
    fn next(&mut self) -> Option<u32> {
        if let Some(number) = self.now.pop() {
            return Some(number);
        }
        loop {
            let Reverse((peak, _, number)) = self.later.pop()?;
            // A state that was reached again with a smaller peak has been expanded since.
            if peak == self.states.peak(number) {
                self.level = self.level.max(peak);
                return (peak < self.best).then_some(number);
            }
        }
    }

    /// Reaches the successors of a state.
    fn expand(&mut self, number: u32) {
        let (mut state, path) = self.states.get(number);
        // Every order has at least the level as its peak, so nothing is lost by allowing it.
        state.peak = state.peak.max(self.level);
        let first = self.now.len();
        for operation in self.region.ready(&state) {
            let effect = self.region.effect(self.region.done(&state), operation);
            if state.live + effect.taken < self.best {
                let mut after = state.clone();
                drop(self.region.run(&mut after, operation, effect));
                let path = self.paths.push(path, operation);
                self.reach(after, path);
            }
        }
        // The one with the fewest live bytes comes first.
        let states = &self.states;
        self.now[first..].sort_by_key(|&number| Reverse((states.live(number), number)));
    }

    /// Runs what is free in a state, and keeps the result if it is new or reached with a smaller peak than before.
    fn reach(&mut self, mut state: State, path: u32) {
        let path = run_free(self.region, &mut state, &mut self.paths, path);
        if self.region.is_complete(&state) {
            if state.peak < self.best {
                self.best = state.peak;
                self.better = Some(PeakOrder::of(&self.paths, path, state.peak));
            }
        } else if let Some(number) = self.states.improve(&state, path) {
            match state.peak <= self.level {
                true => self.now.push(number),
                false => self.later.push(Reverse((state.peak, state.live, number))),
            }
        }
    }
}
