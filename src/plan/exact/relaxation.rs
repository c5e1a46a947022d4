//! The linear relaxation of the size-level model, solved by `microlp` and narrowed branch by branch.

use std::rc::Rc;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::{
    lp::{self, Solved},
    model::{Clique, Model},
};
use crate::plan::control::SearchControl;

/// One side of a branching: what it adds to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    /// At most `count` objects at or above `level`.
    AtMost { level: usize, count: usize },
    /// At least `count` objects at or above `level`.
    AtLeast { level: usize, count: usize },
    /// `tensor` lives below `level`.
    Below { tensor: usize, level: usize },
    /// `tensor` lives at or above `level`.
    AtOrAbove { tensor: usize, level: usize },
}

/// A solved relaxation, ready to be narrowed. Costs are in multiples of the model's unit.
pub(super) struct Relaxation {
    objects: Rc<[Variable]>,
    lives: Rc<[Vec<Variable>]>,
    /// Objects beyond what branches allow, each at the price of the plan known at the root: a side that nothing
    /// satisfies is thus one that costs too much, and has a dual like any other.
    excess: Variable,
    penalty: f64,
    /// Entries of the matrix.
    entries: usize,
    solution: Box<Solution>,
}

/// What a branch leaves of a relaxation.
pub(super) enum Narrowed {
    /// A relaxation.
    Solved(Relaxation),
    /// Nothing that satisfies it.
    Nothing,
    /// That is not known: the search was stopped.
    Stopped,
}

/// Complementary slackness: what a solution says of every optimal dual.
pub(super) struct Slackness {
    /// By level, the cliques that fill its objects: only they may have a price.
    pub(super) cliques: Vec<Vec<usize>>,
    /// By tensor and level from its own, whether it lives there: if so, it pays there all that it is worth.
    pub(super) lives: Vec<Vec<bool>>,
    /// By level, whether it has objects: if so, they are paid all that they cost.
    pub(super) objects: Vec<bool>,
    /// By level, the objects at or above it: they may have a price if they are as few as can be.
    counts: Vec<f64>,
    /// Objects beyond what branches allow.
    excess: f64,
    penalty: f64,
}

impl Slackness {
    /// Whether there are more objects at or above `level` than `needed`.
    pub(super) fn exceeds(&self, level: usize, needed: usize) -> bool {
        self.counts[level] > needed as f64 + TOLERANCE
    }

    /// Whether there are fewer objects at or above `level` than the `most` allowed.
    pub(super) fn falls_short(&self, level: usize, most: usize) -> bool {
        self.counts[level] - self.excess < most as f64 - TOLERANCE
    }

    /// What refunds come to together, where objects are beyond what branches allow.
    pub(super) fn refunds(&self) -> Option<f64> {
        (self.excess > TOLERANCE).then_some(self.penalty)
    }
}

/// Closer to an integer than this is an integer.
const TOLERANCE: f64 = 1e-5;

impl Relaxation {
    /// Solves the root, where a plan of `known` units is at hand; `None` if the solver gives up or is stopped. `waits`
    /// is called while it takes long.
    pub(super) fn solve(
        model: &Model,
        known: u64,
        control: &SearchControl<'_>,
        waits: &mut dyn FnMut(),
    ) -> Option<Self> {
        let mut lp = Problem::new(OptimizationDirection::Minimize);
        let any = (0.0, f64::INFINITY);
        let unit = model.unit();
        let objects: Rc<[Variable]> = model.levels.iter().map(|&size| lp.add_var((size / unit) as f64, any)).collect();
        let penalty = known as f64;
        let excess = lp.add_var(penalty, any);
        let open = model.own.iter().zip(&model.closed);
        let lives: Rc<[Vec<Variable>]> =
            open.map(|(&own, &(end, _))| (own..end).map(|_| lp.add_var(0.0, any)).collect()).collect();
        for levels in lives.iter() {
            lp.add_constraint(levels.iter().map(|&v| (v, 1.0)), ComparisonOp::Eq, 1.0);
        }
        for (level, cliques) in model.cliques.iter().enumerate() {
            for clique in cliques {
                let members = clique.members.iter().map(|&j| (lives[j][level - model.own[j]], -1.0));
                lp.add_constraint(std::iter::once((objects[level], 1.0)).chain(members), ComparisonOp::Ge, 0.0);
            }
            let above = objects[level..].iter().map(|&v| (v, 1.0));
            lp.add_constraint(above, ComparisonOp::Ge, model.needed[level] as f64);
        }
        if let Some(limit) = lp::time_limit(control) {
            lp.set_time_limit(limit);
        }
        let entries = model.entries();
        match lp::solve(entries, control, waits, move || lp.solve()) {
            Solved::Solution(solution) => Some(Self { objects, lives, excess, penalty, entries, solution }),
            Solved::Nothing | Solved::Stopped => None,
        }
    }

