//! The fixed data of the search.

use std::ops::Range;

use super::{
    bits::{BitRows, has},
    constraint::Constraint,
};
use crate::{control::SearchControl, record::UsageRecord};

/// A tensor with the sections `from..to` in which it is alive.
///
/// A section begins at each step at which a tensor is born or a gap ends, and ends before the next such step. minimalloc
/// also begins sections where tensors die. The live tensors of those are a subset of the previous section's, so they
/// add no constraint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) size: u64,
    /// Number of steps for which it is alive.
    pub(super) width: u64,
    /// The previous tensor with the same sections, size and alignment, if any. Tensors with gaps or fixed offsets
    /// have none.
    pub(super) identical: Option<usize>,
    /// Its offset is a multiple of this.
    pub(super) align: u64,
    /// Its fixed offset, if it has one.
    pub(super) given: Option<u64>,
    /// True if it needs no memory in some of its sections.
    pub(super) has_gaps: bool,
}

impl Tensor {
    /// Returns the sections in which it is alive.
    pub(super) fn sections(&self) -> Range<usize> {
        self.from..self.to
    }

    /// Returns the lowest multiple of the alignment that is not below `offset`.
    pub(super) fn aligned(&self, offset: u64) -> u64 {
        if self.align == 1 { offset } else { offset.checked_next_multiple_of(self.align).unwrap_or(u64::MAX) }
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
    /// Tensors with fixed offsets, the lowest first.
    pub(super) given: Vec<usize>,
}

impl Instance {
    /// Creates the instance of `records`, which are indices into `all` in the order of [`independent_groups`]. Each
    /// has the constraint at its index; without a constraint there it is free. Returns `None` if `control` stops the
    /// search for overlaps.
    pub(super) fn new(
        all: &[UsageRecord],
        constraints: &[Constraint],
        records: Vec<usize>,
        control: &SearchControl<'_>,
    ) -> Option<Self> {
        let free = Constraint::default();
        let constraint = |record: usize| constraints.get(record).unwrap_or(&free);
        let gap_ends = records.iter().flat_map(|&i| constraint(i).gaps.iter().map(|gap| gap.end));
        let mut births: Vec<usize> = records.iter().map(|&i| all[i].first).chain(gap_ends).collect();
        births.sort_unstable();
        births.dedup();
        let section_at = |step: usize| births.partition_point(|&b| b < step);
        let tensor = |&i: &usize| Tensor {
            from: section_at(all[i].first),
            to: births.partition_point(|&b| b <= all[i].last),
            size: all[i].size,
            width: (all[i].last - all[i].first) as u64 + 1,
            identical: None,
            align: constraint(i).align,
            given: constraint(i).given,
            has_gaps: !constraint(i).gaps.is_empty(),
        };
        let mut tensors: Vec<Tensor> = records.iter().map(tensor).collect();
        let count = tensors.len();
        let mut overlaps = BitRows::new(count, count);
        let mut alive = BitRows::new(births.len(), count);
        for a in 0..count {
            if control.should_stop() {
                return None;
            }
            let Tensor { from, to, .. } = tensors[a];
            let gaps = &constraint(records[a]).gaps;
            let in_gap = |section: usize| gaps.iter().any(|gap| gap.contains(&births[section]));
            (from..to).filter(|&section| !in_gap(section)).for_each(|section| alive.set(section, a));
        }
        for a in 0..count {
            if control.should_stop() {
                return None;
            }
            let Tensor { from, to, size, align, .. } = tensors[a];
            let later = (a + 1..count).take_while(|&b| tensors[b].from < to);
            for b in later {
                let both = |section: usize| has(alive.row(section), a) && has(alive.row(section), b);
                if !(tensors[a].has_gaps || tensors[b].has_gaps) || (from..to.min(tensors[b].to)).any(both) {
                    overlaps.set(a, b);
                    overlaps.set(b, a);
                }
            }
            let movable = |t: &Tensor| t.given.is_none() && !t.has_gaps;
            // Tensors born at the same step are adjacent in the list, so only those have to be compared.
            let same = |&b: &usize| {
                let other = &tensors[b];
                (other.to, other.size, other.align) == (to, size, align) && movable(other)
            };
            if !movable(&tensors[a]) {
                continue;
            }
            tensors[a].identical = (0..a).rev().take_while(|&b| tensors[b].from == from).find(same);
        }
        let mut given: Vec<usize> = (0..count).filter(|&tensor| tensors[tensor].given.is_some()).collect();
        given.sort_by_key(|&tensor| tensors[tensor].given);
        Some(Self { tensors, records, overlaps, alive, section_count: births.len(), given })
    }

    /// Returns the sections in which a tensor needs memory.
    pub(super) fn needed_sections(&self, tensor: usize) -> impl Iterator<Item = usize> + use<'_> {
        let t = self.tensors[tensor];
        t.sections().filter(move |&section| !t.has_gaps || has(self.alive.row(section), tensor))
    }

    /// Returns the lowest allowed offset of a tensor that is not below `offset` and leaves the tensors with fixed
    /// offsets their place.
    pub(super) fn lowest_free(&self, tensor: usize, offset: u64) -> u64 {
        let t = &self.tensors[tensor];
        let row = self.overlaps.row(tensor);
        let others = self.given.iter().filter(|&&other| has(row, other));
        let places = others.filter_map(|&other| {
            let other = &self.tensors[other];
            other.given.map(|given| given..given + other.size)
        });
        places.fold(t.aligned(offset), |lowest, place| {
            let collides = lowest < place.end && place.start < lowest.saturating_add(t.size);
            if collides { t.aligned(place.end) } else { lowest }
        })
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
