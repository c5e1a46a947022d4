//! Bounds on the offset of each item, and their propagation to other items.

use std::collections::VecDeque;

use super::instance::{Instance, Item, Need, Section, Separation};

/// Relative position of two items: the offset of `a` minus that of `b` is at least `high`, or at most `low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Above => Self::Below,
            Self::Below => Self::Above,
        }
    }
}

/// Upper limit on the logged changes: 96 MiB of them. A search that needs more gives up. A guess.
const MAX_CHANGES: usize = 1 << 22;

/// One change, with the previous value.
enum Change {
    Lowest(usize, i64),
    Highest(usize, i64),
    Decided(usize),
}

/// Bounds of offsets, with a log of changes to undo them.
pub(super) struct Domains<'a> {
    instance: &'a Instance,
    pub(super) lowest: Vec<i64>,
    pub(super) highest: Vec<i64>,
    /// For each [`Apart`], the side that the search has decided on.
    pub(super) decided: Vec<Option<Side>>,
    changes: Vec<Change>,
    /// Items whose bounds have changed and were not propagated yet.
    queue: VecDeque<usize>,
    queued: Vec<bool>,
    /// Marks the sections of such items.
    stale: Vec<bool>,
    /// Reused to avoid allocations.
    spans: Vec<Span>,
    /// Total number of items processed in all propagations.
    pub(super) work: u64,
}

/// Bytes that an item needs in a section: `from` is the lowest possible start, `to` the highest possible end.
#[derive(Clone, Copy)]
struct Span {
    from: i64,
    to: i64,
    need: Need,
}

impl<'a> Domains<'a> {
    /// Creates the bounds within a capacity; `None` if an item does not fit into it.
    pub(super) fn new(instance: &'a Instance, capacity: i64) -> Option<Self> {
        let items = &instance.items;
        let highest = |item: &Item| {
            let below_end = capacity - item.size;
            match item.fixed {
                Some(fixed) => (fixed <= below_end).then_some(fixed),
                None => (below_end >= 0).then(|| below_end - below_end % item.align),
            }
        };
        let mut decided = vec![None; instance.aparts.len()];
        instance.ordered.iter().for_each(|&at| decided[at] = Some(Side::Below));
        Some(Self {
            instance,
            lowest: items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            highest: items.iter().map(highest).collect::<Option<_>>()?,
            decided,
            changes: Vec::new(),
            queue: (0..items.len()).collect(),
            queued: vec![true; items.len()],
            stale: vec![true; instance.sections.len()],
            spans: Vec::new(),
            work: 0,
        })
    }

