//! An arena that is being filled: tracks the placed tensors, and finds the gaps between those that overlap the next
//! tensor in time.
//!
//! In large sets, most tensors are alive only for a short time. So tensors are stored in windows of time, and the
//! next tensor is compared only with the tensors of one window around it.

use crate::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Rule for choosing a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The smallest gap that is large enough; among equals the lowest (Pisarchyk and Lee 2020, Algorithm 3).
    BestFit,
    /// The lowest gap that is large enough.
    FirstFit,
}

/// A placed tensor. The compared fields are stored together, because this is the innermost loop.
#[derive(Clone, Copy)]
struct PlacedTensor {
    offset: u64,
    /// One past its last unit, rounded up to the alignment. Saturates, because only the sum of sizes was checked, not
    /// the sum of paddings.
    end: u64,
    first: usize,
    last: usize,
}

/// The placed tensors that are alive within a range of steps.
#[derive(Clone, Default)]
struct TimeWindow {
    by_offset: Vec<PlacedTensor>,
    /// Tensors placed since the window was last read. Every tensor is added to the widest windows, which are seldom
    /// read.
    unsorted: Vec<PlacedTensor>,
}

/// Up to this number, new tensors are inserted one by one; more are appended and sorted. An insertion moves half of
/// the list, while sorting a nearly sorted list reads all of it a few times. A guess.
const MAX_INSERTIONS: usize = 8;

impl TimeWindow {
    fn by_offset(&mut self) -> &[PlacedTensor] {
        if self.unsorted.len() > MAX_INSERTIONS {
            self.by_offset.append(&mut self.unsorted);
            self.by_offset.sort_by_key(|placed| placed.offset);
        }
        for placed in self.unsorted.drain(..) {
            let index = self.by_offset.partition_point(|p| p.offset <= placed.offset);
            self.by_offset.insert(index, placed);
        }
        &self.by_offset
    }
}

/// Windows of one width. Each begins half a width after the previous one, so every interval of up to half a width
/// lies within one window.
struct WindowLevel {
    /// Half of the width, as a power of two.
    half: u32,
    windows: Vec<TimeWindow>,
}

impl WindowLevel {
    /// Returns the tensors of the window that contains an interval, if one does.
    fn around(&mut self, first: usize, last: usize) -> Option<&[PlacedTensor]> {
        let window = first >> self.half;
        let contains = last >> self.half <= window + 1;
        self.windows.get_mut(window).filter(|_| contains).map(TimeWindow::by_offset)
    }

    fn insert(&mut self, placed: PlacedTensor) {
        let windows = (placed.first >> self.half).saturating_sub(1)..=placed.last >> self.half;
        self.windows[windows].iter_mut().for_each(|window| window.unsorted.push(placed));
    }
}

/// Minimum number of tensors for several windows: below it, comparing with all tensors is cheaper.
const MIN_TENSORS_FOR_WINDOWS: usize = 200;
/// Growth of the width from one level to the next, as a power of two.
const WIDTH_GROWTH: usize = 2;

/// Creates the levels, from windows that contain an interval of average length to a single window. No level has more
/// windows than tensors, so that memory is proportional to the records.
fn levels(records: &[UsageRecord]) -> Vec<WindowLevel> {
    let bits = |steps: usize| usize::BITS - steps.leading_zeros();
    let end = records.iter().map(|r| r.last).max().unwrap_or(0);
    let whole = bits(end).min(usize::BITS - 1);
    let alive = records.iter().fold(0usize, |sum, r| sum.saturating_add(r.last - r.first));
    let narrowest = match records.len() {
        0..MIN_TENSORS_FOR_WINDOWS => whole,
        count => bits(alive / count).max(whole.saturating_sub(bits(count))),
    };
    let below_whole = (narrowest..whole.saturating_sub(1)).step_by(WIDTH_GROWTH);
    let level = |half: u32| WindowLevel { half, windows: vec![TimeWindow::default(); (end >> half) + 1] };
    below_whole.chain([whole]).map(level).collect()
}

/// An arena with the tensors placed in it.
pub(crate) struct Arena<'a> {
    records: &'a [UsageRecord],
    align: u64,
    /// The narrowest windows come first. The last level has a single window that holds everything.
    levels: Vec<WindowLevel>,
    offsets: Vec<u64>,
    top: u64,
}

impl<'a> Arena<'a> {
    /// Creates an empty arena whose offsets are multiples of `align`.
    pub(crate) fn new(records: &'a [UsageRecord], align: u64) -> Self {
        Self { records, align: align.max(1), levels: levels(records), offsets: vec![0; records.len()], top: 0 }
    }

    /// Returns one past the last unit in use.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }

    /// Returns one past the last unit of a placed record.
    pub(super) fn end(&self, record: usize) -> u64 {
        self.offsets[record].saturating_add(self.records[record].size)
    }

    /// Places `record` into a gap, or on top if no gap is large enough, and returns its offset. A record of size 0
    /// gets offset 0 and does not restrict others.
    pub(crate) fn place(&mut self, record: usize, gap: Gap) -> u64 {
        let r = &self.records[record];
        if r.size == 0 {
            return 0;
        }
        // Algorithm 3 of Pisarchyk and Lee: tensors are visited by offset, and the space between the highest end and
        // the next offset is a gap.
        let mut end_so_far = 0u64;
        let mut best: Option<(u64, u64)> = None;
        let nearby = self.levels.iter_mut().find_map(|level| level.around(r.first, r.last)).unwrap_or_default();
        for &PlacedTensor { offset, end, first, last } in nearby {
            if r.first > last || first > r.last {
                continue;
            }
            let gap_size = offset.saturating_sub(end_so_far);
            if offset >= end_so_far && gap_size >= r.size && best.is_none_or(|(smallest, _)| gap_size < smallest) {
                best = Some((gap_size, end_so_far));
                if gap == Gap::FirstFit {
                    break;
                }
            }
            end_so_far = end_so_far.max(end);
        }
        let offset = best.map_or(end_so_far, |(_, start)| start);
        self.insert(record, offset);
        offset
    }

    /// Places `record` at `offset`, which must be free.
    pub(crate) fn insert(&mut self, record: usize, offset: u64) {
        let UsageRecord { first, last, size } = self.records[record];
        let top = offset.saturating_add(size);
        let placed = PlacedTensor { offset, end: self.round_up(top), first, last };
        self.levels.iter_mut().for_each(|level| level.insert(placed));
        self.offsets[record] = offset;
        self.top = self.top.max(top);
    }

    /// Places `record` on top of everything. It is not added to any window, so only records on top may follow.
    pub(super) fn place_on_top(&mut self, record: usize) {
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

    /// Returns the layout of an arena that holds every record.
    pub(crate) fn into_layout(self) -> Layout {
        let places = self.offsets.into_iter().map(|offset| Place { region: 0, offset }).collect();
        let regions = if self.records.is_empty() { Vec::new() } else { vec![self.top] };
        Layout { problem: LayoutKind::Offsets, regions, places }
    }
}
