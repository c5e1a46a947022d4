//! Greedy by Size Improved (Pisarchyk and Lee 2020, section 4.4). It works in stages given by the positional
//! maximums. In each stage, the pair of tensor and object with the shortest idle gap between them goes first.

use std::cmp::Reverse;

use super::objects::Objects;
use crate::{bounds::bounds, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// The tensors of one stage.
struct Stage {
    /// In the order that breaks ties: by size, largest first, then by index.
    tensors: Vec<StageTensor>,
    /// Rank of each tensor; the lowest is next. A segment tree of minimums whose second half is the tensors.
    ranks: Vec<usize>,
    /// First step and index in `tensors`, sorted by first step.
    births: Vec<(usize, usize)>,
}

/// A tensor of the current stage.
struct StageTensor {
    record: usize,
    usage: UsageRecord,
    /// The shortest idle gap, and its object; `None` while every object is busy.
    nearest: Option<(usize, usize)>,
    /// Set if the nearest object was assigned to another tensor meanwhile, so that the gap may be longer now.
    stale: bool,
}

/// Rank of a tensor that already has an object.
const ASSIGNED: usize = usize::MAX;

/// Boundaries between stages. The paper and its authors' implementation differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// The paper's text: sizes equal to a positional maximum form one stage, and those between two maximums form
    /// another.
    Split,
    /// TensorFlow Lite's GPU delegate: sizes from one positional maximum down to the next, excluding that one, form a
    /// stage.
    Merged,
}

/// Rule for choosing the next tensor of a stage. Ties go to the larger size, then to the lower index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOrder {
    /// The one with the shortest idle gap. Tensors for which every object is busy come last.
    Nearest,
    /// Tensors for which every object is busy come first, so that the others can use their new objects.
    UnassignedFirst,
    /// The largest tensor, regardless of its gap.
    Largest,
}

/// Assigns tensors stage by stage, and within a stage by `order`. Takes `O(k n^2)` at worst for `k` objects. On
/// networks it is close to `O(k n log n)`, because an assignment changes the gaps of few tensors. If `control` stops
/// it, each remaining tensor gets a separate object.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
pub fn greedy_by_size_improved(
    records: &[UsageRecord],
    stages: Stages,
    order: StageOrder,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let maximums = bounds(records)?.positional_maximums;
    // The number of maximums that are at least `size`. In split stages, also whether `size` is below the last of
    // these.
    let stage_of = |size: u64| {
        let enough = maximums.partition_point(|&m| m >= size);
        (enough, stages == Stages::Split && maximums.get(enough.wrapping_sub(1)) != Some(&size))
    };
    let key = |(record, r): (usize, &UsageRecord)| (stage_of(r.size), Reverse(r.size), record);
    let mut sorted: Vec<((usize, bool), Reverse<u64>, usize)> = records.iter().enumerate().map(key).collect();
    sorted.sort_unstable();

    let mut objects = Objects::new(records);
    for members in sorted.chunk_by(|a, b| a.0 == b.0) {
        let mut stage =
            Stage::new(members.iter().map(|&(_, _, record)| (record, records[record])), &objects, order, control);
        while !control.should_stop()
            && let Some((record, nearest)) = stage.next(&objects, order, control)
        {
            let (object, after, before) = match nearest {
                Some((_, object)) => {
                    let (after, before) = objects.neighbours(object, record);
                    objects.assign(record, object);
                    (object, after, before)
                }
                None => (objects.assign_new(record), None, None),
            };
            if order != StageOrder::Largest {
                stage.refresh(&objects, order, (&records[record], object), (after, before));
            }
        }
    }
    Ok(objects.into_layout())
}

impl Stage {
    fn new(
        members: impl Iterator<Item = (usize, UsageRecord)>,
        objects: &Objects<'_>,
        order: StageOrder,
        control: &SearchControl<'_>,
    ) -> Self {
        let mut tensors: Vec<StageTensor> = members
            .map(|(record, usage)| StageTensor { record, usage, nearest: None, stale: order == StageOrder::Largest })
            .collect();
        let mut births: Vec<(usize, usize)> =
            tensors.iter().enumerate().map(|(index, t)| (t.usage.first, index)).collect();
        births.sort_unstable();
        let by_birth: Vec<usize> = births.iter().map(|&(_, index)| tensors[index].record).collect();
        // By size, the order does not depend on gaps, so each gap is computed only when it is needed.
        let objects_to_compare = if order == StageOrder::Largest { 0 } else { objects.len() };
        for object in 0..objects_to_compare {
            if control.should_stop() {
                break;
            }
            for (gap, &(_, index)) in objects.idle_gaps(object, by_birth.iter().copied()).zip(&births) {
                if let Some(gap) = gap
                    && tensors[index].nearest.is_none_or(|best| gap < best.0)
                {
                    tensors[index].nearest = Some((gap, object));
                }
            }
        }
        let leaves = tensors.len().next_power_of_two();
        let mut ranks = vec![ASSIGNED; 2 * leaves];
        tensors.iter().zip(&mut ranks[leaves..]).for_each(|(tensor, leaf)| *leaf = rank(tensor, order));
        for node in (1..leaves).rev() {
            ranks[node] = ranks[2 * node].min(ranks[2 * node + 1]);
        }
        Self { tensors, ranks, births }
    }