    /// The relaxation with one more branch.
    pub(super) fn narrow(
        &self,
        model: &Model,
        branch: Branch,
        control: &SearchControl<'_>,
        waits: &mut dyn FnMut(),
    ) -> Narrowed {
        let from = |tensor: usize, level: usize| &self.lives[tensor][level.saturating_sub(model.own[tensor])..];
        let (terms, op, bound) = match branch {
            Branch::AtMost { level, count } => (&self.objects[level..], ComparisonOp::Le, count as f64),
            Branch::AtLeast { level, count } => (&self.objects[level..], ComparisonOp::Ge, count as f64),
            Branch::Below { tensor, level } => (from(tensor, level), ComparisonOp::Le, 0.0),
            Branch::AtOrAbove { tensor, level } => (from(tensor, level), ComparisonOp::Ge, 1.0),
        };
        let mut terms: Vec<(Variable, f64)> = terms.iter().map(|&v| (v, 1.0)).collect();
        if let Branch::AtMost { .. } = branch {
            terms.push((self.excess, -1.0));
        }
        let solution = self.solution.clone();
        match lp::solve(self.entries, control, waits, move || solution.add_constraint(terms, op, bound)) {
            Solved::Solution(solution) => {
                let (objects, lives) = (Rc::clone(&self.objects), Rc::clone(&self.lives));
                Narrowed::Solved(Self { objects, lives, solution, ..*self })
            }
            Solved::Nothing => Narrowed::Nothing,
            Solved::Stopped => Narrowed::Stopped,
        }
    }

    /// The least cost, in units, that this relaxation allows an integer solution.
    pub(super) fn bound(&self) -> u64 {
        (self.solution.objective() - TOLERANCE).ceil().max(0.0) as u64
    }

    /// The level most of each tensor lives on.
    pub(super) fn rounded(&self, model: &Model) -> Vec<usize> {
        let most = |lives: &Vec<Variable>| {
            let mut best = 0;
            for (at, &v) in lives.iter().enumerate() {
                if self.solution.var_value(v) > self.solution.var_value(lives[best]) + TOLERANCE {
                    best = at;
                }
            }
            best
        };
        self.lives.iter().zip(&model.own).map(|(lives, own)| own + most(lives)).collect()
    }

    /// What the prices of an optimal dual must keep to.
    pub(super) fn slackness(&self, model: &Model) -> Slackness {
        let value = |&v: &Variable| self.solution.var_value(v);
        let fills = |level: usize, clique: &Clique| {
            let load: f64 = clique.members.iter().map(|&j| value(&self.lives[j][level - model.own[j]])).sum();
            value(&self.objects[level]) - load < TOLERANCE
        };
        let cliques = model.cliques.iter().enumerate().map(|(level, cliques)| {
            cliques.iter().enumerate().filter(|(_, clique)| fills(level, clique)).map(|(at, _)| at).collect()
        });
        let lives = self.lives.iter().map(|lives| lives.iter().map(|v| value(v) > TOLERANCE).collect());
        let counts = (0..model.levels.len()).map(|level| self.objects[level..].iter().map(value).sum());
        Slackness {
            cliques: cliques.collect(),
            lives: lives.collect(),
            objects: self.objects.iter().map(|v| value(v) > TOLERANCE).collect(),
            counts: counts.collect(),
            excess: value(&self.excess),
            penalty: self.penalty,
        }
    }

    /// The branching to try next, first side first: object counts before tensors. `None` if all is integer.
    pub(super) fn fraction(&self, model: &Model) -> Option<(Branch, Branch)> {
        let mut best: Option<(f64, Branch, Branch)> = None;
        let mut offer = |value: f64, weight: f64, split: &dyn Fn(usize) -> (Branch, Branch)| {
            let distance = (value - value.round()).abs();
            if distance > TOLERANCE && best.is_none_or(|(score, ..)| distance * weight > score) {
                let (first, second) = split(value.floor().max(0.0) as usize);
                best = Some((distance * weight, first, second));
            }
        };
        let mut count = 0.0;
        for level in (0..model.levels.len()).rev() {
            count += self.solution.var_value(self.objects[level]);
            let below = if level == 0 { 0 } else { model.levels[level - 1] };
            offer(count, (model.levels[level] - below) as f64, &|floor| {
                (Branch::AtLeast { level, count: floor + 1 }, Branch::AtMost { level, count: floor })
            });
        }
        if best.is_none() {
            let mut offer = |tensor: usize, level: usize, value: f64| {
                let distance = (value - value.round()).abs();
                if distance > TOLERANCE && best.is_none_or(|(score, ..)| distance > score) {
                    let split = (Branch::Below { tensor, level }, Branch::AtOrAbove { tensor, level });
                    best = Some((distance, split.0, split.1));
                }
            };
            for (tensor, lives) in self.lives.iter().enumerate() {
                let mut above = 0.0;
                for (at, &v) in lives.iter().enumerate().skip(1).rev() {
                    above += self.solution.var_value(v);
                    offer(tensor, model.own[tensor] + at, above);
                }
            }
        }
        best.map(|(_, first, second)| (first, second))
    }
}
