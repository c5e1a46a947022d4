//! The smallest arena of few buffers, by branch and bound.
//!
//! In the plan whose offsets have the smallest sum, every buffer lies at the lowest offset that the others leave it.
//! Where no gap has a window and nothing is computed in place, what keeps it from lying lower begins lower. So in the
//! order of offsets each lies at the lowest offset beside those before it and those whose places are given, and it is
//! enough to try every order in which offsets do not fall.

use super::{
    buffer::Buffer,
    conflicts::Conflicts,
    first_fit::FirstFit,
    found::Found,
    pieces::{Piece, pieces},
};
use crate::plan::control::{Progress, SearchControl};

/// Buffers above which there is no search: it goes as deep as there are buffers, and seldom ends for so many.
const MAX_BUFFERS: usize = 128;

/// Whether the search is complete for these buffers, which nothing is said of but what is in them.
pub(super) fn is_complete_for(buffers: &[Buffer]) -> bool {
    buffers.len() <= MAX_BUFFERS && buffers.iter().all(|b| b.gaps.iter().all(|gap| gap.window.is_none()))
}

/// Looks for a plan that is smaller than `best`, and within `capacity` if there is one, until `effort` placements are
/// tried, or `control` stops it. The first within the capacity is enough; else the bound rises if there is none.
pub(super) fn improve(
    best: Found,
    buffers: &[Buffer],
    conflicts: &Conflicts,
    capacity: Option<u64>,
    effort: u64,
    control: &SearchControl<'_>,
) -> Found {
    let pieces: Vec<Vec<Piece>> = buffers.iter().map(pieces).collect();
    let mut births: Vec<usize> = pieces.iter().flatten().map(|piece| piece.steps.start).collect();
    births.sort_unstable();
    births.dedup();
    let sections = births
        .iter()
        .map(|step| (0..buffers.len()).filter(|&i| pieces[i].iter().any(|piece| piece.steps.contains(step))).collect())
        .collect();
    let limit = capacity.map_or(best.total, |capacity| best.total.min(capacity.saturating_add(1)));
    let mut search =
        Search { sections, best, buffers, any: capacity.is_some(), limit, effort, used: 0, control, ended: false };
    search.branch(&mut FirstFit::new(buffers, conflicts), (0, 0));
    let Search { best, limit, ended, .. } = search;
    if ended {
        return Found { stopped: control.stopped(), ..best };
    }
    Found { bound: limit, ..best }
}

struct Search<'a, 'c> {
    buffers: &'a [Buffer],
    /// For each step at which a buffer begins to take bytes, those that take some then.
    sections: Vec<Vec<usize>>,
    best: Found,
    /// Whether the first plan below the limit is enough.
    any: bool,
    /// Plans below this are looked for.
    limit: u64,
    effort: u64,
    used: u64,
    control: &'a SearchControl<'c>,
    /// Whether the search ended before it had tried everything.
    ended: bool,
}

impl Search<'_, '_> {
    /// Tries every buffer that can come next, where `last` is the offset of the one before, and its index plus one.
    fn branch(&mut self, arena: &mut FirstFit<'_>, last: (u64, usize)) {
        let unplaced: Vec<usize> = (0..self.buffers.len()).filter(|&i| arena.offsets[i].is_none()).collect();
        if unplaced.is_empty() {
            let total = arena.top();
            if total < self.limit {
                let offsets = arena.offsets.iter().map(|offset| offset.unwrap_or_default()).collect();
                self.best = Found { offsets, total, ..self.best };
                self.limit = total;
                self.ended = self.any || total <= self.best.bound;
            }
            return;
        }
        self.used += unplaced.len() as u64;
        self.control
            .report(Progress { best: Some(self.best.total), ..Progress::new("buffers", self.used, self.effort) });
        if self.used > self.effort || self.control.should_stop() {
            self.ended = true;
            return;
        }
        let mut choices: Vec<(u64, usize)> = unplaced.into_iter().map(|i| (arena.lowest(i), i)).collect();
        choices.sort_unstable();
        let end = |&(offset, i): &(u64, usize)| offset + self.buffers[i].size;
        // Nothing that comes later lies lower than what ends lowest could.
        let lowest_end = choices.iter().map(end).min().unwrap_or(0);
        if choices.iter().any(|choice| end(choice) >= self.limit) || !self.fits(arena, last.0) {
            return;
        }
        for (offset, i) in choices {
            if (offset, i + 1) <= last || offset >= lowest_end {
                continue;
            }
            arena.offsets[i] = Some(offset);
            self.branch(arena, (offset, i + 1));
            arena.offsets[i] = None;
            if self.ended {
                return;
            }
        }
    }

    /// Whether in each section what is not placed, and lies at `floor` or above, leaves a plan below the limit.
    fn fits(&self, arena: &FirstFit<'_>, floor: u64) -> bool {
        self.sections.iter().all(|section| {
            let above = |&i: &usize| {
                let size = self.buffers[i].size;
                // Of what is placed, that which reaches above the floor.
                arena.offsets[i].map_or(size, |offset| (offset + size).saturating_sub(floor.max(offset)))
            };
            floor + section.iter().map(above).sum::<u64>() < self.limit
        })
    }
}
