//! Shared objects while they are being filled: who is in which, and when each is busy.

use crate::plan::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// The intervals at which an object holds a tensor; they never overlap, so they are in order.
#[derive(Clone, Debug, Default)]
struct Busy(Vec<(usize, usize)>);

impl Busy {
    /// Where an interval would go: in front of the first that ends no earlier than it begins.
    fn place(&self, r: &UsageRecord) -> usize {
        self.0.partition_point(|&(_, last)| last < r.first)
    }

    /// Idle steps beside an interval that goes in front of the one at `at`; `None` if they overlap.
    fn gap(&self, at: usize, r: &UsageRecord) -> Option<usize> {
        let after = match self.0.get(at) {
            Some(&(first, _)) if first <= r.last => return None,
            Some(&(first, _)) => first - r.last,
            None => usize::MAX,
        };
        Some(at.checked_sub(1).map_or(after, |before| after.min(r.first - self.0[before].1)))
    }
}

/// The steps at which each object is busy, a bit each: where steps are few, the quickest way to see that one is not
/// free.
struct Steps {
    /// Words of 64 steps an object; 0 if steps are too many.
    words: usize,
    bits: Vec<u64>,
}

/// Words of an object above which bits cost more than they save.
const MAX_WORDS: usize = 64;

impl Steps {
    fn new(records: &[UsageRecord]) -> Self {
        let words = records.iter().map(|r| r.last / 64 + 1).max().unwrap_or(0);
        Self { words: if words > MAX_WORDS { 0 } else { words }, bits: Vec::new() }
    }

    /// The words of `object` that `r` lives in, each with its steps in it.
    fn masks(&self, object: usize, r: &UsageRecord) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (first, last, start) = (r.first / 64, r.last / 64, object * self.words);
        let (head, tail) = (u64::MAX << (r.first % 64), u64::MAX >> (63 - r.last % 64));
        let end = if self.words == 0 { first } else { last + 1 };
        (first..end).map(move |at| {
            let from = if at == first { head } else { u64::MAX };
            (start + at, if at == last { from & tail } else { from })
        })
    }

    /// Whether `object` is known to be busy at a step of `r`.
    fn is_busy(&self, object: usize, r: &UsageRecord) -> bool {
        self.masks(object, r).any(|(at, mask)| self.bits[at] & mask != 0)
    }

    fn occupy(&mut self, object: usize, r: &UsageRecord) {
        self.bits.resize(self.bits.len().max((object + 1) * self.words), 0);
        for (at, mask) in self.masks(object, r) {
            self.bits[at] |= mask;
        }
    }
}

/// Objects under construction.
pub(super) struct Objects<'a> {
    records: &'a [UsageRecord],
    sizes: Vec<u64>,
    busy: Vec<Busy>,
    steps: Steps,
    object_of: Vec<Option<usize>>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(records: &'a [UsageRecord]) -> Self {
        let steps = Steps::new(records);
        Self { records, sizes: Vec::new(), busy: Vec::new(), steps, object_of: vec![None; records.len()] }
    }

    pub(super) fn len(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn size(&self, object: usize) -> u64 {
        self.sizes[object]
    }

    /// Whether `object` is free while `record` lives.
    pub(super) fn suits(&self, object: usize, record: usize) -> bool {
        let r = &self.records[record];
        if self.steps.is_busy(object, r) {
            return false;
        }
        let busy = &self.busy[object];
        self.steps.words > 0 || busy.gap(busy.place(r), r).is_some()
    }

    /// Steps between `record` and the nearest tensor of `object`; `None` if the object is busy.
    pub(super) fn distance(&self, object: usize, record: usize) -> Option<usize> {
        let r = &self.records[record];
        let busy = &self.busy[object];
        if self.steps.is_busy(object, r) { None } else { busy.gap(busy.place(r), r) }
    }

    /// The distance from `object` of each of `records`, which are in order of birth.
    pub(super) fn distances(
        &self,
        object: usize,
        records: impl Iterator<Item = usize>,
    ) -> impl Iterator<Item = Option<usize>> {
        let busy = &self.busy[object];
        let mut at = 0;
        records.map(move |record| {
            let r = &self.records[record];
            at += busy.0[at..].iter().take_while(|&&(_, last)| last < r.first).count();
            busy.gap(at, r)
        })
    }

    /// Last step of the tensor before `record` in `object`, and first step of the one after.
    pub(super) fn neighbours(&self, object: usize, record: usize) -> (Option<usize>, Option<usize>) {
        let busy = &self.busy[object].0;
        let at = self.busy[object].place(&self.records[record]);
        (at.checked_sub(1).map(|before| busy[before].1), busy.get(at).map(|next| next.0))
    }

    /// Puts `record` into `object`, which grows if it must. The caller has asked [`suits`](Self::suits).
    pub(super) fn put(&mut self, record: usize, object: usize) {
        let r = &self.records[record];
        let at = self.busy[object].place(r);
        self.steps.occupy(object, r);
        self.busy[object].0.insert(at, (r.first, r.last));
        self.sizes[object] = self.sizes[object].max(r.size);
        self.object_of[record] = Some(object);
    }

    /// Puts `record` into an object of its own.
    pub(super) fn open(&mut self, record: usize) -> usize {
        self.sizes.push(0);
        self.busy.push(Busy::default());
        self.put(record, self.sizes.len() - 1);
        self.sizes.len() - 1
    }

    /// The layout; a record that was never placed gets an object of its own.
    pub(super) fn into_layout(mut self) -> Layout {
        for record in 0..self.records.len() {
            if self.object_of[record].is_none() {
                self.open(record);
            }
        }
        let places = self.object_of.into_iter().flatten().map(|region| Place { region, offset: 0 }).collect();
        Layout { problem: LayoutKind::SharedObjects, regions: self.sizes, places }
    }
}

/// The object the published greedy rule takes: the smallest suitable one that is large enough, else the largest
/// suitable one, which then grows. Ties go to the object opened first.
pub(super) fn best_object(objects: &Objects<'_>, record: usize, size: u64) -> Option<usize> {
    let mut best: Option<usize> = None;
    for object in 0..objects.len() {
        let better = best.is_none_or(|best| {
            let (best, this) = (objects.size(best), objects.size(object));
            if best < size { this > best } else { size <= this && this < best }
        });
        if better && objects.suits(object, record) {
            best = Some(object);
        }
    }
    best
}
