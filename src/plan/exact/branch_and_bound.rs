//! Branch and bound over the relaxation: finds the optimum, then keeps as much of the tree as the proof needs. Nothing
//! recurses, for the tree may be as deep as relaxations may be many.

use super::{
    model::Model,
    prices::prices,
    proof::{Case, Proof},
    relax::{Branch, Narrowed, Relaxation, Slackness},
};
use crate::plan::control::{Progress, SearchControl, StopReason};

/// A node of the search, as much of it as the proof may need.
struct Node {
    /// Least cost below it, in units; as much as one likes if nothing satisfies it.
    bound: u64,
    /// What its prices must keep to; `None` where nothing is known.
    slackness: Option<Slackness>,
    /// What was branched on, and the nodes of the two sides, which come after this one.
    split: Option<[(Branch, usize); 2]>,
}

/// A node whose sides are still to be explored.
struct Open {
    node: usize,
    relaxation: Relaxation,
    branches: [Branch; 2],
    /// The node of the first side, once it is explored.
    first: Option<usize>,
}

/// What the search has so far.
pub(super) struct Search<'a> {
    model: &'a Model,
    /// Cost of the best levels, in units.
    pub(super) best: u64,
    /// Level of each tensor; `None` while the caller's own plan is best.
    pub(super) levels: Option<Vec<usize>>,
    /// Relaxations solved, of those that may be.
    pub(super) solved: u64,
    most: u64,
    /// Why the search ended early, where it did.
    pub(super) stopped: Option<StopReason>,
    nodes: Vec<Node>,
}

/// Bytes that the relaxations of nodes whose sides are still to be explored may take.
const MAX_BYTES: usize = 1 << 29;

/// Bytes that a relaxation takes for an entry of its matrix: both ways to read it, and its factors.
const ENTRY_BYTES: usize = 128;

impl<'a> Search<'a> {
    /// A search for less than `best` units.
    pub(super) fn new(model: &'a Model, best: u64, nodes: u64) -> Self {
        Self { model, best, levels: None, solved: 0, most: nodes, stopped: None, nodes: Vec::new() }
    }

    /// Runs the search until `control` stops it; the proof of the best bound found, and that bound in units. The time
    /// of the proof is a part of `control`'s.
    pub(super) fn run(&mut self, control: &SearchControl<'_>) -> Option<(u64, Proof)> {
        let searched = control.share(2, 3);
        let root = Relaxation::solve(self.model, self.best, &searched, &mut || self.tell(&searched));
        if let Some(root) = root {
            self.explore(root, &searched);
        }
        self.stopped = searched.stopped();
        if self.nodes.is_empty() {
            return None;
        }
        let proven = self.proven().min(self.best);
        let cases = self.proof(proven, control)?;
        Some((proven, Proof::from_cases(self.assume(cases))?))
    }

    fn tell(&self, control: &SearchControl<'_>) {
        let best = Some(self.best.saturating_mul(self.model.unit()));
        control.report(Progress { stage: "exact search", done: self.solved, total: self.most, best });
    }

    /// Puts what the model takes for granted in front of the proof, the first of it outermost.
    fn assume(&self, proof: Vec<Case>) -> Vec<Case> {
        let (mut cases, mut after) = (Vec::new(), Vec::new());
        for assumption in &self.model.assumed {
            let (size, count) = (self.model.levels[assumption.level], assumption.count as u64);
            cases.push(Case::Count { size, count });
            let otherwise = Case::Leaf(assumption.otherwise.clone());
            // The side of fewer comes first.
            if assumption.at_least { &mut cases } else { &mut after }.push(otherwise);
        }
        cases.extend(proof);
        cases.extend(after.into_iter().rev());
        cases
    }

    fn explore(&mut self, root: Relaxation, control: &SearchControl<'_>) {
        let model = self.model;
        let root_bound = root.bound();
        let deepest = MAX_BYTES / (ENTRY_BYTES * model.entries()).max(1);
        let mut open: Vec<Open> = Vec::new();
        open.extend(self.visit(root, control).1);
        while let Some(mut at) = open.pop() {
            let branch = at.branches[usize::from(at.first.is_some())];
            let bound = self.nodes[at.node].bound;
            let mut below = None;
            let narrowed = at.relaxation.narrow(model, branch, control, &mut || self.tell(control));
            let side = match narrowed {
                // Once the root's bound is reached, the root alone is the proof.
                Narrowed::Solved(_) if self.best <= root_bound => self.push(bound),
                Narrowed::Solved(narrowed) => {
                    let (side, opened) = self.visit(narrowed, control);
                    below = opened.filter(|_| open.len() < deepest);
                    side
                }
                Narrowed::Nothing => self.push(u64::MAX),
                Narrowed::Stopped => self.push(bound),
            };
            match at.first {
                Some(first) => self.nodes[at.node].split = Some([(at.branches[0], first), (at.branches[1], side)]),
                None => {
                    at.first = Some(side);
                    open.push(at);
                }
            }
            open.extend(below);
        }
    }

