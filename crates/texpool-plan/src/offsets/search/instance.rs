//! The fixed data of the search.

use std::ops::Range;

use super::bits::BitRows;
use crate::{control::SearchControl, record::UsageRecord};

/// A tensor with the sections `from..to` in which it is alive.
///
/// A section begins at each step at which a tensor is born, and ends before the next such step. minimalloc also
/// begins sections where tensors die. The live tensors of those are a subset of the previous section's, so they add
/// no constraint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) size: u64,
    /// Number of steps for which it is alive.
    pub(super) width: u64,
    /// The previous tensor with the same sections and the same size, if any.
    pub(super) identical: Option<usize>,
}

impl Tensor {
    /// Returns the sections in which it is alive.
    pub(super) fn sections(&self) -> Range<usize> {
        self.from..self.to
    }
}

/// The tensors of a search in order of birth, so that a range of sections corresponds to a range of tensors.
pub(super) struct Instance {
    pub(super) tensors: Vec<Tensor>,
    /// Record of each tensor.
    pub(super) records: Vec<usize>,
    /// For each tensor, the other tensors that are alive at the same time.
    pub(super) overlaps: BitRows,
    /// For each section, the tensors that are alive in it.
    pub(super) alive: BitRows,
    pub(super) section_count: usize,
}

impl Instance {
    /// Creates the instance of `records`, which are indices into `all` in the order of [`independent_groups`].
    /// Returns `None` if `control` stops the search for overlaps.
    pub(super) fn new(all: &[UsageRecord], records: Vec<usize>, control: &SearchControl<'_>) -> Option<Self> {
        let mut births: Vec<usize> = records.iter().map(|&i| all[i].first).collect();
        births.dedup();
        let tensor = |&i: &usize| Tensor {
            from: births.partition_point(|&b| b < all[i].first),
            to: births.partition_point(|&b| b <= all[i].last),
            size: all[i].size,
            width: (all[i].last - all[i].first) as u64 + 1,
            identical: None,
        };
        let mut tensors: Vec<Tensor> = records.iter().map(tensor).collect();
        let count = tensors.len();
        let mut overlaps = BitRows::new(count, count);
        let mut alive = BitRows::new(births.len(), count);
        for a in 0..count {
            if control.should_stop() {
                return None;
            }
            let Tensor { from, to, size, .. } = tensors[a];
            (from..to).for_each(|section| alive.set(section, a));
            let later = (a + 1..count).take_while(|&b| tensors[b].from < to);
            for b in later {
                overlaps.set(a, b);
                overlaps.set(b, a);
            }
            // Tensors born at the same step are adjacent in the list, so only those have to be compared.
            let same = |&b: &usize| tensors[b].to == to && tensors[b].size == size;
            tensors[a].identical = (0..a).rev().take_while(|&b| tensors[b].from == from).find(same);
        }
        Some(Self { tensors, records, overlaps, alive, section_count: births.len() })
    }
}

/// Groups the records whose size is not 0, in order of birth, such that different groups are never alive at the same
/// time. minimalloc calls these groups partitions; here a partition is a part of a group that is split off during the
/// search.
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
