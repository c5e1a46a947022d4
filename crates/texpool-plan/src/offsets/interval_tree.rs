//! Finds the first of the intervals that lie inside a range, with a k-d tree (Bentley 1975) over their starts and
//! ends.

/// Largest number of intervals in a leaf: reading this many costs no more than another level of the tree. A guess.
const LEAF_SIZE: usize = 8;

/// An interval `from..to`.
#[derive(Clone, Copy)]
struct Interval {
    from: u32,
    to: u32,
    /// Its position among all intervals; [`TAKEN`] once it is removed.
    rank: u32,
}

/// Rank of a removed interval. It is above every other rank, so that the interval is never the first.
const TAKEN: u32 = u32::MAX;

/// Smallest and largest start, smallest and largest end, and smallest rank of the intervals below a node.
#[derive(Clone, Copy)]
struct Node {
    from: (u32, u32),
    to: (u32, u32),
    first: u32,
}

const EMPTY: Node = Node { from: (u32::MAX, 0), to: (u32::MAX, 0), first: TAKEN };

/// Intervals with distinct ranks, counted from 0.
pub(super) struct IntervalTree {
    intervals: Vec<Interval>,
    /// Index in `intervals` of each rank.
    index_of: Vec<u32>,
    /// A binary tree: the children of `i` are `2i` and `2i + 1`; the root is 1.
    nodes: Vec<Node>,
}

impl IntervalTree {
    /// Creates the tree of intervals `from..to` that are given in order of rank.
    pub(super) fn new(ranked: impl Iterator<Item = (usize, usize)>) -> Self {
        let interval = |(rank, (from, to)): (usize, (usize, usize))| Interval {
            from: from as u32,
            to: to as u32,
            rank: rank as u32,
        };
        let intervals: Vec<Interval> = ranked.enumerate().map(interval).collect();
        let leaves = intervals.len().div_ceil(LEAF_SIZE).next_power_of_two();
        let mut tree = Self { index_of: vec![0; intervals.len()], nodes: vec![EMPTY; 2 * leaves], intervals };
        tree.build(1, 0, tree.intervals.len(), false);
        for (index, interval) in tree.intervals.iter().enumerate() {
            tree.index_of[interval.rank as usize] = index as u32;
        }
        tree
    }

    /// Builds the node of `intervals[lo..hi]`, split at the median start or, at every other level, at the median end.
    fn build(&mut self, node: usize, lo: usize, hi: usize, by_end: bool) {
        if node >= self.nodes.len() / 2 {
            self.nodes[node] = self.intervals[lo..hi].iter().fold(EMPTY, |n, s| Node {
                from: (n.from.0.min(s.from), n.from.1.max(s.from)),
                to: (n.to.0.min(s.to), n.to.1.max(s.to)),
                first: n.first.min(s.rank),
            });
            return;
        }
        let mid = lo.midpoint(hi);
        if lo < mid {
            let key = |s: &Interval| if by_end { s.to } else { s.from };
            self.intervals[lo..hi].select_nth_unstable_by_key(mid - lo, key);
        }
        self.build(2 * node, lo, mid, !by_end);
        self.build(2 * node + 1, mid, hi, !by_end);
        let (a, b) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        self.nodes[node] = Node {
            from: (a.from.0.min(b.from.0), a.from.1.max(b.from.1)),
            to: (a.to.0.min(b.to.0), a.to.1.max(b.to.1)),
            first: a.first.min(b.first),
        };
    }

    /// Returns the smallest rank of an interval inside `from..to`.
    pub(super) fn first_inside(&self, from: usize, to: usize) -> Option<usize> {
        let mut first = TAKEN;
        self.search(1, 0, self.intervals.len(), (from as u32, to as u32), &mut first);
        (first != TAKEN).then_some(first as usize)
    }

    fn search(&self, node: usize, lo: usize, hi: usize, range: (u32, u32), first: &mut u32) {
        let n = &self.nodes[node];
        if n.first >= *first || n.from.1 < range.0 || n.to.0 > range.1 {
            return;
        }
        if n.from.0 >= range.0 && n.to.1 <= range.1 {
            *first = n.first;
        } else if node >= self.nodes.len() / 2 {
            let inside = self.intervals[lo..hi].iter().filter(|s| s.from >= range.0 && s.to <= range.1);
            *first = inside.map(|s| s.rank).fold(*first, u32::min);
        } else {
            // Searches the child with the smaller rank first. If that interval is inside, the other child need not be
            // searched.
            let mid = lo.midpoint(hi);
            let mut children = [(2 * node, lo, mid), (2 * node + 1, mid, hi)];
            children.sort_by_key(|&(child, ..)| self.nodes[child].first);
            for (child, lo, hi) in children {
                self.search(child, lo, hi, range, first);
            }
        }
    }

    /// Removes the interval with a rank.
    pub(super) fn take(&mut self, rank: usize) {
        let index = self.index_of[rank] as usize;
        self.intervals[index].rank = TAKEN;
        let (mut node, mut lo, mut hi) = (1, 0usize, self.intervals.len());
        while node < self.nodes.len() / 2 {
            let mid = lo.midpoint(hi);
            (node, lo, hi) = if index < mid { (2 * node, lo, mid) } else { (2 * node + 1, mid, hi) };
        }
        self.nodes[node].first = self.intervals[lo..hi].iter().map(|s| s.rank).min().unwrap_or(TAKEN);
        while node > 1 {
            node /= 2;
            self.nodes[node].first = self.nodes[2 * node].first.min(self.nodes[2 * node + 1].first);
        }
    }
}
