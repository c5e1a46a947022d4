//! An arena while it is being filled: who lies where, and the gaps beside whoever is alive with a newcomer.

use crate::plan::{Layout, Place, Problem, UsageRecord};

/// Which gap a tensor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The smallest that is large enough, the lowest of equals (Pisarchyk and Lee 2020, Algorithm 3).
    Smallest,
    /// The lowest that is large enough.
    Lowest,
}

/// A placed tensor: all that a newcomer asks of it, side by side in memory.
#[derive(Clone, Copy)]
struct Placed {
    offset: u64,
    record: usize,
    /// One past it, rounded up; the sum of sizes was checked, padding saturates.
    end: u64,
    first: usize,
    last: usize,
}

/// Tensors placed so far, by offset.
pub(in crate::plan) struct Arena<'a> {
    records: &'a [UsageRecord],
    align: u64,
    placed: Vec<Placed>,
    top: u64,
}

impl<'a> Arena<'a> {
    /// An empty arena whose offsets are multiples of `align`.
    pub(in crate::plan) fn new(records: &'a [UsageRecord], align: u64) -> Self {
        Self { records, align: align.max(1), placed: Vec::new(), top: 0 }
    }

    /// One past the last unit in use.
    pub(in crate::plan) fn top(&self) -> u64 {
        self.top
    }

    /// Places `record` and answers its offset.
    pub(in crate::plan) fn put(&mut self, record: usize, gap: Gap) -> u64 {
        let r = &self.records[record];
        // One past the highest tensor seen so far.
        let mut cursor = 0u64;
        let mut best: Option<(u64, u64)> = None;
        for &Placed { offset, end, first, last, .. } in &self.placed {
            if r.first > last || first > r.last {
                continue;
            }
            let room = offset.saturating_sub(cursor);
            if offset >= cursor && room >= r.size && best.is_none_or(|(smallest, _)| room < smallest) {
                best = Some((room, cursor));
                if gap == Gap::Lowest {
                    break;
                }
            }
            cursor = cursor.max(end);
        }
        let offset = best.map_or(cursor, |(_, at)| at);
        self.insert(record, offset);
        offset
    }

    /// Puts `record` at `offset`, which the caller knows to be free.
    pub(in crate::plan) fn insert(&mut self, record: usize, offset: u64) {
        let UsageRecord { first, last, size } = self.records[record];
        let top = offset.saturating_add(size);
        let at = self.placed.partition_point(|p| (p.offset, p.record) <= (offset, record));
        self.placed.insert(at, Placed { offset, record, end: self.round_up(top), first, last });
        self.top = self.top.max(top);
    }

    fn round_up(&self, offset: u64) -> u64 {
        offset.div_ceil(self.align).saturating_mul(self.align)
    }

    /// The layout of an arena that holds every record.
    pub(in crate::plan) fn into_layout(self) -> Layout {
        let mut places = vec![Place { region: 0, offset: 0 }; self.records.len()];
        for &Placed { offset, record, .. } in &self.placed {
            places[record].offset = offset;
        }
        let regions = if self.records.is_empty() { Vec::new() } else { vec![self.top] };
        Layout { problem: Problem::Offsets, regions, places }
    }
}
