//! A free list: the gaps of an arena in which tensors are allocated in order of birth and freed as they die.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::arena::Gap;

/// The gaps below the highest live tensor, indexed by start and by size.
pub(super) struct FreeList {
    strategy: Gap,
    /// One past the highest live tensor.
    top: u64,
    /// Maps the start of a gap to its size. Neighbouring gaps are merged, and no gap touches the top.
    by_start: BTreeMap<u64, u64>,
    /// Pairs of size class and start.
    by_class: BTreeSet<(u64, u64)>,
}

impl FreeList {
    /// Creates the free list of an empty arena.
    pub(super) fn new(strategy: Gap) -> Self {
        Self { strategy, top: 0, by_start: BTreeMap::new(), by_class: BTreeSet::new() }
    }

    /// Returns the size class of a gap. For best fit it is the size itself, so that the first gap that is large
    /// enough is the smallest. For first fit it is the number of bits of the size, so that the lowest gap has to be
    /// searched in few classes only.
    fn class(&self, size: u64) -> u64 {
        match self.strategy {
            Gap::BestFit => size,
            Gap::FirstFit => u64::from(u64::BITS - size.leading_zeros()),
        }
    }

    fn insert(&mut self, start: u64, size: u64) {
        if size > 0 {
            self.by_start.insert(start, size);
            self.by_class.insert((self.class(size), start));
        }
    }

    fn remove(&mut self, start: u64, size: u64) {
        self.by_start.remove(&start);
        self.by_class.remove(&(self.class(size), start));
    }

    /// Returns the start and size of the gap for a tensor of `size`, if one is large enough.
    fn find(&self, size: u64) -> Option<(u64, u64)> {
        let with_size = |start: u64| self.by_start.get(&start).map(|&gap_size| (start, gap_size));
        let class = self.class(size);
        match self.strategy {
            Gap::BestFit => self.by_class.range((class, 0)..).next().and_then(|&(_, start)| with_size(start)),
            Gap::FirstFit => {
                // Gaps of the same class may be too small; gaps of higher classes never are.
                let same = self.by_class.range((class, 0)..(class + 1, 0));
                let same = same.filter_map(|&(_, start)| with_size(start)).find(|&(_, gap_size)| gap_size >= size);
                let lowest = |class: u64| self.by_class.range((class, 0)..(class + 1, 0)).next();
                let higher = (class + 1..=u64::from(u64::BITS)).filter_map(lowest).map(|&(_, start)| start).min();
                same.into_iter().chain(higher.and_then(with_size)).min()
            }
        }
    }

    /// Allocates `size` units and returns their start.
    pub(super) fn allocate(&mut self, size: u64) -> u64 {
        match self.find(size) {
            Some((start, gap_size)) => {
                self.remove(start, gap_size);
                self.insert(start + size, gap_size - size);
                start
            }
            None => {
                self.top += size;
                self.top - size
            }
        }
    }

    /// Frees units, and merges them with adjacent gaps.
    pub(super) fn free(&mut self, mut start: u64, mut size: u64) {
        if let Some((&before, &gap_size)) = self.by_start.range(..start).next_back()
            && before + gap_size == start
        {
            self.remove(before, gap_size);
            (start, size) = (before, gap_size + size);
        }
        let after = (Bound::Excluded(start), Bound::Unbounded);
        if let Some((&next, &gap_size)) = self.by_start.range(after).next()
            && start + size == next
        {
            self.remove(next, gap_size);
            size += gap_size;
        }
        if start + size == self.top {
            self.top = start;
        } else {
            self.insert(start, size);
        }
    }
}
