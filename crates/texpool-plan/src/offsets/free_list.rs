//! A free list: the gaps of an arena to which tensors are added in order of birth and from which they go as they die.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::arena::Gap;

/// The gaps below the highest tensor that is alive, found by start and by size.
pub(super) struct FreeList {
    strategy: Gap,
    /// One past the highest tensor that is alive.
    top: u64,
    /// Start to size. Neighbouring gaps are merged, and none touches the top.
    by_start: BTreeMap<u64, u64>,
    /// Size class and start.
    by_class: BTreeSet<(u64, u64)>,
}

impl FreeList {
    /// The free list of an empty arena.
    pub(super) fn new(strategy: Gap) -> Self {
        Self { strategy, top: 0, by_start: BTreeMap::new(), by_class: BTreeSet::new() }
    }

    /// The size class of a gap: for best fit the size itself, so that the first large enough is the smallest; for first
    /// fit its number of bits, so that there are few classes in which the lowest gap has to be looked for.
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

    /// The gap that a tensor of `size` takes, if one is large enough: start and size.
    fn find(&self, size: u64) -> Option<(u64, u64)> {
        let with_size = |start: u64| self.by_start.get(&start).map(|&gap_size| (start, gap_size));
        let class = self.class(size);
        match self.strategy {
            Gap::BestFit => self.by_class.range((class, 0)..).next().and_then(|&(_, start)| with_size(start)),
            Gap::FirstFit => {
                // Gaps of the same class may be too small; those of higher classes never are.
                let same = self.by_class.range((class, 0)..(class + 1, 0));
                let same = same.filter_map(|&(_, start)| with_size(start)).find(|&(_, gap_size)| gap_size >= size);
                let lowest = |class: u64| self.by_class.range((class, 0)..(class + 1, 0)).next();
                let higher = (class + 1..=u64::from(u64::BITS)).filter_map(lowest).map(|&(_, start)| start).min();
                same.into_iter().chain(higher.and_then(with_size)).min()
            }
        }
    }

    /// Takes `size` units and answers where they start.
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

    /// Gives units back and merges them with the gaps beside them.
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
