//! Greedy by Size Improved (Pisarchyk and Lee 2020, section 4.4): by stages of the positional maximums, and inside a
//! stage the pair of tensor and object that leaves the shortest idle gap.

use std::cmp::Reverse;

use super::objects::Objects;
use crate::plan::{Layout, PlanError, UsageRecord, bounds};

/// A tensor of the current stage that has no object yet, and its nearest one so far.
struct Waiting {
    record: usize,
    /// Idle steps and object; `None` while every object is busy.
    nearest: Option<(usize, usize)>,
}

/// Where one stage ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// The paper's text: sizes equal to a positional maximum are one stage, those between two of them another.
    Split,
    /// The TensorFlow Lite delegate: sizes equal to a positional maximum, and those down to the next, are one stage.
    Merged,
}

/// Whose turn it is within a stage; what is left equal goes by size, largest first, then by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The shortest idle gap first, tensors that suit no object last.
    Nearest,
    /// Tensors that suit no object first, so that their new objects are there for the rest.
    HomelessFirst,
    /// The largest tensor first, whatever gap it leaves.
    Largest,
}

/// Places stage by stage; inside a stage as `turn` says. `O(k n^2)` at worst, close to `O(n^2 / k)` on networks.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn greedy_by_size_improved(records: &[UsageRecord], stages: Stages, turn: Turn) -> Result<Layout, PlanError> {
    let maximums = bounds(records)?.positional_maximums;
    // Maximums never increase: so many are large enough, and whether the last of them is exact.
    let stage = |size: u64| {
        let enough = maximums.partition_point(|&m| m >= size);
        (enough, stages == Stages::Split && maximums.get(enough.wrapping_sub(1)) != Some(&size))
    };
    let mut order: Vec<((usize, bool), usize)> = records.iter().enumerate().map(|(i, r)| (stage(r.size), i)).collect();
    order.sort_unstable();

    let mut objects = Objects::new(records);
    for members in order.chunk_by(|a, b| a.0 == b.0) {
        let mut waiting: Vec<Waiting> =
            members.iter().map(|&(_, record)| Waiting { record, nearest: nearest(&objects, record) }).collect();
        while let Some(at) = pick(&waiting, records, turn) {
            // Keeps the order of the rest, which breaks the remaining ties by index.
            let Waiting { record, nearest: found } = waiting.remove(at);
            let object = match found {
                Some((_, object)) => {
                    objects.put(record, object);
                    object
                }
                None => objects.open(record),
            };
            for tensor in &mut waiting {
                refresh(tensor, &objects, records, record, object);
            }
        }
    }
    Ok(objects.into_layout())
}

/// The waiting tensor to place next.
fn pick(waiting: &[Waiting], records: &[UsageRecord], turn: Turn) -> Option<usize> {
    let gap = |tensor: &Waiting| match (turn, tensor.nearest) {
        (Turn::Largest, _) | (Turn::HomelessFirst, None) => 0,
        (Turn::Nearest, None) => usize::MAX,
        (_, Some((gap, _))) => gap,
    };
    (0..waiting.len()).min_by_key(|&i| {
        let tensor = &waiting[i];
        (gap(tensor), Reverse(records[tensor.record].size), i)
    })
}

/// The object with the shortest idle gap beside `record`.
fn nearest(objects: &Objects<'_>, record: usize) -> Option<(usize, usize)> {
    (0..objects.len()).filter_map(|object| Some((objects.distance(object, record)?, object))).min()
}

/// Brings `tensor` up to date after `placed` went into `object`: only that object has changed.
fn refresh(tensor: &mut Waiting, objects: &Objects<'_>, records: &[UsageRecord], placed: usize, object: usize) {
    let (r, p) = (&records[tensor.record], &records[placed]);
    if r.conflicts(p) {
        if tensor.nearest.is_some_and(|(_, nearest)| nearest == object) {
            tensor.nearest = nearest(objects, tensor.record);
        }
        return;
    }
    let gap = if p.last < r.first { r.first - p.last } else { p.first - r.last };
    if tensor.nearest.is_none_or(|best| (gap, object) < best) && objects.suits(object, tensor.record) {
        tensor.nearest = Some((gap, object));
    }
}
