//! Best-fit strip packing (Sekiyama et al. 2018, after Burke et al. 2004): fills the lowest segment of the skyline
//! with the longest-lived tensor that fits onto it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{interval_tree::IntervalTree, layout::one_arena};
use crate::{bounds::naive_total, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// Rule for choosing among tensors with equally long live ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// The largest.
    Largest,
    /// The lowest index.
    LowestIndex,
}

/// A range of points of the timeline over which the skyline has a constant height.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: usize,
    to: usize,
    height: u64,
}

/// Adjacent segments. Neighbours differ in height.
struct Skyline {
    /// Maps the start of a segment to its end and height.
    segments: BTreeMap<usize, (usize, u64)>,
    /// Pairs of height and start.
    lowest: BTreeSet<(u64, usize)>,
}

impl Skyline {
    fn new(points: usize) -> Self {
        Self { segments: BTreeMap::from([(0, (points, 0))]), lowest: BTreeSet::from([(0, 0)]) }
    }

    /// Returns the lowest segment, and among equals the earliest. The papers leave this open; on the published
    /// networks it makes no difference.
    fn lowest(&self) -> Option<Segment> {
        let &(height, from) = self.lowest.first()?;
        let &(to, _) = self.segments.get(&from)?;
        Some(Segment { from, to, height })
    }

    /// Returns the height of the lower neighbour.
    fn lower_neighbour(&self, segment: Segment) -> Option<u64> {
        let left = self.segments.range(..segment.from).next_back().map(|(_, &(_, height))| height);
        let right = self.segments.get(&segment.to).map(|&(_, height)| height);
        left.into_iter().chain(right).min()
    }

    fn remove(&mut self, from: usize) -> Option<Segment> {
        let (to, height) = self.segments.remove(&from)?;
        self.lowest.remove(&(height, from));
        Some(Segment { from, to, height })
    }

    /// Inserts a segment into an empty range, and merges it with neighbours of the same height.
    fn insert(&mut self, mut segment: Segment) {
        if segment.from == segment.to {
            return;
        }
        let before = self.segments.range(..segment.from).next_back();
        let before = before.filter(|&(_, &(to, height))| to == segment.from && height == segment.height);
        if let Some(joined) = before.map(|(&from, _)| from).and_then(|from| self.remove(from)) {
            segment.from = joined.from;
        }
        let after = self.segments.get(&segment.to).filter(|&&(_, height)| height == segment.height);
        if let Some(joined) = after.is_some().then(|| self.remove(segment.to)).flatten() {
            segment.to = joined.to;
        }
        self.segments.insert(segment.from, (segment.to, segment.height));
        self.lowest.insert((segment.height, segment.from));
    }
}

/// Fills the skyline from below. Takes `O(n log n)` if the lookup of tensors that fit onto a segment visits few
/// others, and at worst `O(n^1.5)`, the bound of a k-d tree. If `control` stops it, the remaining tensors are stacked
/// on top.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn strip_packing(
    records: &[UsageRecord],
    ties: TieBreak,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    naive_total(records)?;
    Ok(strip_packing_in_order(records, &longest_first(records, ties), control))
}

/// Returns the records, those with the longest lives first.
pub(super) fn longest_first(records: &[UsageRecord], ties: TieBreak) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    if ties == TieBreak::Largest {
        order.sort_by_key(|&i| Reverse(records[i].size));
    }
    order.sort_by_key(|&i| Reverse(records[i].last - records[i].first));
    order
}

/// Fills the skyline from below, each time with the first tensor of an order that fits onto the lowest segment.
pub(super) fn strip_packing_in_order(records: &[UsageRecord], order: &[usize], control: &SearchControl<'_>) -> Layout {
    let mut points: Vec<usize> = records.iter().flat_map(|r| [r.first, r.last]).collect();
    points.sort_unstable();
    points.dedup();
    let point = |step: usize| points.partition_point(|&p| p < step);
    let span = |&i: &usize| (point(records[i].first), point(records[i].last) + 1);
    let spans: Vec<(usize, usize)> = order.iter().map(span).collect();
    let mut unplaced = IntervalTree::new(spans.iter().copied());
    let mut offsets: Vec<Option<u64>> = vec![None; records.len()];
    let mut skyline = Skyline::new(points.len());
    let mut remaining = order.len();
    while remaining > 0 && !control.should_stop() {
        let Some(segment) = skyline.lowest() else { break };
        match unplaced.first_inside(segment.from, segment.to) {
            Some(rank) => {
                unplaced.take(rank);
                remaining -= 1;
                let (from, to) = spans[rank];
                offsets[order[rank]] = Some(segment.height);
                skyline.remove(segment.from);
                let height = segment.height + records[order[rank]].size;
                skyline.insert(Segment { to: from, ..segment });
                skyline.insert(Segment { from: to, ..segment });
                skyline.insert(Segment { from, to, height });
            }
            None => {
                // No tensor fits onto this segment. Raising it to its lower neighbour merges the two.
                let Some(height) = skyline.lower_neighbour(segment) else { break };
                skyline.remove(segment.from);
                skyline.insert(Segment { height, ..segment });
            }
        }
    }
    one_arena(records, &offsets)
}
