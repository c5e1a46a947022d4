//! Operator profiles: which records are alive at a step, and how wide the step is.

use std::cmp::Reverse;

use super::{MAX_STEPS, PlanError, UsageRecord};

/// Entries above which profiles are refused rather than listed.
const MAX_ENTRIES: usize = 1 << 26;

/// The records alive at each step from 0 on, largest first, equals by index: the operator profiles of Pisarchyk and
/// Lee (2020), section 3.
///
/// # Errors
/// [`PlanError::ReversedInterval`], or [`PlanError::TooManySteps`] if the list would be too long to be of use.
pub fn operator_profiles(records: &[UsageRecord]) -> Result<Vec<Vec<usize>>, PlanError> {
    let mut entries = 0usize;
    for (record, r) in records.iter().enumerate() {
        if r.first > r.last {
            return Err(PlanError::ReversedInterval { record, first: r.first, last: r.last });
        }
        entries = entries.saturating_add(r.last - r.first).saturating_add(1);
        if r.last >= MAX_STEPS || entries > MAX_ENTRIES {
            return Err(PlanError::TooManySteps { record, last: r.last, limit: MAX_STEPS });
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

/// Records by birth in a tree of latest deaths: finds, and forgets, those alive at a step.
///
/// Every record is found once in all, so a pass over all steps costs `O(n log n)` however long the records live.
struct AliveOnce {
    births: Vec<usize>,
    record_of: Vec<usize>,
    /// Latest death below each node; `None` where nothing is left.
    tree: Vec<Option<usize>>,
    leaves: usize,
}

impl AliveOnce {
    fn new(records: &[UsageRecord]) -> Self {
        let mut record_of: Vec<usize> = (0..records.len()).collect();
        record_of.sort_by_key(|&i| records[i].first);
        let leaves = records.len().next_power_of_two();
        let mut tree = vec![None; 2 * leaves];
        for (leaf, &i) in record_of.iter().enumerate() {
            tree[leaves + leaf] = Some(records[i].last);
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].max(tree[2 * node + 1]);
        }
        Self { births: record_of.iter().map(|&i| records[i].first).collect(), record_of, tree, leaves }
    }

    /// The records alive at `step` that no earlier call returned.
    fn take(&mut self, step: usize) -> Vec<usize> {
        let born = self.births.partition_point(|&first| first <= step);
        let mut found = Vec::new();
        self.walk(1, 0, self.leaves, born, step, &mut found);
        found
    }

    fn walk(&mut self, node: usize, from: usize, to: usize, born: usize, step: usize, found: &mut Vec<usize>) {
        if from >= born || self.tree[node] < Some(step) {
            return;
        }
        if node >= self.leaves {
            self.tree[node] = None;
            found.push(self.record_of[from]);
            return;
        }
        let middle = from.midpoint(to);
        self.walk(2 * node, from, middle, born, step, found);
        self.walk(2 * node + 1, middle, to, born, step, found);
        self.tree[node] = self.tree[2 * node].max(self.tree[2 * node + 1]);
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
    let mut steps = breadths(records);
    if matches!(ties, Ties::Higher | Ties::LaterStep) {
        steps.reverse();
    }
    steps.sort_by_key(|&(_, breadth)| Reverse(breadth));
    let mut alive = AliveOnce::new(records);
    let mut order = Vec::with_capacity(records.len());
    for (step, _) in steps {
        let mut profile = alive.take(step);
        profile.sort_unstable();
        if matches!(ties, Ties::Higher | Ties::HigherTensor) {
            profile.reverse();
        }
        profile.sort_by_key(|&i| Reverse(records[i].size));
        order.extend(profile);
    }
    order
}
