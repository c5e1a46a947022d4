//! Branch and bound: finds the optimum, and builds the proof from the nodes of the tree. It does not recurse, because
//! the tree may be as deep as the allowed number of relaxations.

use super::{
    model::{Clique, Model},
    prices::prices,
    proof::{Case, Proof},
    relaxation::{Branch, Branched, Relaxation, Slackness},
};
use crate::control::{Progress, SearchControl, StopReason};

/// A node of the tree, with the data needed for the proof.
struct Node {
    /// Lower bound on the cost below the node, in units; `u64::MAX` if no solution exists there.
    bound: u64,
    /// Conditions for its prices; `None` if its relaxation was not solved.
    slackness: Option<Slackness>,
    /// The two branches with their nodes. These nodes come after this one in the list.
    children: Option<[(Branch, usize); 2]>,
}

/// A node with an unexplored branch.
struct OpenNode {
    node: usize,
    relaxation: Relaxation,
    branches: [Branch; 2],
    /// The node of the first branch, once it is explored.
    first: Option<usize>,
}

/// The search and its current results.
pub(super) struct BranchAndBound<'a> {
    model: &'a Model,
    /// Cost of the best levels, in units.
    pub(super) best: u64,
    /// Level of each tensor; `None` while the caller's plan is the best.
    pub(super) levels: Option<Vec<usize>>,
    /// Number of relaxations already solved. The limit is `max_nodes`.
    pub(super) solved: u64,
    max_nodes: u64,
    /// Reason why the search ended early, if it did.
    pub(super) stopped: Option<StopReason>,
    nodes: Vec<Node>,
}

/// Upper limit on memory for the relaxations of open nodes: each is a copy of the solver's factorised matrix. Nodes
/// beyond it are not explored. A chosen value.
const MAX_OPEN_BYTES: usize = 1 << 29;

/// Bytes that a relaxation takes per entry of its matrix. `microlp` stores the entries by rows and by columns, with
/// the factors. An estimate.
const BYTES_PER_ENTRY: usize = 128;

impl<'a> BranchAndBound<'a> {
    /// Creates a search for plans of less than `best` units.
    pub(super) fn new(model: &'a Model, best: u64, nodes: u64) -> Self {
        Self { model, best, levels: None, solved: 0, max_nodes: nodes, stopped: None, nodes: Vec::new() }
    }

    /// Runs the search until `control` stops it. Returns the best lower bound in units, with its proof. A third of
    /// the time is reserved for the proof, which solves a linear program for each leaf.
    pub(super) fn run(&mut self, control: &SearchControl<'_>) -> Option<(u64, Proof)> {
        let searched = control.share(2, 3);
        let root = Relaxation::solve(self.model, self.best, &searched, &mut || self.report(&searched));
        if let Some(root) = root {
            self.explore(root, &searched);
        }
        self.stopped = searched.stopped();
        if self.nodes.is_empty() {
            return None;
        }
        let proven = self.proven().min(self.best);
        let cases = self.proof(proven, control)?;
        Some((proven, Proof::from_cases(self.with_assumptions(cases))?))
    }

    fn report(&self, control: &SearchControl<'_>) {
        let best = Some(self.best.saturating_mul(self.model.unit()));
        control.report(Progress { stage: "exact search", done: self.solved, total: self.max_nodes, best });
    }

    /// Wraps the proof in the cases of the model's assumptions, with the first assumption outermost.
    fn with_assumptions(&self, proof: Vec<Case>) -> Vec<Case> {
        let (mut cases, mut after) = (Vec::new(), Vec::new());
        for assumption in &self.model.assumed {
            let (size, count) = (self.model.levels[assumption.level], assumption.count as u64);
            cases.push(Case::Count { size, count });
            let otherwise = Case::Leaf(assumption.otherwise.clone());
            // In a case by count, the side with fewer objects comes first.
            if assumption.at_least { &mut cases } else { &mut after }.push(otherwise);
        }
        cases.extend(proof);
        cases.extend(after.into_iter().rev());
        cases
    }

