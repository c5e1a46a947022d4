//! What the search knows of its records and never changes.

use std::ops::Range;

use super::bits::BitRows;
use crate::plan::{control::SearchControl, record::UsageRecord};

/// A tensor: the points at which it is alive, out of those at which some tensor is born, and its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) from: usize,
    /// One past the last point.
    pub(super) to: usize,
    pub(super) size: u64,
    /// Steps from the first to the last, both counted.
    pub(super) life: u64,
    /// An earlier tensor of the same points and size, with which it could change places.
    pub(super) reference: Option<usize>,
}

impl Tensor {
    /// The points at which it is alive.
    pub(super) fn points(&self) -> Range<usize> {
        self.from..self.to
    }
}

/// The tensors of a search, in order of birth, so that a stretch of time is a stretch of tensors.
pub(super) struct Instance {
    pub(super) tensors: Vec<Tensor>,
    /// The record of each tensor.
    pub(super) records: Vec<usize>,
    /// For each tensor, those that are alive with it at some point.
    pub(super) meets: BitRows,
    /// For each point, the tensors alive.
    pub(super) alive: BitRows,
    pub(super) points: usize,
}

impl Instance {
    /// Finds out who meets whom, of `records` out of `all` in the order of [`independent_groups`]; `None` if it was
    /// stopped.
    pub(super) fn new(all: &[UsageRecord], records: Vec<usize>, control: &SearchControl<'_>) -> Option<Self> {
        let mut births: Vec<usize> = records.iter().map(|&i| all[i].first).collect();
        births.dedup();
        let tensor = |&i: &usize| Tensor {
            from: births.partition_point(|&b| b < all[i].first),
            to: births.partition_point(|&b| b <= all[i].last),
            size: all[i].size,
            life: (all[i].last - all[i].first) as u64 + 1,
            reference: None,
        };
        let mut tensors: Vec<Tensor> = records.iter().map(tensor).collect();
        let count = tensors.len();
        let mut meets = BitRows::new(count, count);
        let mut alive = BitRows::new(births.len(), count);
        for a in 0..count {
            if control.should_stop() {
                return None;
            }
            let Tensor { from, to, size, .. } = tensors[a];
            (from..to).for_each(|point| alive.set(point, a));
            let later = (a + 1..count).take_while(|&b| tensors[b].from < to);
            for b in later {
                meets.set(a, b);
                meets.set(b, a);
            }
            // Equals of one birth stand near each other: sorted by death in steps, then by size.
            let same = |&b: &usize| tensors[b].to == to && tensors[b].size == size;
            tensors[a].reference = (0..a).rev().take_while(|&b| tensors[b].from == from).find(same);
        }
        Some(Self { tensors, records, meets, alive, points: births.len() })
    }
}

/// The records that have a size, in order of birth, in groups that share no step. The others lie anywhere.
pub(super) fn independent_groups(records: &[UsageRecord]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..records.len()).filter(|&i| records[i].size > 0).collect();
    order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut last = 0;
    for i in order {
        match groups.last_mut() {
            Some(group) if records[i].first <= last => group.push(i),
            _ => groups.push(vec![i]),
        }
        last = last.max(records[i].last);
    }
    groups
}
