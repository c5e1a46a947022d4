//! Greedy by Size Improved (Pisarchyk and Lee 2020, section 4.4): by stages of the positional maximums, and inside a
//! stage the pair of tensor and object that leaves the shortest idle gap.

use std::cmp::Reverse;

use super::objects::Objects;
use crate::plan::{bounds::bounds, control::SearchControl, error::PlanError, layout::Layout, record::UsageRecord};

/// The tensors of one stage.
struct Stage {
    /// In the order in which ties are broken: by size, largest first, then by index.
    tensors: Vec<Waiting>,
    /// How long each has to wait, the lowest is next: a tree of minimums, the tensors its last half.
    ranks: Vec<usize>,
    /// Birth and place in `tensors`, by birth.
    births: Vec<(usize, usize)>,
}

/// A tensor of the current stage.
struct Waiting {
    record: usize,
    life: UsageRecord,
    /// Idle steps and object of the nearest one so far; `None` while every object is busy.
    nearest: Option<(usize, usize)>,
    /// Whether the nearest has been taken since: there may be none as near.
    stale: bool,
}

/// The rank of a tensor that has its place.
const PLACED: usize = usize::MAX;

/// Where one stage ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// The paper's text: sizes equal to a positional maximum are one stage, those between two of them another.
    Split,
    /// The TensorFlow Lite delegate: sizes equal to a positional maximum, and those down to the next, are one stage.
    Merged,
}

/// Which tensor of a stage is next; what is left equal goes by size, largest first, then by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOrder {
    /// The shortest idle gap first, tensors that suit no object last.
    Nearest,
    /// Tensors that suit no object first, so that their new objects are there for the rest.
    UnassignedFirst,
    /// The largest tensor first, whatever gap it leaves.
    Largest,
}

/// Places stage by stage; inside a stage as `order` says. A placement changes matters only for those that would live
/// between its neighbours in the object. `O(k n^2)` at worst, close to `O(k n log n)` on networks. Where `control`
/// stops it, those not placed yet get objects of their own.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn greedy_by_size_improved(
    records: &[UsageRecord],
    stages: Stages,
    order: StageOrder,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let maximums = bounds(records)?.positional_maximums;
    // Maximums never increase: so many are large enough, and whether the last of them is exact.
    let stage = |size: u64| {
        let enough = maximums.partition_point(|&m| m >= size);
        (enough, stages == Stages::Split && maximums.get(enough.wrapping_sub(1)) != Some(&size))
    };
    let key = |(record, r): (usize, &UsageRecord)| (stage(r.size), Reverse(r.size), record);
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
                    objects.put(record, object);
                    (object, after, before)
                }
                None => (objects.open(record), None, None),
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
        let mut tensors: Vec<Waiting> = members
            .map(|(record, life)| Waiting { record, life, nearest: None, stale: order == StageOrder::Largest })
            .collect();
        let mut births: Vec<(usize, usize)> = tensors.iter().enumerate().map(|(at, t)| (t.life.first, at)).collect();
        births.sort_unstable();
        let by_birth: Vec<usize> = births.iter().map(|&(_, at)| tensors[at].record).collect();
        // Where gaps do not say whose turn it is, they are looked at when it comes.
        let looks = if order == StageOrder::Largest { 0 } else { objects.len() };
        for object in 0..looks {
            if control.should_stop() {
                break;
            }
            for (gap, &(_, at)) in objects.distances(object, by_birth.iter().copied()).zip(&births) {
                if let Some(gap) = gap
                    && tensors[at].nearest.is_none_or(|best| gap < best.0)
                {
                    tensors[at].nearest = Some((gap, object));
                }
            }
        }
        let leaves = tensors.len().next_power_of_two();
        let mut ranks = vec![PLACED; 2 * leaves];
        tensors.iter().zip(&mut ranks[leaves..]).for_each(|(tensor, leaf)| *leaf = rank(tensor, order));
        for node in (1..leaves).rev() {
            ranks[node] = ranks[2 * node].min(ranks[2 * node + 1]);
        }
        Self { tensors, ranks, births }
    }

    /// Takes the tensor whose turn it is: its record, and its nearest object.
    fn next(
        &mut self,
        objects: &Objects<'_>,
        order: StageOrder,
        control: &SearchControl<'_>,
    ) -> Option<(usize, Option<(usize, usize)>)> {
        let leaves = self.ranks.len() / 2;
        loop {
            let least = self.ranks[1];
            if least == PLACED || control.should_stop() {
                return None;
            }
            let mut node = 1;
            while node < leaves {
                node = if self.ranks[2 * node] == least { 2 * node } else { 2 * node + 1 };
            }
            let at = node - leaves;
            let tensor = &mut self.tensors[at];
            let fresh = !std::mem::take(&mut tensor.stale);
            if !fresh {
                tensor.nearest = nearest(objects, tensor.record);
            }
            let found = (tensor.record, tensor.nearest);
            let rank = rank(tensor, order);
            // What it has now may be farther than what others have.
            if fresh || rank == least {
                self.wait(at, PLACED);
                return Some(found);
            }
            self.wait(at, rank);
        }
    }

    /// Sets the rank of the tensor at `at`.
    fn wait(&mut self, at: usize, rank: usize) {
        let mut node = self.ranks.len() / 2 + at;
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

    /// Brings the rest up to date after a tensor went into an object, where one died and another is born: whoever does
    /// not fit between the two was not open to the object, or has a nearer tensor in it.
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
            let (birth, at) = self.births[next];
            if before.is_some_and(|before| birth >= before) {
                break;
            }
            let tensor = &mut self.tensors[at];
            let (r, p) = (&tensor.life, placed);
            if self.ranks[leaves + at] == PLACED || before.is_some_and(|before| r.last >= before) {
                continue;
            }
            if r.conflicts(p) {
                if tensor.nearest.is_none_or(|(_, nearest)| nearest != object) {
                    continue;
                }
                if order == StageOrder::Nearest {
                    // The gap that is left can only be longer: time to look when its turn comes.
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
            self.wait(at, rank);
        }
    }
}

/// How long a tensor has to wait; of equals the first in order is next.
fn rank(tensor: &Waiting, order: StageOrder) -> usize {
    match (order, tensor.nearest) {
        (StageOrder::Largest, _) | (StageOrder::UnassignedFirst, None) => 0,
        (StageOrder::Nearest, None) => PLACED - 1,
        (_, Some((gap, _))) => gap.min(PLACED - 1),
    }
}

/// The object with the shortest idle gap beside `record`.
fn nearest(objects: &Objects<'_>, record: usize) -> Option<(usize, usize)> {
    (0..objects.len()).filter_map(|object| Some((objects.distance(object, record)?, object))).min()
}