    /// Returns the length of the log of changes, as a mark for [`undo`](Self::undo).
    pub(super) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Reverts all changes since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::Lowest(item, before)) => self.lowest[item] = before,
                Some(Change::Highest(item, before)) => self.highest[item] = before,
                Some(Change::Decided(at)) => self.decided[at] = None,
                None => return,
            }
        }
    }

    /// Decides the relative position of two items.
    pub(super) fn decide(&mut self, at: usize, side: Side) {
        self.decided[at] = Some(side);
        self.changes.push(Change::Decided(at));
        self.touch(self.instance.aparts[at].a);
    }

    /// Returns whether the work exceeds `limit`, or the log of changes is full.
    pub(super) fn is_spent(&self, limit: u64) -> bool {
        self.work > limit || self.changes.len() > MAX_CHANGES
    }

    /// Propagates all bounds. Returns false if no plan exists, or if the search [`is_spent`](Self::is_spent).
    pub(super) fn propagate(&mut self, limit: u64) -> bool {
        let possible = self.settle(limit) && self.sections_fit();
        if !possible {
            self.queue.drain(..).for_each(|item| self.queued[item] = false);
            self.stale.fill(false);
        }
        possible
    }

    fn settle(&mut self, limit: u64) -> bool {
        while let Some(item) = self.queue.pop_front() {
            self.queued[item] = false;
            self.work += 1;
            if self.is_spent(limit) || !self.instance.aparts_of[item].iter().all(|&at| self.enforce(at)) {
                return false;
            }
        }
        true
    }

    /// Tightens the bounds of two items so that they stay apart. Returns false if they cannot be apart.
    fn enforce(&mut self, at: usize) -> bool {
        let Separation { a, b, low, high } = self.instance.aparts[at];
        let above = self.decided[at] != Some(Side::Below) && self.highest[a] - self.lowest[b] >= high;
        let below = self.decided[at] != Some(Side::Above) && self.lowest[a] - self.highest[b] <= low;
        match (above, below) {
            (true, true) => true,
            (true, false) => self.raise(a, self.lowest[b] + high) && self.lower(b, self.highest[a] - high),
            (false, true) => self.raise(b, self.lowest[a] - low) && self.lower(a, self.highest[b] + low),
            (false, false) => false,
        }
    }

    fn raise(&mut self, item: usize, to: i64) -> bool {
        let before = self.lowest[item];
        if to <= before {
            return true;
        }
        let align = self.instance.items[item].align;
        self.lowest[item] = (to + align - 1) / align * align;
        self.changes.push(Change::Lowest(item, before));
        self.touch(item);
        self.lowest[item] <= self.highest[item]
    }

    fn lower(&mut self, item: usize, to: i64) -> bool {
        let before = self.highest[item];
        if to >= before {
            return true;
        }
        self.highest[item] = to - to.rem_euclid(self.instance.items[item].align);
        self.changes.push(Change::Highest(item, before));
        self.touch(item);
        self.lowest[item] <= self.highest[item]
    }

    fn touch(&mut self, item: usize) {
        if !self.queued[item] {
            self.queued[item] = true;
            self.queue.push_back(item);
        }
        self.instance.sections_of[item].iter().for_each(|&section| self.stale[section] = true);
    }

    fn sections_fit(&mut self) -> bool {
        let instance = self.instance;
        (0..instance.sections.len()).all(|at| !std::mem::take(&mut self.stale[at]) || self.fits(&instance.sections[at]))
    }

    /// Returns whether, in a section, the items confined between any two offsets have enough room there.
    fn fits(&mut self, section: &Section) -> bool {
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        for (at, &need) in section.needs.iter().enumerate() {
            // Items that may share an offset count once, with the largest size.
            let counted = |item: usize| spans.iter().any(|span| span.need.item == item);
            let shared = section.in_place.iter().any(|(larger, smaller, between)| {
                *smaller == at
                    && counted(section.needs[*larger].item)
                    && self.may_be_equal(section, *larger, at, between)
            });
            if !shared {
                let from = self.lowest[need.item] + need.start;
                spans.push(Span { from, to: self.highest[need.item] + need.start + need.size, need });
            }
        }
        spans.sort_unstable_by_key(|span| std::cmp::Reverse(span.from));
        let fits = |end: i64| {
            let (mut sum, mut slack) = (0, 0);
            spans.iter().filter(|span| span.to <= end).all(|span| {
                sum += span.need.padded;
                slack = slack.max(span.need.padded - span.need.size);
                // The highest item needs no padding after it.
                span.from + sum - slack <= end
            })
        };
        let mut ends: Vec<i64> = spans.iter().map(|span| span.to).collect();
        ends.sort_unstable();
        ends.dedup();
        let possible = ends.into_iter().all(fits);
        self.spans = spans;
        possible
    }

    /// Returns whether two items of a section may begin at the same offset.
    fn may_be_equal(&self, section: &Section, x: usize, y: usize, between: &[usize]) -> bool {
        let (x, y) = (section.needs[x].item, section.needs[y].item);
        let apart = |&at: &usize| {
            let Separation { low, high, .. } = self.instance.aparts[at];
            matches!((self.decided[at], low, high), (Some(Side::Above), _, 1..) | (Some(Side::Below), ..=-1, _))
        };
        self.lowest[x].max(self.lowest[y]) <= self.highest[x].min(self.highest[y]) && !between.iter().any(apart)
    }
}
