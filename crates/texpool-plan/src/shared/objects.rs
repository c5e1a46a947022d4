//! Tracks shared objects while tensors are assigned to them: the object of each tensor, and the times at which each
//! object is in use.

use crate::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// The intervals, from first to last step, in which an object holds a tensor. They are in order and never overlap.
#[derive(Clone, Debug, Default)]
struct BusyIntervals(Vec<(usize, usize)>);

impl BusyIntervals {
    /// Returns the index at which a record's interval would be inserted.
    fn insertion_index(&self, r: &UsageRecord) -> usize {
        self.0.partition_point(|&(_, last)| last < r.first)
    }

    /// Returns the shorter of the two idle gaps next to an interval inserted at `index`, in steps. Returns `None` if
    /// the interval overlaps another.
    fn idle_gap(&self, index: usize, r: &UsageRecord) -> Option<usize> {
        let after = match self.0.get(index) {
            Some(&(first, _)) if first <= r.last => return None,
            Some(&(first, _)) => first - r.last,
            None => usize::MAX,
        };
        Some(index.checked_sub(1).map_or(after, |before| after.min(r.first - self.0[before].1)))
    }
}

/// A bit for each object and step at which the object is busy. If the steps are few, this is the fastest way to
/// reject an object, and most objects that a strategy examines are rejected.
struct BusySteps {
    /// Number of 64-step words for each object; 0 if the steps are too many.
    words: usize,
    bits: Vec<u64>,
}

/// Upper limit on the words of an object; above it no bits are kept. It corresponds to 4096 steps, more than most
/// networks have. A guess, so that records with steps far apart do not take memory by steps.
const MAX_WORDS: usize = 64;

impl BusySteps {
    fn new(records: &[UsageRecord]) -> Self {
        let words = records.iter().map(|r| r.last / 64 + 1).max().unwrap_or(0);
        Self { words: if words > MAX_WORDS { 0 } else { words }, bits: Vec::new() }
    }

    /// Returns the words of `object` that contain the steps of `r`, each with a mask of these steps. Returns no words
    /// if no bits are kept.
    fn masks(&self, object: usize, r: &UsageRecord) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (first, last, start) = (r.first / 64, r.last / 64, object * self.words);
        let (head, tail) = (u64::MAX << (r.first % 64), u64::MAX >> (63 - r.last % 64));
        let end = if self.words == 0 { first } else { last + 1 };
        (first..end).map(move |word| {
            let mask = if word == first { head } else { u64::MAX };
            (start + word, if word == last { mask & tail } else { mask })
        })
    }

    /// Returns whether `object` is busy at a step of `r`. Always false if no bits are kept.
    fn is_busy(&self, object: usize, r: &UsageRecord) -> bool {
        self.masks(object, r).any(|(word, mask)| self.bits[word] & mask != 0)
    }

    fn occupy(&mut self, object: usize, r: &UsageRecord) {
        self.bits.resize(self.bits.len().max((object + 1) * self.words), 0);
        for (word, mask) in self.masks(object, r) {
            self.bits[word] |= mask;
        }
    }
}

/// The objects, and the object of each assigned record.
pub(super) struct Objects<'a> {
    records: &'a [UsageRecord],
    sizes: Vec<u64>,
    busy: Vec<BusyIntervals>,
    busy_steps: BusySteps,
    object_of: Vec<Option<usize>>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(records: &'a [UsageRecord]) -> Self {
        let busy_steps = BusySteps::new(records);
        Self { records, sizes: Vec::new(), busy: Vec::new(), busy_steps, object_of: vec![None; records.len()] }
    }

    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn size(&self, object: usize) -> u64 {
        self.sizes[object]
    }

    /// Returns whether `object` is free while `record` is alive.
    pub(super) fn is_free(&self, object: usize, record: usize) -> bool {
        let r = &self.records[record];
        if self.busy_steps.is_busy(object, r) {
            return false;
        }
        let busy = &self.busy[object];
        self.busy_steps.words > 0 || busy.idle_gap(busy.insertion_index(r), r).is_some()
    }

    /// Returns the steps between `record` and the nearest tensor of `object`; `None` if the object is busy while
    /// `record` is alive.
    pub(super) fn idle_gap(&self, object: usize, record: usize) -> Option<usize> {
        let r = &self.records[record];
        let busy = &self.busy[object];
        if self.busy_steps.is_busy(object, r) { None } else { busy.idle_gap(busy.insertion_index(r), r) }
    }

    /// Returns the [idle gap](Self::idle_gap) of each of `records`, which must be in order of birth.
    pub(super) fn idle_gaps(
        &self,
        object: usize,
        records: impl Iterator<Item = usize>,
    ) -> impl Iterator<Item = Option<usize>> {
        let busy = &self.busy[object];
        let mut index = 0;
        records.map(move |record| {
            let r = &self.records[record];
            index += busy.0[index..].iter().take_while(|&&(_, last)| last < r.first).count();
            busy.idle_gap(index, r)
        })
    }

    /// Returns the last step of the tensor before `record` in `object`, and the first step of the one after.
    pub(super) fn neighbours(&self, object: usize, record: usize) -> (Option<usize>, Option<usize>) {
        let busy = &self.busy[object].0;
        let index = self.busy[object].insertion_index(&self.records[record]);
        (index.checked_sub(1).map(|before| busy[before].1), busy.get(index).map(|next| next.0))
    }

    /// Assigns `record` to `object`, which must be [free](Self::is_free). The object grows if it is too small.
    pub(super) fn assign(&mut self, record: usize, object: usize) {
        let r = &self.records[record];
        let index = self.busy[object].insertion_index(r);
        self.busy_steps.occupy(object, r);
        self.busy[object].0.insert(index, (r.first, r.last));
        self.sizes[object] = self.sizes[object].max(r.size);
        self.object_of[record] = Some(object);
    }

    /// Assigns `record` to a new object.
    pub(super) fn assign_new(&mut self, record: usize) -> usize {
        self.sizes.push(0);
        self.busy.push(BusyIntervals::default());
        self.assign(record, self.sizes.len() - 1);
        self.sizes.len() - 1
    }

    /// Returns the layout. Each record that is not assigned yet gets a separate object.
    pub(super) fn into_layout(mut self) -> Layout {
        for record in 0..self.records.len() {
            if self.object_of[record].is_none() {
                self.assign_new(record);
            }
        }
        let places = self.object_of.into_iter().flatten().map(|region| Place { region, offset: 0 }).collect();
        Layout { problem: LayoutKind::SharedObjects, regions: self.sizes, places }
    }
}

/// Returns the object that the published greedy rule takes: the smallest free one that is large enough, else the
/// largest free one, which then grows. Ties go to the object created first.
pub(super) fn best_object(objects: &Objects<'_>, record: usize, size: u64) -> Option<usize> {
    let mut best: Option<usize> = None;
    for object in 0..objects.len() {
        let better = best.is_none_or(|best| {
            let (best, this) = (objects.size(best), objects.size(object));
            if best < size { this > best } else { size <= this && this < best }
        });
        // Sizes are compared first, because that is faster than comparing intervals.
        if better && objects.is_free(object, record) {
            best = Some(object);
        }
    }
    best
}
