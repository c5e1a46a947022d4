//! A layout that is built from the floor up, with a log of changes to undo them.

use std::{cmp::Reverse, ops::Range};

use super::{
    bits::{clear, has, mask, ones, set, words},
    instance::{Instance, Tensor},
    preordering::{PreorderData, Preordering},
    pruning::Pruning,
};

/// Position of a tensor in the sequence in which a layout is built: by offset, and by rank for equal offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SequenceKey {
    pub(super) offset: u64,
    pub(super) rank: u32,
}

/// A range of tensors, and the range of sections in which they are alive. No other unplaced tensor is alive there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partition {
    pub(super) tensors: (usize, usize),
    pub(super) sections: (usize, usize),
}

/// One change, with the previous value.
enum Change {
    /// Changes [`PartialLayout::min_offsets`] and [`PartialLayout::offset_bounds`], which were equal. Most changes
    /// affect both.
    MinOffsetAndBound(u32, u64),
    MinOffset(u32, u64),
    OffsetBound(u32, u64),
    Floor(u32, u64),
    Rank(u32, u32),
    Placed(u32),
}

/// Upper limit on the logged changes: 64 MiB of them. A search that needs more gives up. A guess, which prevents a
/// hostile file from using up all memory.
const MAX_CHANGES: usize = 1 << 22;

/// The placed tensors, and the resulting bounds for the others.
pub(super) struct PartialLayout<'a> {
    pub(super) instance: &'a Instance,
    capacity: u64,
    pruning: Pruning,
    /// The set of unplaced tensors.
    pub(super) unplaced: Vec<u64>,
    /// Offsets of the placed tensors.
    pub(super) offsets: Vec<u64>,
    /// For each tensor, the lowest offset above all placed tensors that overlap it in time at which it leaves those
    /// with fixed offsets their place. For a tensor with a fixed offset, that offset.
    pub(super) min_offsets: Vec<u64>,
    /// For each tensor, a lower bound on its offset in all layouts that the search still considers. It is at least
    /// the minimum offset. A tensor whose bound is above its minimum offset cannot be placed yet.
    pub(super) offset_bounds: Vec<u64>,
    pub(super) ranks: Vec<u32>,
    /// For each section, the lowest offset at which an unplaced tensor can still be placed.
    floors: Vec<u64>,
    /// For each section, the sum of the sizes of its unplaced tensors.
    totals: Vec<u64>,
    /// For each section, the number of unplaced tensors that live on into the next one. The timeline can be cut where
    /// this is 0.
    cuts: Vec<u32>,
    changes: Vec<Change>,
    /// Sections whose floor may have risen since it was last computed.
    stale_floors: Vec<bool>,
    skipped: SkippedTensors,
}

/// Buffers of [`PartialLayout::bound_skipped`], reused to avoid allocations.
#[derive(Default)]
struct SkippedTensors {
    set: Vec<u64>,
    /// Tensors whose bound is not final yet, with their best known bound.
    open: Vec<(usize, u64)>,
}

impl<'a> PartialLayout<'a> {
    /// Creates a layout without placed tensors.
    pub(super) fn new(instance: &'a Instance, capacity: u64, pruning: Pruning) -> Self {
        let count = instance.tensors.len();
        let mut unplaced = vec![0; words(0, count).len()];
        let mut totals = vec![0; instance.section_count];
        let mut cuts = vec![0; instance.section_count];
        for (tensor, t) in instance.tensors.iter().enumerate() {
            set(&mut unplaced, tensor);
            instance.needed_sections(tensor).for_each(|section| totals[section] += t.size);
            cuts[t.from..t.to - 1].iter_mut().for_each(|cut| *cut += 1);
        }
        let lowest = |(tensor, t): (usize, &Tensor)| t.given.unwrap_or_else(|| instance.lowest_free(tensor, 0));
        let min_offsets: Vec<u64> = instance.tensors.iter().enumerate().map(lowest).collect();
        Self {
            instance,
            capacity,
            pruning,
            skipped: SkippedTensors { set: vec![0; unplaced.len()], open: Vec::new() },
            unplaced,
            offsets: vec![0; count],
            offset_bounds: min_offsets.clone(),
            min_offsets,
            ranks: vec![0; count],
            floors: vec![0; instance.section_count],
            totals,
            cuts,
            changes: Vec::new(),
            stale_floors: vec![false; instance.section_count],
        }
    }

