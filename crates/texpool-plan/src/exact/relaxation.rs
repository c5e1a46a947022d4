//! The linear relaxation of the model, solved by `microlp`, with a constraint added for each branch.

use std::rc::Rc;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::{
    lp::{self, Solved},
    model::{Clique, Model},
};
use crate::control::SearchControl;

/// A branch: the constraint that it adds to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    /// At most `count` objects at or above `level`.
    AtMost { level: usize, count: usize },
    /// At least `count` objects at or above `level`.
    AtLeast { level: usize, count: usize },
    /// `tensor` is on a level below `level`.
    Below { tensor: usize, level: usize },
    /// `tensor` is on `level` or above.
    AtOrAbove { tensor: usize, level: usize },
}

/// A solved relaxation, to which constraints can be added. Costs are in multiples of the model's unit.
pub(super) struct Relaxation {
    /// For each level, the number of its objects.
    objects: Rc<[Variable]>,
    /// For each tensor and each level open to it, from its own on, how much of the tensor is on that level.
    assigned: Rc<[Vec<Variable>]>,
    /// Objects in excess of what branches allow. Each costs as much as the plan known at the root, so a branch that no
    /// plan satisfies is feasible but too expensive, and has a dual solution like any other.
    excess: Variable,
    penalty: f64,
    /// Entries of the matrix.
    entries: usize,
    solution: Box<Solution>,
}

/// A relaxation with one more branch.
pub(super) enum Branched {
    /// The solved relaxation.
    Solved(Relaxation),
    /// There is no solution, or the solver failed.
    None,
    /// Unknown: the search was stopped.
    Stopped,
}

/// Complementary slackness: what an optimal solution says about every optimal solution of the dual.
pub(super) struct Slackness {
    /// For each level, the cliques that use all of its objects: only these may have a price.
    pub(super) cliques: Vec<Vec<usize>>,
    /// For each tensor and each level from its own on, whether any of it is there: if so, the prices there are the
    /// least that the tensor has to pay.
    pub(super) assigned: Vec<Vec<bool>>,
    /// For each level, whether it has objects: if so, the prices of an object add up to its size.
    pub(super) objects: Vec<bool>,
    /// For each level, the number of objects at or above it: these may have a price if there are as few as possible.
    counts: Vec<f64>,
    /// Objects in excess of what branches allow.
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

    /// The sum of all refunds, if there are objects in excess.
    pub(super) fn sum_of_refunds(&self) -> Option<f64> {
        (self.excess > TOLERANCE).then_some(self.penalty)
    }
}

/// A value closer to an integer than this counts as that integer. A guess at what is left of the solver's precision
/// after thousands of pivots; no proof depends on it, for certificates are verified in integers.
const TOLERANCE: f64 = 1e-5;

impl Relaxation {
    /// Solves the relaxation at the root, where a plan of `known` units is known; `None` if the solver fails or is
    /// stopped. `on_wait` is called repeatedly while it works.
    pub(super) fn solve(
        model: &Model,
        known: u64,
        control: &SearchControl<'_>,
        on_wait: &mut dyn FnMut(),
    ) -> Option<Self> {
        let mut lp = Problem::new(OptimizationDirection::Minimize);
        let any = (0.0, f64::INFINITY);
        let unit = model.unit();
        let objects: Rc<[Variable]> = model.levels.iter().map(|&size| lp.add_var((size / unit) as f64, any)).collect();
        let penalty = known as f64;
        let excess = lp.add_var(penalty, any);
        let open = model.own.iter().zip(&model.closed);
        let assigned: Rc<[Vec<Variable>]> =
            open.map(|(&own, &(end, _))| (own..end).map(|_| lp.add_var(0.0, any)).collect()).collect();
        for levels in assigned.iter() {
            lp.add_constraint(levels.iter().map(|&v| (v, 1.0)), ComparisonOp::Eq, 1.0);
        }
        for (level, cliques) in model.cliques.iter().enumerate() {
            for clique in cliques {
                let members = clique.members.iter().map(|&j| (assigned[j][level - model.own[j]], -1.0));
                lp.add_constraint(std::iter::once((objects[level], 1.0)).chain(members), ComparisonOp::Ge, 0.0);
            }
            let above = objects[level..].iter().map(|&v| (v, 1.0));
            lp.add_constraint(above, ComparisonOp::Ge, model.needed[level] as f64);
        }
        if let Some(limit) = lp::time_limit(control) {
            lp.set_time_limit(limit);
        }
        let entries = model.entries();
        match lp::solve(entries, control, on_wait, move || lp.solve()) {
            Solved::Solution(solution) => Some(Self { objects, assigned, excess, penalty, entries, solution }),
            Solved::None | Solved::Stopped => None,
        }
    }

