//! The linear relaxation of the size-level model, solved by `microlp` and narrowed branch by branch.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use super::model::Model;

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
#[derive(Clone)]
pub(super) struct Relaxation {
    objects: Vec<Variable>,
    lives: Vec<Vec<Variable>>,
    solution: Solution,
}

/// Closer to an integer than this is an integer.
const TOLERANCE: f64 = 1e-5;

impl Relaxation {
    /// Solves the root; `None` if the solver gives up.
    pub(super) fn solve(model: &Model) -> Option<Self> {
        let mut lp = Problem::new(OptimizationDirection::Minimize);
        let any = (0.0, f64::INFINITY);
        let unit = model.unit();
        let objects: Vec<Variable> = model.levels.iter().map(|&size| lp.add_var((size / unit) as f64, any)).collect();
        let open = model.own.iter().zip(&model.closed);
        let lives: Vec<Vec<Variable>> =
            open.map(|(&own, &(end, _))| (own..end).map(|_| lp.add_var(0.0, any)).collect()).collect();
        for levels in &lives {
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
        let solution = lp.solve().ok()?.into_solution().ok()?;
        Some(Self { objects, lives, solution })
    }

    /// The relaxation with one more branch; `None` if nothing satisfies it.
    pub(super) fn narrow(&self, model: &Model, branch: Branch) -> Option<Self> {
        let this = self.clone();
        let (terms, op, bound) = match branch {
            Branch::AtMost { level, count } => (&self.objects[level..], ComparisonOp::Le, count as f64),
            Branch::AtLeast { level, count } => (&self.objects[level..], ComparisonOp::Ge, count as f64),
            Branch::Below { tensor, level } => {
                (&self.lives[tensor][level.saturating_sub(model.own[tensor])..], ComparisonOp::Le, 0.0)
            }
            Branch::AtOrAbove { tensor, level } => {
                (&self.lives[tensor][level.saturating_sub(model.own[tensor])..], ComparisonOp::Ge, 1.0)
            }
        };
        let terms: Vec<(Variable, f64)> = terms.iter().map(|&v| (v, 1.0)).collect();
        let solution = this.solution.add_constraint(terms, op, bound).ok()?.into_solution().ok()?;
        Some(Self { solution, ..this })
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

    /// How much of tensor `j` lives on `level`, and whether a clique of `level` fills its objects: what the dual may
    /// lean on.
    pub(super) fn is_tight(&self, model: &Model, level: usize, members: &[usize]) -> bool {
        let load: f64 = members.iter().map(|&j| self.solution.var_value(self.lives[j][level - model.own[j]])).sum();
        self.solution.var_value(self.objects[level]) - load < TOLERANCE
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
