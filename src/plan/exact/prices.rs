//! Prices for a leaf: the dual of the relaxation, solved and rounded to integers that a certificate can hold.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::{
    lp::{self, Solved},
    model::Model,
    proof::Prices,
    relax::{Branch, Slackness},
};
use crate::plan::control::SearchControl;

/// Prices are multiples of one part in this many.
pub(super) const SCALE: u64 = 1 << 20;

/// What the branches on the way to a leaf leave open.
struct Case {
    needed: Vec<usize>,
    at_most: Vec<Option<usize>>,
    /// First open level of each tensor, and one past the last.
    open: Vec<(usize, usize)>,
}

impl Case {
    fn new(model: &Model, path: &[Branch]) -> Self {
        let mut case = Self {
            needed: model.needed.clone(),
            at_most: vec![None; model.levels.len()],
            open: model.own.iter().zip(&model.closed).map(|(&own, &(end, _))| (own, end)).collect(),
        };
        for &branch in path {
            match branch {
                Branch::AtMost { level, count } => {
                    case.at_most[level] = Some(case.at_most[level].map_or(count, |most| most.min(count)));
                }
                Branch::AtLeast { level, count } => {
                    for needed in &mut case.needed[..=level] {
                        *needed = count.max(*needed);
                    }
                }
                Branch::Below { tensor, level } => case.open[tensor].1 = case.open[tensor].1.min(level),
                Branch::AtOrAbove { tensor, level } => case.open[tensor].0 = case.open[tensor].0.max(level),
            }
        }
        case
    }
}

/// Prices that prove `target` units after `path`. `None` if the solver finds none, or is stopped.
///
/// With the slackness of a solution any prices that keep to it will do, and the solver only has to find some.
pub(super) fn prices(
    model: &Model,
    path: &[Branch],
    slackness: Option<&Slackness>,
    target: u64,
    control: &SearchControl<'_>,
    waits: &mut dyn FnMut(),
) -> Option<Prices> {
    let case = Case::new(model, path);
    let unit = model.unit();
    let mut lp = Problem::new(OptimizationDirection::Maximize);
    let any = (0.0, f64::INFINITY);
    let weight = if slackness.is_some() { 0.0 } else { 1.0 };
    let tensors: Vec<Variable> = model.own.iter().map(|_| lp.add_var(weight, any)).collect();
    let unless = |idle: bool| if idle { (0.0, 0.0) } else { any };
    let add_count = |(level, &needed): (usize, &usize)| {
        lp.add_var(weight * needed as f64, unless(slackness.is_some_and(|s| s.exceeds(level, needed))))
    };
    let counts: Vec<Variable> = case.needed.iter().enumerate().map(add_count).collect();
    let add_refund = |(level, most): (usize, &Option<usize>)| {
        let idle = |most| slackness.is_some_and(|s| s.falls_short(level, most));
        most.map(|most| lp.add_var(-weight * most as f64, unless(idle(most))))
    };
    let refunds: Vec<Option<Variable>> = case.at_most.iter().enumerate().map(add_refund).collect();
    if let Some(penalty) = slackness.and_then(Slackness::refunds) {
        lp.add_constraint(refunds.iter().flatten().map(|&v| (v, 1.0)), ComparisonOp::Eq, penalty);
    }
    let mut cliques: Vec<(usize, usize, Variable)> = Vec::new();
    let exactly = |tight: bool| if tight { ComparisonOp::Eq } else { ComparisonOp::Le };
    for (level, size) in model.levels.iter().enumerate() {
        let start = cliques.len();
        let all = || (0..model.cliques[level].len()).collect();
        let priced: Vec<usize> = slackness.map_or_else(all, |s| s.cliques[level].clone());
        cliques.extend(priced.into_iter().map(|at| (level, at, lp.add_var(0.0, any))));
        let here = &cliques[start..];
        let mut pays: Vec<Vec<(Variable, f64)>> = tensors.iter().map(|&u| vec![(u, 1.0)]).collect();
        for &(_, at, price) in here {
            for &tensor in &model.cliques[level][at].members {
                pays[tensor].push((price, -1.0));
            }
        }
        for (tensor, (pay, &(from, to))) in pays.into_iter().zip(&case.open).enumerate() {
            if (from..to).contains(&level) {
                let lives = slackness.is_some_and(|s| s.lives[tensor][level - model.own[tensor]]);
                lp.add_constraint(pay, exactly(lives), 0.0);
            }
        }
        let paid = here.iter().map(|&(_, _, v)| v).chain(counts[..=level].iter().copied()).map(|v| (v, 1.0));
        let back = refunds[..=level].iter().flatten().map(|&v| (v, -1.0));
        let used = slackness.is_some_and(|s| s.objects[level]);
        lp.add_constraint(paid.chain(back).collect::<Vec<_>>(), exactly(used), (size / unit) as f64);
    }
    // A case that nothing satisfies would be worth any price; what is asked for is enough.
    let worth = tensors.iter().map(|&v| (v, 1.0));
    let worth = worth.chain(counts.iter().zip(&case.needed).map(|(&v, &needed)| (v, needed as f64)));
    let worth =
        worth.chain(refunds.iter().zip(&case.at_most).filter_map(|(v, most)| Some(((*v)?, -((*most)? as f64)))));
    if slackness.is_none() {
        lp.add_constraint(worth.collect::<Vec<_>>(), ComparisonOp::Le, target as f64);
    }
    if let Some(limit) = lp::time_limit(control) {
        lp.set_time_limit(limit);
    }
    let Solved::Solution(solution) = lp::solve(model.entries(), control, waits, move || lp.solve()) else {
        return None;
    };

    let price = |v: Variable| solution.var_value(v).max(0.0) * (unit * SCALE) as f64;
    let mut prices = Prices::default();
    for &(level, at, v) in &cliques {
        let amount = price(v).floor() as u64;
        if amount > 0 {
            prices.clique.push((model.levels[level], model.cliques[level][at].step, amount));
        }
    }
    for (level, &size) in model.levels.iter().enumerate() {
        let amount = price(counts[level]).floor() as u64;
        if amount > 0 {
            prices.count.push((size, amount));
        }
        if let Some(refund) = refunds[level].map(|v| price(v).ceil() as u64).filter(|&amount| amount > 0) {
            prices.refund.push((size, refund));
        }
    }
    repair(model, &mut prices);
    guard(model, &case.open, &mut prices);
    Some(prices)
}