    /// Adds the constraint of a branch.
    pub(super) fn branch(
        &self,
        model: &Model,
        branch: Branch,
        control: &SearchControl<'_>,
        on_wait: &mut dyn FnMut(),
    ) -> Branched {
        let from = |tensor: usize, level: usize| &self.assigned[tensor][level.saturating_sub(model.own[tensor])..];
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
        match lp::solve(self.entries, control, on_wait, move || solution.add_constraint(terms, op, bound)) {
            Solved::Solution(solution) => {
                let (objects, assigned) = (Rc::clone(&self.objects), Rc::clone(&self.assigned));
                Branched::Solved(Self { objects, assigned, solution, ..*self })
            }
            Solved::None => Branched::None,
            Solved::Stopped => Branched::Stopped,
        }
    }

    /// The lower bound of the cost of an integer solution, in units.
    pub(super) fn bound(&self) -> u64 {
        (self.solution.objective() - TOLERANCE).ceil().max(0.0) as u64
    }

    /// A level for each tensor, the one that most of it is on.
    pub(super) fn rounded(&self, model: &Model) -> Vec<usize> {
        let most = |levels: &Vec<Variable>| {
            let mut best = 0;
            for (index, &v) in levels.iter().enumerate() {
                if self.solution.var_value(v) > self.solution.var_value(levels[best]) + TOLERANCE {
                    best = index;
                }
            }
            best
        };
        self.assigned.iter().zip(&model.own).map(|(levels, own)| own + most(levels)).collect()
    }

    /// The conditions for the prices of an optimal dual solution.
    pub(super) fn slackness(&self, model: &Model) -> Slackness {
        let value = |&v: &Variable| self.solution.var_value(v);
        let fills = |level: usize, clique: &Clique| {
            let load: f64 = clique.members.iter().map(|&j| value(&self.assigned[j][level - model.own[j]])).sum();
            value(&self.objects[level]) - load < TOLERANCE
        };
        let cliques = model.cliques.iter().enumerate().map(|(level, cliques)| {
            cliques.iter().enumerate().filter(|(_, clique)| fills(level, clique)).map(|(index, _)| index).collect()
        });
        let assigned = self.assigned.iter().map(|levels| levels.iter().map(|v| value(v) > TOLERANCE).collect());
        let counts = (0..model.levels.len()).map(|level| self.objects[level..].iter().map(value).sum());
        Slackness {
            cliques: cliques.collect(),
            assigned: assigned.collect(),
            objects: self.objects.iter().map(|v| value(v) > TOLERANCE).collect(),
            counts: counts.collect(),
            excess: value(&self.excess),
            penalty: self.penalty,
        }
    }

    /// The two branches to try next, the first one first, on the most fractional value. Object counts come before
    /// tensors, because they decide the cost, weighted by what an object more costs. `None` if every value is an
    /// integer.
    pub(super) fn most_fractional(&self, model: &Model) -> Option<(Branch, Branch)> {
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
            for (tensor, levels) in self.assigned.iter().enumerate() {
                let mut above = 0.0;
                for (index, &v) in levels.iter().enumerate().skip(1).rev() {
                    above += self.solution.var_value(v);
                    offer(tensor, model.own[tensor] + index, above);
                }
            }
        }
        best.map(|(_, first, second)| (first, second))
    }
}
