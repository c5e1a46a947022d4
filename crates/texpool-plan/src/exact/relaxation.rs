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

/// A solved relaxation that can be extended by constraints. Costs are in multiples of the model's unit.
pub(super) struct Relaxation {
    /// For each level, the number of its objects.
    objects: Rc<[Variable]>,
    /// For each tensor and each level from its own size upwards that is open to it, the fraction of the tensor on
    /// that level.
    assigned: Rc<[Vec<Variable>]>,
    /// Number of objects beyond the limits of the branches. Each costs as much as the plan known at the root. So a
    /// branch without any plan is feasible but too expensive, and has a dual solution like any other.
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
    /// The relaxation has no solution, or the solver failed.
    None,
    /// Unknown: the search was stopped.
    Stopped,
}

/// Complementary slackness: conditions on every optimal dual solution that follow from an optimal primal solution.
pub(super) struct Slackness {
    /// For each level, the cliques that use all of its objects. Only these may have a price.
    pub(super) cliques: Vec<Vec<usize>>,
    /// For each tensor and each level from its own size upwards, whether any fraction of the tensor is there. If so,
    /// the prices there are the least that the tensor has to pay.
    pub(super) assigned: Vec<Vec<bool>>,
    /// For each level, whether it has objects. If so, the prices of an object add up to its size.
    pub(super) objects: Vec<bool>,
    /// For each level, the number of objects at or above it. They may have a price if that number is at its minimum.
    counts: Vec<f64>,
    /// Number of objects beyond the limits of the branches.
    excess: f64,
    penalty: f64,
}

impl Slackness {
    /// Returns whether more than `needed` objects are at or above `level`.
    pub(super) fn exceeds(&self, level: usize, needed: usize) -> bool {
        self.counts[level] > needed as f64 + TOLERANCE
    }

    /// Returns whether fewer objects are at or above `level` than the `most` allowed.
    pub(super) fn falls_short(&self, level: usize, most: usize) -> bool {
        self.counts[level] - self.excess < most as f64 - TOLERANCE
    }

    /// Returns the required sum of all refunds, if any objects exceed the limits.
    pub(super) fn sum_of_refunds(&self) -> Option<f64> {
        (self.excess > TOLERANCE).then_some(self.penalty)
    }
}

/// A value within this distance of an integer counts as that integer. A guess at the solver's remaining precision
/// after thousands of pivots. No proof depends on it, because certificates are verified with integers.
const TOLERANCE: f64 = 1e-5;

impl Relaxation {
    /// Solves the relaxation at the root, given the total `known` of a plan in units. Returns `None` if the solver
    /// fails or is stopped. `on_wait` is called repeatedly while it works.
    pub(super) fn solve(
        model: &Model,
        best_known: u64,
        control: &SearchControl<'_>,
        on_wait: &mut dyn FnMut(),
    ) -> Option<Self> {
        let mut lp = Problem::new(OptimizationDirection::Minimize);
        let any = (0.0, f64::INFINITY);
        let unit = model.unit();
        let objects: Rc<[Variable]> = model.levels.iter().map(|&size| lp.add_var((size / unit) as f64, any)).collect();
        let penalty = best_known as f64;
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

    /// Solves the relaxation with the constraint of one more branch.
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

    /// Returns a lower bound on the cost of an integer solution, in units.
    pub(super) fn bound(&self) -> u64 {
        (self.solution.objective() - TOLERANCE).ceil().max(0.0) as u64
    }

    /// Rounds the solution: returns for each tensor the level that holds the largest fraction of it.
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

    /// Returns the conditions on the prices of an optimal dual solution.
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

    /// Returns the two branches on the most fractional value, in the order to try them, or `None` if every value is
    /// an integer. Object counts are weighted by the cost of one more object. They take precedence over tensors
    /// because they decide the total.
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