    fn explore(&mut self, root: Relaxation, control: &SearchControl<'_>) {
        let model = self.model;
        let root_bound = root.bound();
        let max_open = MAX_OPEN_BYTES / (BYTES_PER_ENTRY * model.entries()).max(1);
        let mut open: Vec<OpenNode> = Vec::new();
        open.extend(self.visit(root, control).1);
        while let Some(mut parent) = open.pop() {
            let branch = parent.branches[usize::from(parent.first.is_some())];
            let bound = self.nodes[parent.node].bound;
            let mut opened = None;
            let branched = parent.relaxation.branch(model, branch, control, &mut || self.report(control));
            let child = match branched {
                // A plan that reaches the root's bound is optimal, and then the root alone is the proof.
                Branched::Solved(_) if self.best <= root_bound => self.push(bound),
                Branched::Solved(relaxation) => {
                    let (child, open_child) = self.visit(relaxation, control);
                    opened = open_child.filter(|_| open.len() < max_open);
                    child
                }
                Branched::None => self.push(u64::MAX),
                Branched::Stopped => self.push(bound),
            };
            match parent.first {
                Some(first) => {
                    let [one, other] = parent.branches;
                    self.nodes[parent.node].children = Some([(one, first), (other, child)]);
                }
                None => {
                    parent.first = Some(child);
                    open.push(parent);
                }
            }
            open.extend(opened);
        }
    }

    fn push(&mut self, bound: u64) -> usize {
        self.nodes.push(Node { bound, slackness: None, children: None });
        self.nodes.len() - 1
    }

    /// Adds the node of a relaxation, and keeps its rounded solution if it is the best yet. Returns the node as open
    /// if its bound is below the best cost and its solution is fractional.
    fn visit(&mut self, relaxation: Relaxation, control: &SearchControl<'_>) -> (usize, Option<OpenNode>) {
        let model = self.model;
        self.solved += 1;
        let bound = relaxation.bound();
        let node = self.push(bound);
        self.nodes[node].slackness = Some(relaxation.slackness(model));
        // Rounding is cheap and often optimal on networks, so most nodes never have to be opened.
        if bound < self.best {
            let levels = relaxation.rounded(model);
            let cost = cost(model, &levels);
            if cost < self.best {
                (self.best, self.levels) = (cost, Some(levels));
            }
        }
        self.report(control);
        if bound >= self.best || self.solved >= self.max_nodes || control.should_stop() {
            return (node, None);
        }
        let branches = relaxation.most_fractional(model);
        (node, branches.map(|(one, other)| OpenNode { node, relaxation, branches: [one, other], first: None }))
    }

    /// Returns the bound proven by the tree below each node. Children come after their parent in the list.
    fn bounds(&self) -> Vec<u64> {
        let mut proven: Vec<u64> = self.nodes.iter().map(|node| node.bound).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some([(_, one), (_, other)]) = &node.children {
                proven[index] = node.bound.max(proven[*one].min(proven[*other]));
            }
        }
        proven
    }

    fn proven(&self) -> u64 {
        self.bounds().first().copied().unwrap_or(0)
    }

    /// Returns the cases that prove `target` units, with prices for each leaf.
    fn proof(&self, target: u64, control: &SearchControl<'_>) -> Option<Vec<Case>> {
        /// Takes the place of a recursive call.
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
            let Some([one, other]) = node.children.as_ref().filter(|_| node.bound < target) else {
                let mut on_wait = || self.report(control);
                on_wait();
                // The solver's tolerance may make the slackness contradictory; then prices are computed without it.
                let slackness = node.slackness.as_ref();
                let fast = slackness.and_then(|s| prices(model, &path, Some(s), target, control, &mut on_wait));
                cases.push(Case::Leaf(fast.or_else(|| prices(model, &path, None, target, control, &mut on_wait))?));
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
                // This is a stack: the last entry is processed first.
                next.extend([Next::Leave, Next::Prove(*node), Next::Enter(*branch)]);
            }
        }
        Some(cases)
    }
}

/// Returns the cost of levels, in units. A level needs as many objects as it has tensors alive at once.
fn cost(model: &Model, levels: &[usize]) -> u64 {
    let unit = model.unit();
    let objects = |level: usize| {
        let on_level = |clique: &Clique| clique.members.iter().filter(|&&j| levels[j] == level).count();
        model.cliques[level].iter().map(on_level).max().unwrap_or(0) as u64
    };
    model.levels.iter().enumerate().map(|(level, size)| size / unit * objects(level)).sum()
}
