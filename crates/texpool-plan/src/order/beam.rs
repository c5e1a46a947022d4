//! Beam search: after each number of operations, the states with the smallest peaks go on. Finds orders for regions of
//! any size, without a proof.

use super::{
    free_moves::{Paths, ROOT, run_free},
    region::{Region, State},
    states::PeakOrder,
};
use crate::control::SearchControl;

/// Searches for an order with a peak below `best`, with `width` states for each number of operations. A peak of `floor`
/// is as good as any smaller one. Also returns the number of states from which the search went on.
pub(super) fn search(
    region: &Region,
    floor: u64,
    best: u64,
    width: usize,
    control: &SearchControl<'_>,
) -> (Option<PeakOrder>, u64) {
    let mut paths = Paths::default();
    let mut levels: Vec<Vec<Entry>> = (0..=region.length).map(|_| Vec::new()).collect();
    let mut start = region.start();
    start.peak = start.peak.max(floor);
    keep(region, &mut levels, &mut paths, start, ROOT, best);
    let mut expanded = 0;
    for count in 0..region.length {
        let entries = best_of(std::mem::take(&mut levels[count]), width);
        for Entry { state, path } in entries {
            if control.should_stop() || paths.is_full() {
                return (None, expanded);
            }
            expanded += 1;
            for operation in region.ready(&state) {
                let effect = region.effect(region.done(&state), operation);
                if state.live + effect.taken < best {
                    let mut after = state.clone();
                    drop(region.run(&mut after, operation, effect));
                    let path = paths.push(path, operation);
                    keep(region, &mut levels, &mut paths, after, path, best);
                }
            }
        }
        // A level that states skip ahead to is cut back now and then, so that memory stays in proportion to the width.
        for level in levels[count + 1..].iter_mut().filter(|level| level.len() > 8 * width) {
            *level = best_of(std::mem::take(level), width);
        }
    }
    let complete = best_of(levels.pop().unwrap_or_default(), 1).pop();
    (complete.map(|Entry { state, path }| PeakOrder::of(&paths, path, state.peak)), expanded)
}

/// A state and the path to it.
struct Entry {
    state: State,
    path: u32,
}

/// Runs what is free in a state, and adds the result to the states with the same number of operations.
fn keep(region: &Region, levels: &mut [Vec<Entry>], paths: &mut Paths, mut state: State, path: u32, best: u64) {
    let path = run_free(region, &mut state, paths, path);
    if state.peak < best {
        levels[region.count_done(&state)].push(Entry { state, path });
    }
}

/// Returns the `width` states with the smallest peaks, and among those with the fewest live bytes; each set once.
fn best_of(mut entries: Vec<Entry>, width: usize) -> Vec<Entry> {
    entries.sort_by(|a, b| {
        let rank = |entry: &Entry| (entry.state.peak, entry.state.live);
        rank(a).cmp(&rank(b)).then_with(|| a.state.bits.cmp(&b.state.bits)).then(a.path.cmp(&b.path))
    });
    entries.dedup_by(|a, b| a.state.bits == b.state.bits);
    entries.truncate(width);
    entries
}
