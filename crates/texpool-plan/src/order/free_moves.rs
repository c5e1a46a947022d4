//! Operations that can run at once without loss, so that the searches need not branch over them.
//!
//! Running an operation later never frees less and never takes more than running it now, because more of the other
//! users of its tensors have run by then. So if running it now frees at least as much as it takes, and the bytes alive
//! during it do not exceed the peak that the order has anyway, then any order can be changed to run it now, and no
//! later step has more bytes alive. The same holds for a chain of operations, each of which depends on the one before
//! it, that frees at least as much as it takes by its end but not earlier.

use super::region::{Region, State};

/// The order in which operations have run, as a tree: each entry is an operation and the entry before it.
#[derive(Default)]
pub(super) struct Paths(Vec<(u32, u32)>);

/// The empty path.
pub(super) const ROOT: u32 = u32::MAX;

impl Paths {
    /// Adds an operation to a path, and returns the longer path.
    pub(super) fn push(&mut self, path: u32, operation: usize) -> u32 {
        self.0.push((path, operation as u32));
        self.0.len() as u32 - 1
    }

    /// Returns the operations of a path, first to last.
    pub(super) fn order(&self, mut path: u32) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(&(before, operation)) = self.0.get(path as usize) {
            order.push(operation as usize);
            path = before;
        }
        order.reverse();
        order
    }

    /// Returns whether there are so many paths that a search ends before their numbers run out.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() as u64 >= u64::from(u32::MAX) / 2
    }
}

/// Runs all operations and chains that lose nothing, if the peak is `state.peak` or more anyway. Returns the path with
/// them.
pub(super) fn run_free(region: &Region, state: &mut State, paths: &mut Paths, mut path: u32) -> u32 {
    let mut chain = Vec::new();
    loop {
        let ready: Vec<usize> = region.ready(state).collect();
        let longer = ready.into_iter().find_map(|first| frees(region, state, first, &mut chain));
        let Some(after) = longer else { return path };
        *state = after;
        path = chain.iter().fold(path, |path, &operation| paths.push(path, operation));
    }
}

/// Returns the state after the shortest chain that begins with `first` and loses nothing; `chain` receives it.
fn frees(region: &Region, state: &State, first: usize, chain: &mut Vec<usize>) -> Option<State> {
    chain.clear();
    let (mut next, mut after) = (first, None::<State>);
    loop {
        let now = after.as_ref().unwrap_or(state);
        let effect = region.effect(region.done(now), next);
        if now.live + effect.taken > state.peak {
            return None;
        }
        let mut now = after.take().unwrap_or_else(|| state.clone());
        let released = region.run(&mut now, next, effect);
        chain.push(next);
        if now.live <= state.live {
            return Some(now);
        }
        // The chain goes on with the operation that leaves the least alive.
        let growth = |operation: usize| {
            let effect = region.effect(region.done(&now), operation);
            i128::from(effect.taken) - i128::from(effect.freed)
        };
        next = released.into_iter().min_by_key(|&operation| (growth(operation), operation))?;
        after = Some(now);
    }
}
