//! Places buffers by the search of [`offsets`](crate::offsets), with their alignments, fixed offsets and gaps.
//!
//! Two things are simplified, and then the search proves nothing: a buffer occupies all of its bytes where it needs a
//! window of them, and of buffers that may be computed in place of each other those of one size are placed as one.

use super::{
    buffer::Buffer,
    found::Found,
    pieces::{Piece, pieces},
};
use crate::{
    control::SearchControl,
    gcd::gcd,
    layout::Layout,
    offsets::{Constraint, Fit, fit_by_search, granularity, search_takes, smaller},
    record::UsageRecord,
};

/// Buffers as records with constraints.
pub(super) struct Sequences<'a> {
    buffers: &'a [Buffer],
    records: Vec<UsageRecord>,
    constraints: Vec<Constraint>,
    /// For each buffer, the index of its record.
    record_of: Vec<usize>,
    /// True if nothing is simplified. The smallest plan of the records is then the smallest of the buffers.
    exact: bool,
}

impl<'a> Sequences<'a> {
    /// Converts buffers to records; `None` if more of them are connected by overlaps in time than the search takes.
    pub(super) fn new(buffers: &'a [Buffer], in_place: &[(usize, usize)]) -> Option<Self> {
        let groups = placed_as_one(buffers, in_place);
        let mut record_of = vec![0; buffers.len()];
        let (mut records, mut constraints) = (Vec::new(), Vec::new());
        let mut exact = in_place.is_empty();
        for group in groups {
            let mut needs: Vec<Piece> = group.members.iter().flat_map(|&member| pieces(&buffers[member])).collect();
            needs.sort_by_key(|piece| piece.steps.start);
            let size = group.members.first().map_or(0, |&first| buffers[first].size);
            exact &= size == 0 || (!needs.is_empty() && needs.iter().all(|piece| piece.bytes == (0..size)));
            let mut gaps = Vec::new();
            let mut end = needs.first().map_or(0, |piece| piece.steps.start);
            let first = end;
            for Piece { steps, .. } in &needs {
                if end < steps.start {
                    gaps.push(end..steps.start);
                }
                end = end.max(steps.end);
            }
            group.members.iter().for_each(|&member| record_of[member] = records.len());
            let size = if needs.is_empty() { 0 } else { size };
            records.push(UsageRecord::new(first, end.saturating_sub(1).max(first), size));
            constraints.push(Constraint { align: group.align, given: group.given, gaps });
        }
        let found = Self { buffers, records, constraints, record_of, exact };
        search_takes(&found.records).then_some(found)
    }

    /// Returns whether the search can prove that a plan is the smallest.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Searches for a plan smaller than `best`, with at most `nodes` nodes for each capacity that is tried. With a
    /// `capacity`, only that one is tried.
    pub(super) fn improve(&self, best: Found, capacity: Option<u64>, nodes: u64, control: &SearchControl<'_>) -> Found {
        let Self { records, constraints, .. } = self;
        let (layout, bound) = match capacity {
            None => {
                let smaller = smaller(records, constraints, best.bound, best.total, nodes, control);
                (smaller.layout, smaller.bound)
            }
            Some(capacity) => match fit_by_search(records, constraints, capacity, nodes, control) {
                Fit::Fits(layout) => (Some(layout), best.bound),
                Fit::Infeasible => {
                    let step = granularity(records, constraints);
                    (None, capacity - capacity % step + step)
                }
                Fit::BudgetExhausted => (None, best.bound),
            },
        };
        let bound = if self.exact { best.bound.max(bound) } else { best.bound };
        let best = Found { bound, ..best };
        match layout {
            Some(layout) => best.or_smaller(Found::new(self.buffers, self.offsets(&layout), bound)),
            None => best,
        }
    }

    fn offsets(&self, layout: &Layout) -> Vec<u64> {
        let offset = |(buffer, &record): (&Buffer, &usize)| match self.records[record].size {
            0 => buffer.offset.unwrap_or(0),
            _ => layout.places[record].offset,
        };
        self.buffers.iter().zip(&self.record_of).map(offset).collect()
    }
}

/// Buffers that get the same offset.
struct Group {
    members: Vec<usize>,
    align: u64,
    given: Option<u64>,
}

/// Groups buffers that follow each other in place and have one size. A buffer joins at most one before it and one
/// after it.
fn placed_as_one(buffers: &[Buffer], in_place: &[(usize, usize)]) -> Vec<Group> {
    let single = |(i, b): (usize, &Buffer)| Some(Group { members: vec![i], align: b.align, given: b.offset });
    let mut groups: Vec<Option<Group>> = buffers.iter().enumerate().map(single).collect();
    let mut group_of: Vec<usize> = (0..buffers.len()).collect();
    for &(before, after) in in_place {
        let (into, from) = (group_of[before], group_of[after]);
        if into == from || buffers[before].size != buffers[after].size {
            continue;
        }
        let (Some(first), Some(second)) = (&groups[into], &groups[from]) else { continue };
        let adjacent = first.members.last() == Some(&before) && second.members.first() == Some(&after);
        let given = first.given.or(second.given);
        let align = (first.align / gcd(first.align, second.align)).checked_mul(second.align);
        let Some(align) = align.filter(|&align| {
            let same = first.given.is_none() || second.given.is_none() || first.given == second.given;
            adjacent && same && given.is_none_or(|given| given.is_multiple_of(align))
        }) else {
            continue;
        };
        let members = [first.members.as_slice(), second.members.as_slice()].concat();
        members.iter().for_each(|&member| group_of[member] = into);
        groups[from] = None;
        groups[into] = Some(Group { members, align, given });
    }
    groups.into_iter().flatten().collect()
}