/// Prices the levels that the model has closed to a tensor, so that it gains nothing by going there.
///
/// At the step that closes a level, its own tensors are as many as it may have objects. Whatever load at that step is
/// paid from that level up can be taken back from the objects: it cancels out, but for the tensor that has no place.
pub(super) fn guard(model: &Model, open: &[(usize, usize)], prices: &mut Prices) {
    let mut wanted: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let mut by_size: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
    for &(size, step, price) in &prices.clique {
        by_size.entry(size).or_default().push((step, price));
    }
    for (tensor, &(end, step)) in model.closed.iter().enumerate() {
        let Some(step) = step else { continue };
        let life = &model.tensors[tensor];
        let pay = |level: usize| -> u64 {
            let here = by_size.get(&model.levels[level]).into_iter().flatten();
            here.filter(|p| life.first <= p.0 && p.0 <= life.last).map(|p| p.1).sum()
        };
        let (from, to) = open[tensor];
        let worth = (from..to).map(pay).min().unwrap_or(0);
        let guard = wanted.entry((end, step)).or_default();
        *guard = worth.max(*guard);
    }
    for ((end, step), price) in wanted.into_iter().filter(|&(_, price)| price > 0) {
        prices.clique.extend(model.levels[end..].iter().map(|&size| (size, step, price)));
        prices.refund.push((model.levels[end], price));
    }
}

/// Takes back what the solver's tolerance paid an object too much.
fn repair(model: &Model, prices: &mut Prices) {
    for &size in &model.levels {
        let up_to =
            |list: &[(u64, u64)]| -> u128 { list.iter().filter(|p| p.0 <= size).map(|p| u128::from(p.1)).sum() };
        let load: u128 = prices.clique.iter().filter(|p| p.0 == size).map(|p| u128::from(p.2)).sum();
        let allowed = u128::from(size) * u128::from(SCALE) + up_to(&prices.refund);
        let mut excess = (load + up_to(&prices.count)).saturating_sub(allowed);
        let here = prices.clique.iter_mut().filter(|p| p.0 == size).map(|p| &mut p.2);
        let counts = prices.count.iter_mut().rev().filter(|p| p.0 <= size).map(|p| &mut p.1);
        for amount in here.chain(counts) {
            let cut = u128::from(*amount).min(excess) as u64;
            *amount -= cut;
            excess -= u128::from(cut);
        }
    }
}