    /// Removes the next tensor. Returns its record, and its nearest object with the gap.
    fn next(
        &mut self,
        objects: &Objects<'_>,
        order: StageOrder,
        control: &SearchControl<'_>,
    ) -> Option<(usize, Option<(usize, usize)>)> {
        let leaves = self.ranks.len() / 2;
        loop {
            let least = self.ranks[1];
            if least == ASSIGNED || control.should_stop() {
                return None;
            }
            let mut node = 1;
            while node < leaves {
                node = if self.ranks[2 * node] == least { 2 * node } else { 2 * node + 1 };
            }
            let index = node - leaves;
            let tensor = &mut self.tensors[index];
            let fresh = !std::mem::take(&mut tensor.stale);
            if !fresh {
                tensor.nearest = nearest(objects, tensor.record);
            }
            let assignment = (tensor.record, tensor.nearest);
            let rank = rank(tensor, order);
            // A stale gap may have become longer than that of another tensor.
            if fresh || rank == least {
                self.set_rank(index, ASSIGNED);
                return Some(assignment);
            }
            self.set_rank(index, rank);
        }
    }

    /// Sets the rank of a tensor.
    fn set_rank(&mut self, index: usize, rank: usize) {
        let mut node = self.ranks.len() / 2 + index;
        self.ranks[node] = rank;
        while node > 1 {
            node /= 2;
            let least = self.ranks[2 * node].min(self.ranks[2 * node + 1]);
            if self.ranks[node] == least {
                break;
            }
            self.ranks[node] = least;
        }
    }

    /// Updates the nearest objects after `placed` was assigned to `object`, between a tensor that dies at step
    /// `after` and one that is born at step `before`. Tensors that do not fit between the two are not affected:
    /// either the object was busy for them before, or another of its tensors is nearer than `placed`.
    fn refresh(
        &mut self,
        objects: &Objects<'_>,
        order: StageOrder,
        (placed, object): (&UsageRecord, usize),
        (after, before): (Option<usize>, Option<usize>),
    ) {
        let from = after.map_or(0, |after| self.births.partition_point(|&(birth, _)| birth <= after));
        let leaves = self.ranks.len() / 2;
        for next in from..self.births.len() {
            let (birth, index) = self.births[next];
            if before.is_some_and(|before| birth >= before) {
                break;
            }
            let tensor = &mut self.tensors[index];
            let (r, p) = (&tensor.usage, placed);
            if self.ranks[leaves + index] == ASSIGNED || before.is_some_and(|before| r.last >= before) {
                continue;
            }
            if r.conflicts(p) {
                if tensor.nearest.is_none_or(|(_, nearest)| nearest != object) {
                    continue;
                }
                if order == StageOrder::Nearest {
                    // The gap can only have become longer, so it is enough to compute it when the tensor is next.
                    tensor.stale = true;
                    continue;
                }
                tensor.nearest = nearest(objects, tensor.record);
            } else {
                let gap = if p.last < r.first { r.first - p.last } else { p.first - r.last };
                if tensor.nearest.is_some_and(|best| best <= (gap, object)) {
                    continue;
                }
                tensor.nearest = Some((gap, object));
                tensor.stale = false;
            }
            let rank = rank(tensor, order);
            self.set_rank(index, rank);
        }
    }
}

/// Returns the rank of a tensor. The lowest rank is next; ties go to the first in `tensors`.
fn rank(tensor: &StageTensor, order: StageOrder) -> usize {
    match (order, tensor.nearest) {
        (StageOrder::Largest, _) | (StageOrder::UnassignedFirst, None) => 0,
        (StageOrder::Nearest, None) => ASSIGNED - 1,
        (_, Some((gap, _))) => gap.min(ASSIGNED - 1),
    }
}

/// Returns the object with the shortest idle gap beside `record`, after the gap.
fn nearest(objects: &Objects<'_>, record: usize) -> Option<(usize, usize)> {
    (0..objects.len()).filter_map(|object| Some((objects.idle_gap(object, record)?, object))).min()
}