    fn push(&mut self, bound: u64) -> usize {
        self.nodes.push(Node { bound, slackness: None, split: None });
        self.nodes.len() - 1
    }

    /// Notes what a relaxation shows: its node, and the branching to go on with, where there is one.
    fn visit(&mut self, relaxation: Relaxation, control: &SearchControl<'_>) -> (usize, Option<Open>) {
        let model = self.model;
        self.solved += 1;
        let bound = relaxation.bound();
        let node = self.push(bound);
        self.nodes[node].slackness = Some(relaxation.slackness(model));
        if bound < self.best {
            let levels = relaxation.rounded(model);
            let cost = cost(model, &levels);
            if cost < self.best {
                (self.best, self.levels) = (cost, Some(levels));
            }
        }
        self.tell(control);
        if bound >= self.best || self.solved >= self.most || control.should_stop() {
            return (node, None);
        }
        let open = relaxation.fraction(model);
        (node, open.map(|(one, other)| Open { node, relaxation, branches: [one, other], first: None }))
    }

    /// The bound that the tree below each node proves; sides come after their node.
    fn bounds(&self) -> Vec<u64> {
        let mut proven: Vec<u64> = self.nodes.iter().map(|node| node.bound).collect();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if let Some(sides) = &node.split {
                proven[at] = node.bound.max(proven[sides[0].1].min(proven[sides[1].1]));
            }
        }
        proven
    }

    fn proven(&self) -> u64 {
        self.bounds().first().copied().unwrap_or(0)
    }

    /// The cases that prove `target` units, each with prices.
    fn proof(&self, target: u64, control: &SearchControl<'_>) -> Option<Vec<Case>> {
        /// What is to be done next.
        enum Next {
            Prove(usize),
            Enter(Branch),
            Leave,
        }
        let model = self.model;
        let mut cases = Vec::new();
        let mut path: Vec<Branch> = Vec::new();
        let mut next = vec![Next::Prove(0)];
        while let Some(step) = next.pop() {
            let node = match step {
                Next::Enter(branch) => {
                    path.push(branch);
                    continue;
                }
                Next::Leave => {
                    path.pop();
                    continue;
                }
                Next::Prove(node) => &self.nodes[node],
            };
            let Some([one, other]) = node.split.as_ref().filter(|_| node.bound < target) else {
                let mut waits = || self.tell(control);
                waits();
                // Where rounding has misled the slackness, prices are looked for without it.
                let led = node.slackness.as_ref();
                let led = led.and_then(|s| prices(model, &path, Some(s), target, control, &mut waits));
                cases.push(Case::Leaf(led.or_else(|| prices(model, &path, None, target, control, &mut waits))?));
                continue;
            };
            let (case, first, second) = match one.0 {
                Branch::AtLeast { level, count } => {
                    (Case::Count { size: model.levels[level], count: count as u64 }, other, one)
                }
                Branch::AtMost { level, count } => {
                    (Case::Count { size: model.levels[level], count: count as u64 + 1 }, one, other)
                }
                Branch::Below { tensor, level } => {
                    (Case::Record { record: model.record_of[tensor], size: model.levels[level] }, one, other)
                }
                Branch::AtOrAbove { tensor, level } => {
                    (Case::Record { record: model.record_of[tensor], size: model.levels[level] }, other, one)
                }
            };
            cases.push(case);
            for (branch, node) in [second, first] {
                // The last is done first.
                next.extend([Next::Leave, Next::Prove(*node), Next::Enter(*branch)]);
            }
        }
        Some(cases)
    }
}

/// What levels cost, in units: each level as many objects as its tensors are alive at once.
fn cost(model: &Model, levels: &[usize]) -> u64 {
    let unit = model.unit();
    let objects = |level: usize| {
        let on_level = |members: &Vec<usize>| members.iter().filter(|&&j| levels[j] == level).count();
        model.cliques[level].iter().map(|clique| on_level(&clique.members)).max().unwrap_or(0) as u64
    };
    model.levels.iter().enumerate().map(|(level, size)| size / unit * objects(level)).sum()
}
