//! Operator profiles: the records that are alive at a step. Their sizes add up to the step's breadth.

use std::cmp::Reverse;

use super::{
    error::{InputError, PlanError},
    record::UsageRecord,
    uses::MAX_STEPS,
};

/// Upper limit on the entries of profiles: half a gigabyte, far more than any network needs.
const MAX_ENTRIES: usize = 1 << 26;

/// Returns the records alive at each step from 0 on, largest first, equal sizes by index. These are the operator
/// profiles of Pisarchyk and Lee (2020), section 3.
///
/// ```
/// use texpool_plan::{UsageRecord, operator_profiles};
///
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 8)];
/// assert_eq!(operator_profiles(&records)?, [vec![0], vec![1, 0], vec![1]]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or if the list would be too long.
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

/// Returns the breadth of each step at which a record is born or dies, in step order.
///
/// At the steps in between, the live records are a subset of those at a neighbouring step, so Greedy by Breadth would
/// place nothing there. Steps may also be as far apart as a `usize` allows.
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

/// A segment tree that returns the minimum of any range of a list in `O(log n)`.
struct RangeMinimum(Vec<usize>);

impl RangeMinimum {
    fn new(list: &[usize]) -> Self {
        let mut tree = vec![usize::MAX; list.len()];
        tree.extend(list);
        for node in (1..list.len()).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        Self(tree)
    }

    /// Returns the minimum of `from..to`.
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

/// Rule for ties between steps of equal breadth, and between tensors of equal size at a step. The paper leaves both
/// open.
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

/// Returns the order of Greedy by Breadth: steps from the largest breadth to the smallest, and at each step the
/// records that did not occur at an earlier one, largest first. The sum of sizes must not overflow.
pub(super) fn by_breadth(records: &[UsageRecord], ties: Ties) -> Vec<usize> {
    let steps = breadths(records);
    let mut widest: Vec<usize> = (0..steps.len()).collect();
    if matches!(ties, Ties::Higher | Ties::LaterStep) {
        widest.reverse();
    }
    widest.sort_by_key(|&at| Reverse(steps[at].1));
    let mut rank = vec![0; steps.len()];
    widest.into_iter().enumerate().for_each(|(place, at)| rank[at] = place);
    // A record is placed at the first step in that order at which it is alive, so its rank is the minimum over its
    // steps.
    let ranks = RangeMinimum::new(&rank);
    let sort_key = |(i, r): (usize, &UsageRecord)| {
        let from = steps.partition_point(|&(step, _)| step < r.first);
        let to = from + steps[from..].partition_point(|&(step, _)| step <= r.last);
        let index = if matches!(ties, Ties::Higher | Ties::HigherTensor) { records.len() - i } else { i };
        (ranks.of(from, to), Reverse(r.size), index, i)
    };
    let mut order: Vec<(usize, Reverse<u64>, usize, usize)> = records.iter().enumerate().map(sort_key).collect();
    order.sort_unstable();
    order.into_iter().map(|(.., i)| i).collect()
}
