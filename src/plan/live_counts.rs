//! How many are alive at each point of a timeline while they come one by one, and at how many most: a tree of maximums.

use super::record::UsageRecord;

/// Counts over points, each stretch added in `O(log n)`.
pub(super) struct Load {
    /// The most below each node, what was added at it included; leaves are the last half.
    most: Vec<usize>,
    /// What was added to all points below each inner node.
    all: Vec<usize>,
}

impl Load {
    /// None alive, at `points` points.
    pub(super) fn new(points: usize) -> Self {
        let leaves = points.next_power_of_two();
        Self { most: vec![0; 2 * leaves], all: vec![0; leaves] }
    }

    /// One more from point `from` up to, and without, `to`; answers the most at any point.
    pub(super) fn add(&mut self, from: usize, to: usize) -> usize {
        let leaves = self.all.len();
        let (mut left, mut right) = (from + leaves, to + leaves);
        while left < right {
            if left % 2 == 1 {
                self.raise(left);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.raise(right);
            }
            (left, right) = (left / 2, right / 2);
        }
        if from < to {
            // No node above this level was raised itself.
            let raised = (to - from).ilog2() + 1;
            self.rebuild(from + leaves, raised);
            self.rebuild(to - 1 + leaves, raised);
        }
        self.most[1]
    }

    fn raise(&mut self, node: usize) {
        self.most[node] += 1;
        if let Some(all) = self.all.get_mut(node) {
            *all += 1;
        }
    }

    /// Brings the nodes above a leaf up to date; above level `raised`, what is above one that stays is up to date.
    fn rebuild(&mut self, mut node: usize, raised: u32) {
        let mut level = 0;
        while node > 1 {
            node /= 2;
            level += 1;
            let most = self.most[2 * node].max(self.most[2 * node + 1]) + self.all[node];
            if level > raised && self.most[node] == most {
                return;
            }
            self.most[node] = most;
        }
    }
}

/// The points at which lives begin, in order: whatever is alive together is so at one of them.
pub(super) fn births(records: &[UsageRecord]) -> Vec<usize> {
    let mut births: Vec<usize> = records.iter().map(|r| r.first).collect();
    births.sort_unstable();
    births.dedup();
    births
}

/// The points at which a record is alive, from and without.
pub(super) fn span(births: &[usize], r: &UsageRecord) -> (usize, usize) {
    let from = births.partition_point(|&birth| birth < r.first);
    (from, from + births[from..].partition_point(|&birth| birth <= r.last))
}
