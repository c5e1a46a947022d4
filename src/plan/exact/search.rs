//! Branch and bound over the relaxation: finds the optimum, then keeps as much of the tree as the proof needs.

use super::{
    certificate::{Prices, Proof},
    model::Model,
    prices::prices,
    relax::{Branch, Relaxation, Slackness},
};

/// A node of the search, as much of it as the proof may need.
struct Node {
    /// Least cost below it, in units; as much as one likes if nothing satisfies it.
    bound: u64,
    /// What its prices must keep to; `None` where nothing is known.
    slackness: Option<Slackness>,
    split: Option<Box<[(Branch, Node); 2]>>,
}

/// What the search has so far.
pub(super) struct Search<'a> {
    model: &'a Model,
    /// Cost of the best levels, in units.
    pub(super) best: u64,
    /// Level of each tensor; `None` while the caller's own plan is best.
    pub(super) levels: Option<Vec<usize>>,
    /// Relaxations that may still be solved.
    pub(super) nodes_left: u64,
    /// Told the number of relaxations solved and the best cost, in units.
    progress: &'a mut dyn FnMut(u64, u64),
    solved: u64,
}

impl<'a> Search<'a> {
    /// A search for less than `best` units.
    pub(super) fn new(model: &'a Model, best: u64, nodes: u64, progress: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self { model, best, levels: None, nodes_left: nodes, progress, solved: 0 }
    }

    /// Runs the search; the proof of the best bound found, and that bound in units.
    pub(super) fn run(&mut self) -> Option<(u64, Proof)> {
        let root = Relaxation::solve(self.model, self.best)?;
        let root_bound = root.bound();
        let tree = self.explore(root, root_bound);
        let proven = tree.proven().min(self.best);
        let proof = tree.proof(self.model, proven, &mut Vec::new())?;
        Some((proven, self.assume(proof)))
    }

    /// Puts what the model takes for granted in front of the proof, the first of it outermost.
    fn assume(&self, proof: Proof) -> Proof {
        self.model.assumed.iter().rev().fold(proof, |proof, assumption| {
            let (size, count) = (self.model.levels[assumption.level], assumption.count as u64);
            let (proof, otherwise) = (Box::new(proof), Box::new(Proof::Leaf(assumption.otherwise.clone())));
            let (fewer, enough) = if assumption.at_least { (otherwise, proof) } else { (proof, otherwise) };
            Proof::Count { size, count, fewer, enough }
        })
    }

    fn explore(&mut self, relaxation: Relaxation, root_bound: u64) -> Node {
        let model = self.model;
        self.nodes_left = self.nodes_left.saturating_sub(1);
        self.solved += 1;
        let bound = relaxation.bound();
        let slackness = Some(relaxation.slackness(model));
        if bound < self.best {
            let levels = relaxation.rounded(model);
            let cost = cost(model, &levels);
            if cost < self.best {
                (self.best, self.levels) = (cost, Some(levels));
            }
        }
        (self.progress)(self.solved, self.best);
        let mut node = Node { bound, slackness, split: None };
        if bound >= self.best || self.nodes_left == 0 {
            return node;
        }
        let Some((first, second)) = relaxation.fraction(model) else { return node };
        let mut side = |branch| match relaxation.narrow(model, branch) {
            // Once the root's bound is reached, the root alone is the proof.
            Some(_) if self.best <= root_bound => Node { bound, slackness: None, split: None },
            Some(narrowed) => self.explore(narrowed, root_bound),
            None => Node { bound: u64::MAX, slackness: None, split: None },
        };
        let sides = [(first, side(first)), (second, side(second))];
        node.split = Some(Box::new(sides));
        node
    }
}

impl Node {
    /// The bound that the tree below proves.
    fn proven(&self) -> u64 {
        match &self.split {
            Some(sides) => self.bound.max(sides[0].1.proven().min(sides[1].1.proven())),
            None => self.bound,
        }
    }

    fn proof(&self, model: &Model, target: u64, path: &mut Vec<Branch>) -> Option<Proof> {
        let Some(sides) = self.split.as_ref().filter(|_| self.bound < target) else {
            // Where rounding has misled the slackness, prices are looked for without it.
            let led = self.slackness.as_ref().and_then(|slackness| prices(model, path, Some(slackness), target));
            return Some(Proof::Leaf(led.or_else(|| prices(model, path, None, target))?));
        };
        let mut side = |at: usize| {
            path.push(sides[at].0);
            let proof = sides[at].1.proof(model, target, path);
            path.pop();
            Some(Box::new(proof?))
        };
        let (first, second) = (side(0)?, side(1)?);
        Some(match sides[0].0 {
            Branch::AtLeast { level, count } => {
                Proof::Count { size: model.levels[level], count: count as u64, fewer: second, enough: first }
            }
            Branch::AtMost { level, count } => {
                Proof::Count { size: model.levels[level], count: count as u64 + 1, fewer: first, enough: second }
            }
            Branch::Below { tensor, level } => {
                let (record, size) = (model.record_of[tensor], model.levels[level]);
                Proof::Record { record, size, smaller: first, larger: second }
            }
            Branch::AtOrAbove { tensor, level } => {
                let (record, size) = (model.record_of[tensor], model.levels[level]);
                Proof::Record { record, size, smaller: second, larger: first }
            }
        })
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

/// Prices that prove the sum of the positional maximums: each object is worth what it is larger than the next.
pub(super) fn positional_prices(levels: &[u64], scale: u64) -> Prices {
    let mut below = 0;
    let mut prices = Prices::default();
    for &size in levels {
        prices.count.push((size, (size - below).saturating_mul(scale)));
        below = size;
    }
    prices
}
