//! An arena while it is being filled: who lies where, and the gaps beside whoever is alive with a newcomer.
//!
//! Where there are many tensors most live shortly, so a newcomer looks at those in a window of time around it.

use crate::plan::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Which gap a tensor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The smallest that is large enough, the lowest of equals (Pisarchyk and Lee 2020, Algorithm 3).
    BestFit,
    /// The lowest that is large enough.
    FirstFit,
}

/// A placed tensor: all that a newcomer asks of it, side by side in memory.
#[derive(Clone, Copy)]
struct Placed {
    offset: u64,
    /// One past it, rounded up; the sum of sizes was checked, padding saturates.
    end: u64,
    first: usize,
    last: usize,
}

/// The tensors that live in a stretch of time.
#[derive(Clone, Default)]
struct Window {
    by_offset: Vec<Placed>,
    /// Placed since the window was last read: wide windows are filled by all tensors and read by few.
    fresh: Vec<Placed>,
}

/// More than so many are sorted in, not inserted one by one.
const FEW: usize = 8;

impl Window {
    fn by_offset(&mut self) -> &[Placed] {
        if self.fresh.len() > FEW {
            self.by_offset.append(&mut self.fresh);
            self.by_offset.sort_by_key(|placed| placed.offset);
        }
        for placed in self.fresh.drain(..) {
            let at = self.by_offset.partition_point(|p| p.offset <= placed.offset);
            self.by_offset.insert(at, placed);
        }
        &self.by_offset
    }
}

/// Windows of one width, each half over the one before: whatever lives half as long fits into one.
struct Level {
    /// Half of a window is two to the power of so many steps.
    half: u32,
    windows: Vec<Window>,
}

impl Level {
    /// The window that holds all of a life, if one does.
    fn around(&mut self, first: usize, last: usize) -> Option<&[Placed]> {
        let window = first >> self.half;
        let holds = last >> self.half <= window + 1;
        self.windows.get_mut(window).filter(|_| holds).map(Window::by_offset)
    }

    fn insert(&mut self, placed: Placed) {
        let windows = (placed.first >> self.half).saturating_sub(1)..=placed.last >> self.half;
        self.windows[windows].iter_mut().for_each(|window| window.fresh.push(placed));
    }
}

/// Of fewer tensors, all are looked at for every newcomer.
const MANY: usize = 200;
/// Between the widths of windows, as a power of two.
const WIDER: usize = 2;

/// Windows from those that hold a life of average length to one that holds all; no more of one width than tensors.
fn levels(records: &[UsageRecord]) -> Vec<Level> {
    let bits = |steps: usize| usize::BITS - steps.leading_zeros();
    let end = records.iter().map(|r| r.last).max().unwrap_or(0);
    let whole = bits(end).min(usize::BITS - 1);
    let lives = records.iter().fold(0usize, |sum, r| sum.saturating_add(r.last - r.first));
    let shortest = match records.len() {
        0..MANY => whole,
        many => bits(lives / many).max(whole.saturating_sub(bits(many))),
    };
    let below = (shortest..whole.saturating_sub(1)).step_by(WIDER);
    let level = |half: u32| Level { half, windows: vec![Window::default(); (end >> half) + 1] };
    below.chain([whole]).map(level).collect()
}

/// Tensors placed so far.
pub(in crate::plan) struct Arena<'a> {
    records: &'a [UsageRecord],
    align: u64,
    /// The narrowest windows first; the last holds everything.
    levels: Vec<Level>,
    offsets: Vec<u64>,
    top: u64,
}

impl<'a> Arena<'a> {
    /// An empty arena whose offsets are multiples of `align`.
    pub(in crate::plan) fn new(records: &'a [UsageRecord], align: u64) -> Self {
        Self { records, align: align.max(1), levels: levels(records), offsets: vec![0; records.len()], top: 0 }
    }

    /// One past the last unit in use.
    pub(in crate::plan) fn top(&self) -> u64 {
        self.top
    }

    /// Places `record` and answers its offset. One without a size lies at 0 and overlaps none.
    pub(in crate::plan) fn put(&mut self, record: usize, gap: Gap) -> u64 {
        let r = &self.records[record];
        if r.size == 0 {
            return 0;
        }
        // One past the highest tensor seen so far.
        let mut cursor = 0u64;
        let mut best: Option<(u64, u64)> = None;
        let near = self.levels.iter_mut().find_map(|level| level.around(r.first, r.last)).unwrap_or_default();
        for &Placed { offset, end, first, last } in near {
            if r.first > last || first > r.last {
                continue;
            }
            let room = offset.saturating_sub(cursor);
            if offset >= cursor && room >= r.size && best.is_none_or(|(smallest, _)| room < smallest) {
                best = Some((room, cursor));
                if gap == Gap::FirstFit {
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
        let placed = Placed { offset, end: self.round_up(top), first, last };
        self.levels.iter_mut().for_each(|level| level.insert(placed));
        self.offsets[record] = offset;
        self.top = self.top.max(top);
    }

    /// Places `record` above everything; only such ones may follow.
    pub(super) fn stack(&mut self, record: usize) {
        let offset = self.round_up(self.top);
        let size = self.records[record].size;
        if size > 0 {
            self.offsets[record] = offset;
            self.top = offset.saturating_add(size);
        }
    }

    fn round_up(&self, offset: u64) -> u64 {
        offset.div_ceil(self.align).saturating_mul(self.align)
    }

    /// The layout of an arena that holds every record.
    pub(in crate::plan) fn into_layout(self) -> Layout {
        let places = self.offsets.into_iter().map(|offset| Place { region: 0, offset }).collect();
        let regions = if self.records.is_empty() { Vec::new() } else { vec![self.top] };
        Layout { problem: LayoutKind::Offsets, regions, places }
    }
}