    /// Returns the partition of all tensors.
    pub(super) fn whole(&self) -> Partition {
        Partition { tensors: (0, self.instance.tensors.len()), sections: (0, self.instance.section_count) }
    }

    /// Returns the length of the log of changes, as a mark for [`undo`](Self::undo).
    pub(super) fn mark(&self) -> usize {
        self.changes.len()
    }

    /// Returns whether the log of changes has reached its limit.
    pub(super) fn log_is_full(&self) -> bool {
        self.changes.len() > MAX_CHANGES
    }

    /// Reverts all changes since a mark.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::MinOffsetAndBound(tensor, before)) => {
                    self.min_offsets[tensor as usize] = before;
                    self.offset_bounds[tensor as usize] = before;
                }
                Some(Change::MinOffset(tensor, before)) => self.min_offsets[tensor as usize] = before,
                Some(Change::OffsetBound(tensor, before)) => self.offset_bounds[tensor as usize] = before,
                Some(Change::Floor(section, before)) => self.floors[section as usize] = before,
                Some(Change::Rank(tensor, before)) => self.ranks[tensor as usize] = before,
                Some(Change::Placed(tensor)) => {
                    let t = self.instance.tensors[tensor as usize];
                    set(&mut self.unplaced, tensor as usize);
                    self.instance.needed_sections(tensor as usize).for_each(|section| self.totals[section] += t.size);
                    self.cuts[t.from..t.to - 1].iter_mut().for_each(|cut| *cut += 1);
                }
                None => return,
            }
        }
    }

    /// Returns the unplaced tensors of a partition, in order of birth.
    pub(super) fn unplaced_in(&self, partition: Partition) -> impl Iterator<Item = usize> {
        let (from, to) = partition.tensors;
        words(from, to).flat_map(move |word| ones(word, self.unplaced[word] & mask(word, from, to)))
    }

    /// Returns the unplaced tensors that overlap `tensor`, a member of `partition`, in time.
    fn unplaced_overlaps(&self, tensor: usize, partition: Partition) -> impl Iterator<Item = usize> {
        let row = self.instance.overlaps.row(tensor);
        words(partition.tensors.0, partition.tensors.1)
            .flat_map(move |word| ones(word, self.unplaced[word] & row[word]))
    }

    /// Ranks the unplaced tensors of a partition by a preordering.
    pub(super) fn rank(&mut self, partition: Partition, preordering: Preordering) {
        let key = |tensor: usize| {
            let t = &self.instance.tensors[tensor];
            let total = self.totals[t.sections()].iter().copied().max().unwrap_or(0);
            let overlaps = self.unplaced_overlaps(tensor, partition).count() as u64;
            let sections = t.sections().len() as u64;
            Reverse(preordering.key(&PreorderData { width: t.width, sections, size: t.size, total, overlaps }))
        };
        let mut ranked: Vec<_> = self.unplaced_in(partition).map(|tensor| (key(tensor), tensor)).collect();
        ranked.sort_unstable();
        for (rank, (_, tensor)) in ranked.into_iter().enumerate() {
            self.changes.push(Change::Rank(tensor as u32, self.ranks[tensor]));
            self.ranks[tensor] = rank as u32;
        }
    }

    /// Splits the unplaced tensors of a partition into partitions that are never alive at the same time.
    pub(super) fn decompose(&self, partition: Partition, into: &mut Vec<Partition>) {
        let mut last: Option<Partition> = None;
        for tensor in self.unplaced_in(partition) {
            let t = &self.instance.tensors[tensor];
            match &mut last {
                Some(Partition { tensors, sections }) if t.from < sections.1 => {
                    sections.1 = sections.1.max(t.to);
                    tensors.1 = tensor + 1;
                }
                _ => {
                    let next = Partition { tensors: (tensor, tensor + 1), sections: (t.from, t.to) };
                    into.extend(last.replace(next));
                }
            }
        }
        into.extend(last);
    }

    /// Returns whether every section's total and every tensor fits into the capacity. All later checks look only at
    /// changed sections.
    pub(super) fn sections_fit(&self) -> bool {
        let mut ends =
            self.instance.tensors.iter().zip(&self.min_offsets).map(|(t, offset)| offset.saturating_add(t.size));
        ends.all(|end| end <= self.capacity) && self.totals.iter().all(|&total| total <= self.capacity)
    }

    /// Returns the first position in the sequence that an unplaced tensor with a fixed offset has. Tensors after it
    /// cannot be placed before it.
    pub(super) fn first_given(&self, partition: Partition) -> Option<SequenceKey> {
        let (from, to) = partition.tensors;
        let unplaced = |&&tensor: &&usize| (from..to).contains(&tensor) && has(&self.unplaced, tensor);
        let key = |&tensor: &usize| SequenceKey { offset: self.min_offsets[tensor], rank: self.ranks[tensor] };
        self.instance.given.iter().filter(unplaced).map(key).min()
    }

    /// Places a tensor at its minimum offset. Tensors placed later will not be lower. Returns `None` if no layout can
    /// follow, and otherwise whether the unplaced tensors of the partition may now be split.
    pub(super) fn place(&mut self, tensor: usize, partition: Partition) -> Option<bool> {
        let t = self.instance.tensors[tensor];
        let key = SequenceKey { offset: self.min_offsets[tensor], rank: self.ranks[tensor] };
        let end = key.offset + t.size;
        self.offsets[tensor] = key.offset;
        clear(&mut self.unplaced, tensor);
        self.changes.push(Change::Placed(tensor as u32));
        for section in self.instance.needed_sections(tensor) {
            self.totals[section] -= t.size;
            self.set_floor(section, end);
        }
        // The timeline can be split where no unplaced tensor lives on from one section to the next.
        let mut divided = false;
        for cut in &mut self.cuts[t.from..t.to - 1] {
            *cut -= 1;
            divided |= *cut == 0;
        }
        // Offsets only rise from here on, so in sections that this tensor does not touch the floor rises to its
        // offset.
        let (from, to) = partition.sections;
        let fits =
            |section: usize| self.floors[section].max(key.offset).saturating_add(self.totals[section]) <= self.capacity;
        if !(from..to).all(|section| self.totals[section] == 0 || fits(section)) {
            return None;
        }
        self.stale_floors[from..to].fill(false);
        self.stale_floors[t.sections()].fill(true);
        let mut touched = t.sections();
        let row = self.instance.overlaps.row(tensor);
        for word in words(partition.tensors.0, partition.tensors.1) {
            for other in ones(word, self.unplaced[word] & row[word]) {
                let before = self.min_offsets[other];
                if before >= end {
                    continue;
                }
                if self.instance.tensors[other].given.is_some() {
                    return None;
                }
                let lowest = self.instance.lowest_free(other, end);
                self.min_offsets[other] = lowest;
                if self.offset_bounds[other] == before {
                    self.changes.push(Change::MinOffsetAndBound(other as u32, before));
                    self.offset_bounds[other] = lowest;
                    self.mark_stale_floors(other, before, &mut touched);
                } else {
                    self.changes.push(Change::MinOffset(other as u32, before));
                    self.raise_bound(other, lowest, &mut touched);
                }
            }
        }
        let possible = self.bound_skipped(partition, key, &mut touched)
            && touched
                .into_iter()
                .all(|section| !self.stale_floors[section] || self.update_floor(section, partition, key.offset));
        possible.then_some(divided)
    }

    fn set_floor(&mut self, section: usize, floor: u64) {
        self.changes.push(Change::Floor(section as u32, self.floors[section]));
        self.floors[section] = floor;
    }

    /// Records that the offset of a tensor is at least `offset`.
    fn raise_bound(&mut self, tensor: usize, offset: u64, touched: &mut Range<usize>) {
        let before = self.offset_bounds[tensor];
        if before < offset {
            self.changes.push(Change::OffsetBound(tensor as u32, before));
            self.offset_bounds[tensor] = offset;
            self.mark_stale_floors(tensor, before, touched);
        }
    }

    /// Marks the sections whose floor may rise because the bound of a tensor rose from `before`.
    fn mark_stale_floors(&mut self, tensor: usize, before: u64, touched: &mut Range<usize>) {
        let sections = self.instance.tensors[tensor].sections();
        *touched = touched.start.min(sections.start)..touched.end.max(sections.end);
        // A floor below the old bound is determined by another tensor.
        for (stale, &floor) in self.stale_floors[sections.clone()].iter_mut().zip(&self.floors[sections]) {
            *stale |= floor >= before;
        }
    }

    /// Raises the floor of a section to the lowest bound of its unplaced tensors. Returns whether they still fit
    /// above it.
    fn update_floor(&mut self, section: usize, partition: Partition, offset: u64) -> bool {
        if self.totals[section] == 0 {
            return true;
        }
        if self.pruning.unallocated_floor {
            let row = self.instance.alive.row(section);
            let (from, to) = partition.tensors;
            let alive = words(from, to).flat_map(|word| ones(word, self.unplaced[word] & row[word]));
            let lowest = alive.map(|tensor| self.offset_bounds[tensor]).min().unwrap_or(0);
            if lowest > self.floors[section] {
                self.set_floor(section, lowest);
            }
        }
        self.floors[section].max(offset).saturating_add(self.totals[section]) <= self.capacity
    }

    /// Raises the bounds of tensors that were skipped in the sequence. Returns false if one of them no longer fits.
    ///
    /// A tensor was skipped if it could have been placed before `key` and was not. In the remaining layouts it rests
    /// on a tensor that is placed from now on. That tensor begins below the end that the skipped one would have had;
    /// otherwise the skipped one would have fit beneath it. So the offset of the skipped tensor is at least the
    /// lowest end of any tensor that can be beneath it, and those may be skipped tensors, too. As in Dijkstra's
    /// algorithm (1959), the tensor with the lowest bound is final and may lower the bounds of the others.
    fn bound_skipped(&mut self, partition: Partition, key: SequenceKey, touched: &mut Range<usize>) -> bool {
        if !self.pruning.bound_skipped {
            return true;
        }
        let mut skipped = std::mem::take(&mut self.skipped);
        self.find_skipped(&mut skipped, partition, key);
        let possible = self.settle_skipped(&mut skipped.open, touched);
        self.skipped = skipped;
        possible
    }

    /// Lists the skipped tensors of a partition, each with the lowest end of a tensor beneath it that was not
    /// skipped.
    fn find_skipped(
        &self,
        SkippedTensors { set: skipped, open }: &mut SkippedTensors,
        partition: Partition,
        key: SequenceKey,
    ) {
        let tensors = &self.instance.tensors;
        open.clear();
        skipped.fill(0);
        for tensor in self.unplaced_in(partition) {
            let own = SequenceKey { offset: self.min_offsets[tensor], rank: self.ranks[tensor] };
            // A tensor with a fixed offset is never skipped, see `first_given`.
            if tensors[tensor].given.is_some() {
                continue;
            }
            if own.offset < self.offset_bounds[tensor] || own < key {
                open.push((tensor, u64::MAX));
                set(skipped, tensor);
            }
        }
        for (tensor, lowest) in open.iter_mut() {
            let end = self.min_offsets[*tensor] + tensors[*tensor].size;
            let row = self.instance.overlaps.row(*tensor);
            for word in words(partition.tensors.0, partition.tensors.1) {
                for other in ones(word, self.unplaced[word] & row[word] & !skipped[word]) {
                    if self.offset_bounds[other] < end {
                        *lowest = (*lowest).min(self.offset_bounds[other].saturating_add(tensors[other].size));
                    }
                }
            }
        }
    }

    /// Raises the bounds of skipped tensors from the lowest to the highest. Returns false if one of them no longer
    /// fits.
    fn settle_skipped(&mut self, open: &mut Vec<(usize, u64)>, touched: &mut Range<usize>) -> bool {
        let tensors = &self.instance.tensors;
        loop {
            let bound =
                |&(tensor, lowest): &(usize, u64)| tensors[tensor].aligned(lowest).max(self.offset_bounds[tensor]);
            let Some(next) = (0..open.len()).min_by_key(|&i| bound(&open[i])) else { return true };
            let (tensor, offset) = (open[next].0, bound(&open[next]));
            open.swap_remove(next);
            let Some(end) = offset.checked_add(tensors[tensor].size).filter(|&end| end <= self.capacity) else {
                return false;
            };
            self.raise_bound(tensor, offset, touched);
            let row = self.instance.overlaps.row(tensor);
            for (other, lowest) in open.iter_mut() {
                if has(row, *other) && offset < self.min_offsets[*other] + tensors[*other].size {
                    *lowest = (*lowest).min(end);
                }
            }
        }
    }
}
