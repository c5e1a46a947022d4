//! A layout that is built from the floor up, with a log of changes to undo them.

use std::{cmp::Reverse, ops::Range};

use super::{
    bits::{clear, has, mask, ones, set, words},
    instance::{Instance, Need, Tensor},
    preordering::{PreorderData, Preordering},
    pruning::Pruning,
};

/// Place of a tensor in the sequence in which a layout is built: by position, and by rank for equal positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SequenceKey {
    pub(super) position: u64,
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
    /// Changes [`PartialLayout::lowest`] and [`PartialLayout::bounds`], which were equal. Most changes affect both.
    LowestAndBound(u32, u64),
    Lowest(u32, u64),
    Bound(u32, u64),
    Floor(u32, u64),
    Rank(u32, u32),
    Removed(u32),
}

/// A position at which no tensor can be.
const NOWHERE: u64 = 1 << 63;

/// Upper limit on the logged changes: 64 MiB of them. A search that needs more gives up. A guess, which prevents a
/// hostile file from using up all memory.
const MAX_CHANGES: usize = 1 << 22;

/// The placed tensors, and the resulting bounds for the others.
pub(super) struct PartialLayout<'a> {
    pub(super) instance: &'a Instance,
    capacity: u64,
    pruning: Pruning,
    /// The set of tensors that are not placed and can still be.
    pub(super) unplaced: Vec<u64>,
    /// Offsets of the placed records.
    pub(super) offsets: Vec<u64>,
    /// For each tensor, the lowest position above all placed tensors that overlap it in time at which it leaves those
    /// with fixed offsets their place. For a tensor with a fixed offset, its position there.
    pub(super) lowest: Vec<u64>,
    /// For each tensor, a lower bound on its position in all layouts that the search still considers. It is at least
    /// the lowest position. A tensor whose bound is above its lowest position cannot be placed yet.
    pub(super) bounds: Vec<u64>,
    pub(super) ranks: Vec<u32>,
    /// For each section, the lowest offset at which the bytes of an unplaced tensor can still begin.
    floors: Vec<u64>,
    /// For each section, the sum of the bytes that its unplaced records need.
    totals: Vec<u64>,
    /// For each section, the bytes that unplaced members of joints can share.
    shareable: Vec<u64>,
    /// For each entry of [`Instance::shared`], the number of unplaced joints with that entry.
    sharing: Vec<u32>,
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
        let lowest = |(tensor, t): (usize, &Tensor)| t.fixed.unwrap_or_else(|| instance.lowest_free(tensor, 0));
        let lowest: Vec<u64> = instance.tensors.iter().enumerate().map(lowest).collect();
        let set_words = words(0, count).len();
        let mut layout = Self {
            instance,
            capacity,
            pruning,
            skipped: SkippedTensors { set: vec![0; set_words], open: Vec::new() },
            unplaced: vec![0; set_words],
            offsets: vec![0; instance.records.len()],
            bounds: lowest.clone(),
            lowest,
            ranks: vec![0; count],
            floors: vec![0; instance.section_count],
            totals: vec![0; instance.section_count],
            shareable: vec![0; instance.section_count],
            sharing: vec![0; instance.shared.len()],
            cuts: vec![0; instance.section_count],
            changes: Vec::new(),
            stale_floors: vec![false; instance.section_count],
        };
        let fits = |&tensor: &usize| {
            instance.members[tensor].len() == 1 || instance.tensors[tensor].end(layout.lowest[tensor]) <= capacity
        };
        (0..count).filter(fits).collect::<Vec<_>>().into_iter().for_each(|tensor| layout.add(tensor));
        layout
    }

    /// Adds a tensor to those that are unplaced.
    fn add(&mut self, tensor: usize) {
        let instance = self.instance;
        let t = &instance.tensors[tensor];
        set(&mut self.unplaced, tensor);
        self.cuts[t.from..t.to - 1].iter_mut().for_each(|cut| *cut += 1);
        if instance.members[tensor].len() == 1 {
            for need in &instance.needs[tensor] {
                self.totals[need.sections.clone()].iter_mut().for_each(|total| *total += need.bytes());
            }
        }
        for &entry in &instance.shared_by[tensor] {
            let shared = instance.shared[entry];
            if self.sharing[entry] == 0 {
                self.shareable[shared.section] += shared.bytes;
            }
            self.sharing[entry] += 1;
        }
    }

    /// Removes a tensor from those that are unplaced. Returns whether the timeline may now be split.
    fn remove(&mut self, tensor: usize) -> bool {
        let instance = self.instance;
        let t = &instance.tensors[tensor];
        clear(&mut self.unplaced, tensor);
        self.changes.push(Change::Removed(tensor as u32));
        for &entry in &instance.shared_by[tensor] {
            let shared = instance.shared[entry];
            self.sharing[entry] -= 1;
            if self.sharing[entry] == 0 {
                self.shareable[shared.section] -= shared.bytes;
            }
        }
        if instance.members[tensor].len() == 1 {
            for need in &instance.needs[tensor] {
                self.totals[need.sections.clone()].iter_mut().for_each(|total| *total -= need.bytes());
            }
        }
        // The timeline can be split where no unplaced tensor lives on from one section to the next.
        let mut divided = false;
        for cut in &mut self.cuts[t.from..t.to - 1] {
            *cut -= 1;
            divided |= *cut == 0;
        }
        divided
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
                Some(Change::LowestAndBound(tensor, before)) => {
                    self.lowest[tensor as usize] = before;
                    self.bounds[tensor as usize] = before;
                }
                Some(Change::Lowest(tensor, before)) => self.lowest[tensor as usize] = before,
                Some(Change::Bound(tensor, before)) => self.bounds[tensor as usize] = before,
                Some(Change::Floor(section, before)) => self.floors[section as usize] = before,
                Some(Change::Rank(tensor, before)) => self.ranks[tensor as usize] = before,
                Some(Change::Removed(tensor)) => self.add(tensor as usize),
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
            let total = t.sections().map(|section| self.total(section)).max().unwrap_or(0);
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

    /// Returns whether every section's total and every record fits into the capacity. All later checks look only at
    /// changed sections.
    pub(super) fn sections_fit(&self) -> bool {
        (0..self.instance.tensors.len()).all(|tensor| self.fits(tensor))
            && (0..self.instance.section_count).all(|section| self.total(section) <= self.capacity)
    }

    /// Returns whether a tensor at its bound ends within the capacity, or need not be placed.
    fn fits(&self, tensor: usize) -> bool {
        self.instance.tensors[tensor].end(self.bounds[tensor]) <= self.capacity
            || !self.instance.rivals[tensor].is_empty()
    }

    /// Returns whether a tensor can be placed now: at its lowest position, within the capacity.
    pub(super) fn is_open(&self, tensor: usize) -> bool {
        let lowest = self.lowest[tensor];
        lowest == self.bounds[tensor] && self.instance.tensors[tensor].end(lowest) <= self.capacity
    }

    fn key(&self, tensor: usize) -> SequenceKey {
        SequenceKey { position: self.lowest[tensor], rank: self.ranks[tensor] }
    }

    /// Returns the first place in the sequence at which a record with a fixed offset must have been placed. Tensors
    /// after it cannot be placed before it.
    pub(super) fn first_fixed(&self, partition: Partition) -> Option<SequenceKey> {
        let (from, to) = partition.tensors;
        let unplaced = |&&tensor: &&usize| (from..to).contains(&tensor) && has(&self.unplaced, tensor);
        // It is placed alone or in a joint.
        let latest = |&tensor: &usize| {
            let joints = self.instance.rivals[tensor].iter().filter(|&&joint| has(&self.unplaced, joint));
            let keys = joints.chain([&tensor]).map(|&tensor| self.key(tensor));
            keys.filter(|key| key.position < NOWHERE).max().unwrap_or(SequenceKey { position: 0, rank: 0 })
        };
        self.instance.fixed.iter().filter(unplaced).map(latest).min()
    }

    /// Places a tensor at its lowest position. Tensors placed later will not have a lower position. Returns `None` if
    /// no layout can follow, and otherwise whether the unplaced tensors of the partition may now be split.
    pub(super) fn place(&mut self, tensor: usize, partition: Partition) -> Option<bool> {
        let instance = self.instance;
        let t = instance.tensors[tensor];
        let key = self.key(tensor);
        for &member in &instance.members[tensor] {
            self.offsets[member] = key.position - t.anchor;
        }
        let mut touched = t.sections();
        let mut divided = self.remove(tensor);
        for &rival in &instance.rivals[tensor] {
            if has(&self.unplaced, rival) {
                divided |= self.remove(rival);
                let Tensor { from, to, .. } = instance.tensors[rival];
                touched = touched.start.min(from)..touched.end.max(to);
            }
        }
        for Need { sections, above, .. } in &instance.needs[tensor] {
            sections.clone().for_each(|section| self.set_floor(section, key.position + above));
        }
        // Positions only rise from here on, so in sections that this tensor does not touch the floor rises to its
        // position, less the bytes that any tensor needs below its own.
        let (from, to) = partition.sections;
        if !(from..to).all(|section| self.has_room(section, key.position)) {
            return None;
        }
        self.stale_floors[from..to].fill(false);
        self.stale_floors[touched.clone()].fill(true);
        let row = instance.overlaps.row(tensor);
        for word in words(partition.tensors.0, partition.tensors.1) {
            for other in ones(word, self.unplaced[word] & row[word]) {
                let before = self.lowest[other];
                let end = key.position + instance.distance(tensor, other);
                if before >= end {
                    continue;
                }
                let is_optional = !instance.rivals[other].is_empty();
                let is_fixed = instance.tensors[other].fixed.is_some();
                if is_fixed && !is_optional {
                    return None;
                }
                let lowest = if is_fixed { NOWHERE } else { instance.lowest_free(other, end) };
                if instance.tensors[other].end(lowest) > self.capacity {
                    if !is_optional {
                        return None;
                    }
                    if instance.members[other].len() > 1 {
                        divided |= self.remove(other);
                        continue;
                    }
                }
                self.lowest[other] = lowest;
                if self.bounds[other] == before {
                    self.changes.push(Change::LowestAndBound(other as u32, before));
                    self.bounds[other] = lowest;
                    self.mark_stale_floors(other, before, &mut touched);
                } else {
                    self.changes.push(Change::Lowest(other as u32, before));
                    self.raise_bound(other, lowest, &mut touched);
                }
            }
        }
        let possible = self.bound_skipped(partition, key, &mut touched)
            && touched
                .into_iter()
                .all(|section| !self.stale_floors[section] || self.update_floor(section, partition, key.position));
        possible.then_some(divided)
    }

    /// Returns the least bytes that the unplaced tensors of a section need.
    fn total(&self, section: usize) -> u64 {
        self.totals[section].saturating_sub(self.shareable[section])
    }

    /// Returns whether the unplaced tensors of a section fit above its floor, if none of them will have a position
    /// below `position`.
    fn has_room(&self, section: usize, position: u64) -> bool {
        let floor = self.floors[section].max(position.saturating_sub(self.instance.depths[section]));
        let total = self.total(section);
        total == 0 || floor.saturating_add(total) <= self.capacity
    }

    fn set_floor(&mut self, section: usize, floor: u64) {
        self.changes.push(Change::Floor(section as u32, self.floors[section]));
        self.floors[section] = floor;
    }

    /// Records that the position of a tensor is at least `position`.
    fn raise_bound(&mut self, tensor: usize, position: u64, touched: &mut Range<usize>) {
        let before = self.bounds[tensor];
        if before < position {
            self.changes.push(Change::Bound(tensor as u32, before));
            self.bounds[tensor] = position;
            self.mark_stale_floors(tensor, before, touched);
        }
    }

    /// Marks the sections whose floor may rise because the bound of a tensor rose from `before`.
    fn mark_stale_floors(&mut self, tensor: usize, before: u64, touched: &mut Range<usize>) {
        let t = &self.instance.tensors[tensor];
        let (sections, before) = (t.sections(), before.saturating_sub(t.depth));
        *touched = touched.start.min(sections.start)..touched.end.max(sections.end);
        // A floor below the old bound is determined by another tensor.
        for (stale, &floor) in self.stale_floors[sections.clone()].iter_mut().zip(&self.floors[sections]) {
            *stale |= floor >= before;
        }
    }

    /// Raises the floor of a section to the lowest bound of its unplaced tensors. Returns whether they still fit
    /// above it.
    fn update_floor(&mut self, section: usize, partition: Partition, position: u64) -> bool {
        if self.totals[section] == 0 {
            return true;
        }
        if self.pruning.unallocated_floor {
            let row = self.instance.alive.row(section);
            let (from, to) = partition.tensors;
            let alive = words(from, to).flat_map(|word| ones(word, self.unplaced[word] & row[word]));
            let start = |tensor: usize| self.bounds[tensor].saturating_sub(self.instance.below(tensor, section));
            let lowest = alive.map(start).min().unwrap_or(0);
            if lowest > self.floors[section] {
                self.set_floor(section, lowest);
            }
        }
        self.has_room(section, position)
    }

    /// Raises the bounds of tensors that were skipped in the sequence. Returns false if one of them no longer fits.
    ///
    /// A tensor was skipped if it could have been placed before `key` and was not. In the remaining layouts it rests
    /// on a tensor that is placed from now on. That tensor begins below the end that the skipped one would have had;
    /// otherwise the skipped one would have fit beneath it. So the skipped tensor is at least above the lowest
    /// tensor that can be beneath it, and those may be skipped tensors, too. As in Dijkstra's algorithm (1959), the
    /// tensor with the lowest bound is final and may lower the bounds of the others.
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

    /// Lists the skipped tensors of a partition, each with the lowest position above a tensor that was not skipped.
    fn find_skipped(
        &self,
        SkippedTensors { set: skipped, open }: &mut SkippedTensors,
        partition: Partition,
        key: SequenceKey,
    ) {
        let instance = self.instance;
        open.clear();
        skipped.fill(0);
        for tensor in self.unplaced_in(partition) {
            // A tensor with a fixed offset is never skipped, see `first_fixed`.
            if instance.tensors[tensor].fixed.is_some() {
                continue;
            }
            if self.lowest[tensor] < self.bounds[tensor] || self.key(tensor) < key {
                open.push((tensor, u64::MAX));
                set(skipped, tensor);
            }
        }
        for (tensor, above) in open.iter_mut() {
            let row = instance.overlaps.row(*tensor);
            for word in words(partition.tensors.0, partition.tensors.1) {
                for other in ones(word, self.unplaced[word] & row[word] & !skipped[word]) {
                    if self.bounds[other] < self.lowest[*tensor] + instance.distance(*tensor, other) {
                        *above = (*above).min(self.bounds[other].saturating_add(instance.distance(other, *tensor)));
                    }
                }
            }
        }
    }

    /// Raises the bounds of skipped tensors from the lowest to the highest. Returns false if one of them no longer
    /// fits.
    fn settle_skipped(&mut self, open: &mut Vec<(usize, u64)>, touched: &mut Range<usize>) -> bool {
        let instance = self.instance;
        loop {
            let bound =
                |&(tensor, above): &(usize, u64)| instance.tensors[tensor].aligned(above).max(self.bounds[tensor]);
            let Some(next) = (0..open.len()).min_by_key(|&i| bound(&open[i])) else { return true };
            let (tensor, position) = (open[next].0, bound(&open[next]));
            open.swap_remove(next);
            self.raise_bound(tensor, position.min(NOWHERE), touched);
            if !self.fits(tensor) {
                return false;
            }
            let row = instance.overlaps.row(tensor);
            for (other, above) in open.iter_mut() {
                if has(row, *other) && position < self.lowest[*other] + instance.distance(*other, tensor) {
                    *above = (*above).min(position.saturating_add(instance.distance(tensor, *other)));
                }
            }
        }
    }
}
