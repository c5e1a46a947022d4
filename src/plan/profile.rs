//! Operator profiles: which records are alive at a step, and how wide the step is.

use std::cmp::Reverse;

use super::{
    error::{InputError, PlanError},
    record::UsageRecord,
    uses::MAX_STEPS,
};

/// Entries above which profiles are refused rather than listed.
const MAX_ENTRIES: usize = 1 << 26;

/// The records alive at each step from 0 on, largest first, equals by index: the operator profiles of Pisarchyk and
/// Lee (2020), section 3.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or if the list would be too long to be of use.
pub fn operator_profiles(records: &[UsageRecord]) -> Result<Vec<Vec<usize>>, PlanError> {
    let mut entries = 0usize;
    for (record, r) in records.iter().enumerate() {
        if r.first > r.last {
            return Err(InputError::ReversedInterval { record, first: r.first, last: r.last }.into());
        }
        entries = entries.saturating_add(r.last - r.first).saturating_add(1);
        if r.last >= MAX_STEPS || entries > MAX_ENTRIES {
            return Err(InputError::TooManySteps { record, last: r.last, limit: MAX_STEPS }.into());
        }
    }
    let mut profiles = vec![Vec::new(); records.iter().map(|r| r.last + 1).max().unwrap_or(0)];
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| Reverse(records[i].size));
    for i in order {
        profiles[records[i].first..=records[i].last].iter_mut().for_each(|p: &mut Vec<usize>| p.push(i));
    }
    Ok(profiles)
}

/// The breadth of every step at which a record is born or dies, in step order.
///
/// Steps between them hold a subset of a neighbour's records, so no strategy needs them, and steps may be as far
/// apart as a `usize` allows.
fn breadths(records: &[UsageRecord]) -> Vec<(usize, u64)> {
    let mut steps: Vec<usize> = records.iter().flat_map(|r| [r.first, r.last]).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut births: Vec<&UsageRecord> = records.iter().collect();
    let mut deaths = births.clone();
    births.sort_by_key(|r| r.first);
    deaths.sort_by_key(|r| r.last);
    let (mut born, mut dead, mut breadth) = (0, 0, 0u64);
    let mut out = Vec::with_capacity(steps.len());
    for step in steps {
        while born < births.len() && births[born].first <= step {
            breadth += births[born].size;
            born += 1;
        }
        while dead < deaths.len() && deaths[dead].last < step {
            breadth -= deaths[dead].size;
            dead += 1;
        }
        out.push((step, breadth));
    }
    out
}

/// Answers the least of any stretch of a list in `O(log n)`: a tree of minimums.
struct Least(Vec<usize>);

impl Least {
    fn new(list: &[usize]) -> Self {
        let mut tree = vec![usize::MAX; list.len()];
        tree.extend(list);
        for node in (1..list.len()).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        Self(tree)
    }

    /// The least from `from` up to, and without, `to`.
    fn of(&self, from: usize, to: usize) -> usize {
        let leaves = self.0.len() / 2;
        let (mut from, mut to, mut least) = (from + leaves, to + leaves, usize::MAX);
        while from < to {
            if from % 2 == 1 {
                least = least.min(self.0[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                least = least.min(self.0[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        least
    }
}

/// How equals are ordered: steps of equal breadth, and in a step tensors of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Lower index first, steps and tensors.
    Lower,
    /// Higher index first, steps and tensors.
    Higher,
    /// Earlier step first, higher tensor first.
    HigherTensor,
    /// Later step first, lower tensor first.
    LaterStep,
}

/// Records from the widest step to the narrowest, at each those that no wider step has, largest first: the order of
/// Greedy by Breadth. The sizes must add up.
pub(super) fn by_breadth(records: &[UsageRecord], ties: Ties) -> Vec<usize> {
    let steps = breadths(records);
    let mut widest: Vec<usize> = (0..steps.len()).collect();
    if matches!(ties, Ties::Higher | Ties::LaterStep) {
        widest.reverse();
    }
    widest.sort_by_key(|&at| Reverse(steps[at].1));
    let mut rank = vec![0; steps.len()];
    widest.into_iter().enumerate().for_each(|(place, at)| rank[at] = place);
    // A record is placed at the first step, in that order, at which it is alive.
    let least = Least::new(&rank);
    let placed = |(i, r): (usize, &UsageRecord)| {
        let from = steps.partition_point(|&(step, _)| step < r.first);
        let to = from + steps[from..].partition_point(|&(step, _)| step <= r.last);
        let index = if matches!(ties, Ties::Higher | Ties::HigherTensor) { records.len() - i } else { i };
        (least.of(from, to), Reverse(r.size), index, i)
    };
    let mut order: Vec<(usize, Reverse<u64>, usize, usize)> = records.iter().enumerate().map(placed).collect();
    order.sort_unstable();
    order.into_iter().map(|(.., i)| i).collect()
}
