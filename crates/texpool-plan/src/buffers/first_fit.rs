//! Places buffers one after another, each at the lowest free offset.

use super::{
    buffer::Buffer,
    conflicts::{Conflicts, Forbidden},
};
use crate::control::SearchControl;

/// An arena that is being filled.
pub(super) struct FirstFit<'a> {
    buffers: &'a [Buffer],
    conflicts: &'a Conflicts,
    pub(super) offsets: Vec<Option<u64>>,
    /// Occupied intervals of offsets; reused to avoid allocations.
    occupied: Vec<(i64, i64)>,
}

impl<'a> FirstFit<'a> {
    /// Creates an arena that contains the buffers with fixed offsets, and those of size 0, which do not restrict
    /// others.
    pub(super) fn new(buffers: &'a [Buffer], conflicts: &'a Conflicts) -> Self {
        let fixed = |b: &Buffer| b.offset.or_else(|| (b.size == 0).then_some(0));
        Self { buffers, conflicts, offsets: buffers.iter().map(fixed).collect(), occupied: Vec::new() }
    }

    /// Returns the lowest offset of `buffer` that is free beside the placed buffers.
    pub(super) fn lowest(&mut self, buffer: usize) -> u64 {
        self.occupied.clear();
        for &Forbidden { other, low, high } in &self.conflicts.lists[buffer] {
            if let Some(offset) = self.offsets[other] {
                // Placed buffers end below 2^63, see `ArenaPlanner`.
                let offset = offset as i64;
                self.occupied.push((offset.saturating_add(low), offset.saturating_add(high)));
            }
        }
        self.occupied.sort_unstable();
        let mut lowest = 0i64;
        for &(low, high) in &self.occupied {
            if low >= lowest {
                break;
            }
            if high > lowest {
                lowest = (high as u64).next_multiple_of(self.buffers[buffer].align) as i64;
            }
        }
        lowest as u64
    }

    /// Returns one past the last unit in use.
    pub(super) fn top(&self) -> u64 {
        let ends = self.buffers.iter().zip(&self.offsets).filter_map(|(b, offset)| offset.map(|o| o + b.size));
        ends.max().unwrap_or(0)
    }

    /// Places the buffers without fixed offsets in the given order, and returns all offsets. Buffers that remain
    /// after `control` has stopped the search are stacked on top of everything.
    pub(super) fn place_all(mut self, order: &[usize], control: &SearchControl<'_>) -> Vec<u64> {
        let mut top_when_stopped = None;
        for &buffer in order {
            if self.offsets[buffer].is_some() {
                continue;
            }
            if top_when_stopped.is_none() && control.should_stop() {
                top_when_stopped = Some(self.top());
            }
            let offset = match &mut top_when_stopped {
                Some(top) => {
                    let Buffer { size, align, .. } = self.buffers[buffer];
                    let offset = top.next_multiple_of(align);
                    *top = offset + size;
                    offset
                }
                None => self.lowest(buffer),
            };
            self.offsets[buffer] = Some(offset);
        }
        self.offsets.into_iter().map(Option::unwrap_or_default).collect()
    }
}
