//! Places buffers with any constraints by the search of [`offsets`](crate::offsets).
//!
//! The search takes buffers that need some byte at every step at which they need any, alone and placed as one with
//! others. For the rest something is simplified, and then the search proves nothing.

use super::{
    buffer::Buffer,
    conflicts::Conflicts,
    joints::Joints,
    offset_plan::OffsetPlan,
    pieces::{Piece, pieces},
};
use crate::{
    control::SearchControl,
    layout::Layout,
    offsets::{Constraint, Constraints, Fit, common_byte, fit_by_search, granularity, search_takes, smaller},
    record::UsageRecord,
};

/// Buffers as records with constraints.
pub(super) struct Sequences<'a> {
    buffers: &'a [Buffer],
    records: Vec<UsageRecord>,
    constraints: Constraints,
    /// True if nothing is simplified. The smallest plan of the records is then the smallest of the buffers.
    exact: bool,
}

impl<'a> Sequences<'a> {
    /// Converts buffers to records; `None` if more of them are connected by overlaps in time than the search takes.
    pub(super) fn new(buffers: &'a [Buffer], in_place: &[(usize, usize)], conflicts: &Conflicts) -> Option<Self> {
        let joints = Joints::new(buffers, in_place, conflicts);
        let mut exact = joints.complete;
        let mut records = Vec::with_capacity(buffers.len());
        let mut constraints = Constraints { of_each: Vec::with_capacity(buffers.len()), joints: joints.list };
        for buffer in buffers {
            let mut pieces = pieces(buffer);
            exact &= widen_to_a_common_byte(&mut pieces);
            let first = pieces.first().map_or(buffer.live.start, |piece| piece.steps.start);
            let last = pieces.last().map_or(first, |piece| piece.steps.end - 1);
            let size = if pieces.is_empty() { 0 } else { buffer.size };
            if let [Piece { bytes, .. }] = &pieces[..]
                && *bytes == (0..size)
            {
                pieces.clear();
            }
            records.push(UsageRecord::new(first, last, size));
            constraints.of_each.push(Constraint { align: buffer.align, fixed: buffer.offset, pieces });
        }
        let sequences = Self { buffers, records, constraints, exact };
        search_takes(&sequences.records).then_some(sequences)
    }

    /// Returns whether the search can prove that a plan is the smallest.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Searches for a plan smaller than `best`, with at most `nodes` nodes for each capacity that is tried. With a
    /// `capacity`, only that one is tried.
    pub(super) fn improve(
        &self,
        best: OffsetPlan,
        capacity: Option<u64>,
        nodes: u64,
        control: &SearchControl<'_>,
    ) -> OffsetPlan {
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
        let best = OffsetPlan { bound, ..best };
        match layout {
            Some(layout) => best.or_smaller(OffsetPlan::new(self.buffers, self.offsets(&layout), bound)),
            None => best,
        }
    }

    fn offsets(&self, layout: &Layout) -> Vec<u64> {
        let offset = |((buffer, record), place): ((&Buffer, &UsageRecord), u64)| match record.size {
            0 => buffer.offset.unwrap_or(0),
            _ => place,
        };
        let places = layout.places.iter().map(|place| place.offset);
        self.buffers.iter().zip(&self.records).zip(places).map(offset).collect()
    }
}

/// Widens pieces that have no byte in common until they have one. Returns false if it changed them.
fn widen_to_a_common_byte(pieces: &mut [Piece]) -> bool {
    if common_byte(pieces).is_some() {
        return true;
    }
    let byte = pieces.iter().map(|piece| piece.bytes.start).max().unwrap_or(0);
    pieces.iter_mut().for_each(|piece| piece.bytes.end = piece.bytes.end.max(byte + 1));
    false
}
