//! The gaps of an arena whose tensors come in order of birth and go as they die: a free list.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::arena::Gap;

/// Gaps below the highest tensor alive, found by place and by size.
pub(super) struct Gaps {
    which: Gap,
    /// One past the highest tensor alive.
    top: u64,
    /// Start to size; no two touch, and none touches the top.
    by_start: BTreeMap<u64, u64>,
    /// The class of the size, and the start.
    by_class: BTreeSet<(u64, u64)>,
}

impl Gaps {
    /// No tensor is alive.
    pub(super) fn new(which: Gap) -> Self {
        Self { which, top: 0, by_start: BTreeMap::new(), by_class: BTreeSet::new() }
    }

    /// What gaps are looked up by: their size where the smallest is wanted, else the power of two that it reaches.
    fn class(&self, size: u64) -> u64 {
        match self.which {
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

    /// The gap for a tensor of a size, if there is any: start and size.
    fn find(&self, size: u64) -> Option<(u64, u64)> {
        let sized = |start: u64| self.by_start.get(&start).map(|&found| (start, found));
        let class = self.class(size);
        match self.which {
            Gap::BestFit => self.by_class.range((class, 0)..).next().and_then(|&(_, start)| sized(start)),
            Gap::FirstFit => {
                // In its own class a gap may be too small; in higher ones the first will do.
                let own = self.by_class.range((class, 0)..(class + 1, 0));
                let own = own.filter_map(|&(_, start)| sized(start)).find(|&(_, found)| found >= size);
                let first = |class: u64| self.by_class.range((class, 0)..(class + 1, 0)).next();
                let higher = (class + 1..=u64::from(u64::BITS)).filter_map(first).map(|&(_, start)| start).min();
                own.into_iter().chain(higher.and_then(sized)).min()
            }
        }
    }

    /// Takes room for a tensor with a size and answers where it lies.
    pub(super) fn take(&mut self, size: u64) -> u64 {
        match self.find(size) {
            Some((start, found)) => {
                self.remove(start, found);
                self.insert(start + size, found - size);
                start
            }
            None => {
                self.top += size;
                self.top - size
            }
        }
    }

    /// Gives the room of a tensor with a size back.
    pub(super) fn give(&mut self, mut start: u64, mut size: u64) {
        if let Some((&before, &found)) = self.by_start.range(..start).next_back()
            && before + found == start
        {
            self.remove(before, found);
            (start, size) = (before, found + size);
        }
        let after = (Bound::Excluded(start), Bound::Unbounded);
        if let Some((&next, &found)) = self.by_start.range(after).next()
            && start + size == next
        {
            self.remove(next, found);
            size += found;
        }
        if start + size == self.top {
            self.top = start;
        } else {
            self.insert(start, size);
        }
    }
}
