//! Counts the tensors alive at once while they are added one by one: a segment tree with range addition and a global
//! maximum.

/// A count for each section of the timeline. Adding one to a range of them takes `O(log n)`.
pub(super) struct LiveCounts {
    /// For each node, the maximum below it, including additions to the node itself. The second half are the leaves.
    maximums: Vec<usize>,
    /// For each inner node, the sum added to all sections below it.
    pending: Vec<usize>,
}

impl LiveCounts {
    /// Creates counts of zero in `sections` sections.
    pub(super) fn new(sections: usize) -> Self {
        let leaves = sections.next_power_of_two();
        Self { maximums: vec![0; 2 * leaves], pending: vec![0; leaves] }
    }

    /// Counts one more tensor in the sections `from..to`. Returns the largest count of any section.
    pub(super) fn add(&mut self, from: usize, to: usize) -> usize {
        let leaves = self.pending.len();
        let (mut left, mut right) = (from + leaves, to + leaves);
        while left < right {
            if left % 2 == 1 {
                self.increment(left);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.increment(right);
            }
            (left, right) = (left / 2, right / 2);
        }
        if from < to {
            // A node above this level covers sections outside the range, so it was not incremented directly.
            let incremented = (to - from).ilog2() + 1;
            self.update_ancestors(from + leaves, incremented);
            self.update_ancestors(to - 1 + leaves, incremented);
        }
        self.maximums[1]
    }

    fn increment(&mut self, node: usize) {
        self.maximums[node] += 1;
        if let Some(pending) = self.pending.get_mut(node) {
            *pending += 1;
        }
    }

    /// Recomputes the maximums of the nodes above a leaf. Above level `incremented` it can stop at a maximum that
    /// does not change.
    fn update_ancestors(&mut self, mut node: usize, incremented: u32) {
        let mut level = 0;
        while node > 1 {
            node /= 2;
            level += 1;
            let maximum = self.maximums[2 * node].max(self.maximums[2 * node + 1]) + self.pending[node];
            if level > incremented && self.maximums[node] == maximum {
                return;
            }
            self.maximums[node] = maximum;
        }
    }
}
