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
pub(super) struct PlacedTensor {
    pub(super) offset: u64,
    /// One past its last unit, rounded up to the alignment. Saturates, because only the sum of sizes was checked, not
    /// the sum of paddings.
    pub(super) end: u64,
    pub(super) record: usize,
    first: usize,
    last: usize,
}

impl PlacedTensor {
    fn overlaps(&self, r: &UsageRecord) -> bool {
        self.first <= r.last && r.first <= self.last
    }
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

    fn remove(&mut self, record: usize, offset: u64) {
        if let Some(index) = self.unsorted.iter().position(|placed| placed.record == record) {
            self.unsorted.swap_remove(index);
            return;
        }
        let from = self.by_offset.partition_point(|placed| placed.offset < offset);
        if let Some(index) = self.by_offset[from..].iter().position(|placed| placed.record == record) {
            self.by_offset.remove(from + index);
        }
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

    /// Returns the windows that an interval touches.
    fn touched(&mut self, first: usize, last: usize) -> &mut [TimeWindow] {
        &mut self.windows[(first >> self.half).saturating_sub(1)..=last >> self.half]
    }
}

/// Minimum number of tensors for several windows: below it, comparing with all tensors is cheaper.
const MIN_TENSORS_FOR_WINDOWS: usize = 200;
/// Growth of the width from one level to the next, as a power of two.
const WIDTH_GROWTH: usize = 2;

/// Creates the levels, from windows that contain an interval of average length to windows that contain the longest. No
/// level has more windows than tensors, so that memory is proportional to the records.
fn levels(records: &[UsageRecord]) -> Vec<WindowLevel> {
    let bits = |steps: usize| usize::BITS - steps.leading_zeros();
    let end = records.iter().map(|r| r.last).max().unwrap_or(0);
    let whole = bits(end).min(usize::BITS - 1);
    let longest = bits(records.iter().map(|r| r.last - r.first).max().unwrap_or(0)).min(whole);
    let alive = records.iter().fold(0usize, |sum, r| sum.saturating_add(r.last - r.first));
    let narrowest = match records.len() {
        0..MIN_TENSORS_FOR_WINDOWS => whole,
        count => bits(alive / count).max(whole.saturating_sub(bits(count))),
    };
    let widest = longest.max(narrowest);
    let below_widest = (narrowest..widest.saturating_sub(1)).step_by(WIDTH_GROWTH);
    let level = |half: u32| WindowLevel { half, windows: vec![TimeWindow::default(); (end >> half) + 1] };
    below_widest.chain([widest]).map(level).collect()
}

/// Returns the placed tensors that overlap a record in time, by offset.
fn nearby<'l>(levels: &'l mut [WindowLevel], r: &UsageRecord) -> impl Iterator<Item = &'l PlacedTensor> {
    let window = levels.iter_mut().find_map(|level| level.around(r.first, r.last)).unwrap_or_default();
    window.iter().filter(|placed| placed.overlaps(r))
}

/// An arena with the tensors placed in it.
pub(crate) struct Arena<'a> {
    records: &'a [UsageRecord],
    align: u64,
    /// The narrowest windows come first. Every record lies within one window of the last level.
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
        for &PlacedTensor { offset, end, .. } in nearby(&mut self.levels, r) {
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
        let placed = PlacedTensor { offset, end: self.round_up(top), record, first, last };
        for level in &mut self.levels {
            level.touched(first, last).iter_mut().for_each(|window| window.unsorted.push(placed));
        }
        self.offsets[record] = offset;
        self.top = self.top.max(top);
    }

    /// Removes a placed record. [`Self::top`] stays.
    pub(super) fn remove(&mut self, record: usize) {
        let UsageRecord { first, last, .. } = self.records[record];
        for level in &mut self.levels {
            level.touched(first, last).iter_mut().for_each(|window| window.remove(record, self.offsets[record]));
        }
    }

    /// Returns the placed tensors that overlap `record` in time, by offset.
    pub(super) fn overlapping(&mut self, record: usize) -> impl Iterator<Item = &PlacedTensor> {
        nearby(&mut self.levels, &self.records[record])
    }

    /// Returns the offset of each record.
    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
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
