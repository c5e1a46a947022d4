//! Which span inside given walls comes first: a tree over spans, split by start and by end in turns (Bentley 1975).

/// Spans a leaf holds at most.
const LEAF: usize = 8;

/// A span that waits.
#[derive(Clone, Copy)]
struct Span {
    from: u32,
    to: u32,
    /// Where it comes; [`GONE`] once taken.
    rank: u32,
}

/// The rank of a span that was taken.
const GONE: u32 = u32::MAX;

/// What is known of all spans below a node.
#[derive(Clone, Copy)]
struct Node {
    from: (u32, u32),
    to: (u32, u32),
    first: u32,
}

const NOTHING: Node = Node { from: (u32::MAX, 0), to: (u32::MAX, 0), first: GONE };

/// Spans, each with a rank of its own from 0 on.
pub(super) struct Spans {
    spans: Vec<Span>,
    /// Where the span of each rank stands in `spans`.
    at: Vec<u32>,
    /// A binary tree: the children of `i` are `2i` and `2i + 1`, the root is 1.
    nodes: Vec<Node>,
}

impl Spans {
    /// Spans from a start up to, and without, an end, in order of rank.
    pub(super) fn new(ranked: impl Iterator<Item = (usize, usize)>) -> Self {
        let span =
            |(rank, (from, to)): (usize, (usize, usize))| Span { from: from as u32, to: to as u32, rank: rank as u32 };
        let spans: Vec<Span> = ranked.enumerate().map(span).collect();
        let leaves = spans.len().div_ceil(LEAF).next_power_of_two();
        let mut tree = Self { at: vec![0; spans.len()], nodes: vec![NOTHING; 2 * leaves], spans };
        tree.build(1, 0, tree.spans.len(), false);
        for (at, span) in tree.spans.iter().enumerate() {
            tree.at[span.rank as usize] = at as u32;
        }
        tree
    }

    /// Both halves of `lo..hi` belong to the children of a node; the halves of a tree are as even as can be, so no
    /// branch is longer than the logarithm.
    fn build(&mut self, node: usize, lo: usize, hi: usize, by_end: bool) {
        if node >= self.nodes.len() / 2 {
            self.nodes[node] = self.spans[lo..hi].iter().fold(NOTHING, |n, s| Node {
                from: (n.from.0.min(s.from), n.from.1.max(s.from)),
                to: (n.to.0.min(s.to), n.to.1.max(s.to)),
                first: n.first.min(s.rank),
            });
            return;
        }
        let mid = lo.midpoint(hi);
        if lo < mid {
            let key = |s: &Span| if by_end { s.to } else { s.from };
            self.spans[lo..hi].select_nth_unstable_by_key(mid - lo, key);
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

    /// The rank of the first span inside `from..to`.
    pub(super) fn first_inside(&self, from: usize, to: usize) -> Option<usize> {
        let mut first = GONE;
        self.search(1, 0, self.spans.len(), (from as u32, to as u32), &mut first);
        (first != GONE).then_some(first as usize)
    }

    fn search(&self, node: usize, lo: usize, hi: usize, walls: (u32, u32), first: &mut u32) {
        let n = &self.nodes[node];
        if n.first >= *first || n.from.1 < walls.0 || n.to.0 > walls.1 {
            return;
        }
        if n.from.0 >= walls.0 && n.to.1 <= walls.1 {
            *first = n.first;
        } else if node >= self.nodes.len() / 2 {
            let inside = self.spans[lo..hi].iter().filter(|s| s.from >= walls.0 && s.to <= walls.1);
            *first = inside.map(|s| s.rank).fold(*first, u32::min);
        } else {
            // The child with the earlier span first: it often spares the other.
            let mid = lo.midpoint(hi);
            let mut children = [(2 * node, lo, mid), (2 * node + 1, mid, hi)];
            children.sort_by_key(|&(child, ..)| self.nodes[child].first);
            for (child, lo, hi) in children {
                self.search(child, lo, hi, walls, first);
            }
        }
    }

    /// Takes the span of a rank out.
    pub(super) fn take(&mut self, rank: usize) {
        let at = self.at[rank] as usize;
        self.spans[at].rank = GONE;
        let (mut node, mut lo, mut hi) = (1, 0usize, self.spans.len());
        while node < self.nodes.len() / 2 {
            let mid = lo.midpoint(hi);
            (node, lo, hi) = if at < mid { (2 * node, lo, mid) } else { (2 * node + 1, mid, hi) };
        }
        self.nodes[node].first = self.spans[lo..hi].iter().map(|s| s.rank).min().unwrap_or(GONE);
        while node > 1 {
            node /= 2;
            self.nodes[node].first = self.nodes[2 * node].first.min(self.nodes[2 * node + 1].first);
        }
    }
}
