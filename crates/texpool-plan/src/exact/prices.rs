//! Prices for a leaf: a solution of the relaxation's dual, rounded to integers for a certificate.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::{
    lp::{self, Solved},
    model::Model,
    proof::Prices,
    relaxation::{Branch, Slackness},
};
use crate::control::SearchControl;

/// Prices are multiples of one part in this many, about the precision of the solver. With [sizes](super::solver::MAX_COST)
/// below 2^40 they fit into 64 bits.
pub(super) const SCALE: u64 = 1 << 20;

/// Limits that the branches on the path to a leaf impose.
struct BranchLimits {
    needed: Vec<usize>,
    at_most: Vec<Option<usize>>,
    /// For each tensor, the first open level, and one past the last.
    open: Vec<(usize, usize)>,
}

impl BranchLimits {
    fn new(model: &Model, path: &[Branch]) -> Self {
        let mut limits = Self {
            needed: model.needed.clone(),
            at_most: vec![None; model.levels.len()],
            open: model.own.iter().zip(&model.closed).map(|(&own, &(end, _))| (own, end)).collect(),
        };
        for &branch in path {
            match branch {
                Branch::AtMost { level, count } => {
                    limits.at_most[level] = Some(limits.at_most[level].map_or(count, |most| most.min(count)));
                }
                Branch::AtLeast { level, count } => {
                    for needed in &mut limits.needed[..=level] {
                        *needed = count.max(*needed);
                    }
                }
                Branch::Below { tensor, level } => limits.open[tensor].1 = limits.open[tensor].1.min(level),
                Branch::AtOrAbove { tensor, level } => limits.open[tensor].0 = limits.open[tensor].0.max(level),
            }
        }
        limits
    }
}

/// Returns prices that prove a bound of `target` units after the branches of `path`, or `None` if the solver finds
/// none or is stopped.
///
/// The solver returns no dual solution, so the dual is solved as a separate program. With `slackness`, any feasible
/// solution that satisfies it is optimal (complementary slackness). Then no objective is needed, which is much
/// faster.
pub(super) fn prices(
    model: &Model,
    path: &[Branch],
    slackness: Option<&Slackness>,
    target: u64,
    control: &SearchControl<'_>,
    on_wait: &mut dyn FnMut(),
) -> Option<Prices> {
    let limits = BranchLimits::new(model, path);
    let unit = model.unit();
    let mut lp = Problem::new(OptimizationDirection::Maximize);
    let any = (0.0, f64::INFINITY);
    let weight = if slackness.is_some() { 0.0 } else { 1.0 };
    let tensors: Vec<Variable> = model.own.iter().map(|_| lp.add_var(weight, any)).collect();
    let zero_if = |slack: bool| if slack { (0.0, 0.0) } else { any };
    let add_count = |(level, &needed): (usize, &usize)| {
        lp.add_var(weight * needed as f64, zero_if(slackness.is_some_and(|s| s.exceeds(level, needed))))
    };
    let counts: Vec<Variable> = limits.needed.iter().enumerate().map(add_count).collect();
    let add_refund = |(level, most): (usize, &Option<usize>)| {
        let slack = |most| slackness.is_some_and(|s| s.falls_short(level, most));
        most.map(|most| lp.add_var(-weight * most as f64, zero_if(slack(most))))
    };
    let refunds: Vec<Option<Variable>> = limits.at_most.iter().enumerate().map(add_refund).collect();
    if let Some(penalty) = slackness.and_then(Slackness::sum_of_refunds) {
        lp.add_constraint(refunds.iter().flatten().map(|&v| (v, 1.0)), ComparisonOp::Eq, penalty);
    }
    let mut cliques: Vec<(usize, usize, Variable)> = Vec::new();
    let equal_if = |tight: bool| if tight { ComparisonOp::Eq } else { ComparisonOp::Le };
    for (level, size) in model.levels.iter().enumerate() {
        let start = cliques.len();
        let all = || (0..model.cliques[level].len()).collect();
        let priced: Vec<usize> = slackness.map_or_else(all, |s| s.cliques[level].clone());
        cliques.extend(priced.into_iter().map(|clique| (level, clique, lp.add_var(0.0, any))));
        let of_level = &cliques[start..];
        let mut pays: Vec<Vec<(Variable, f64)>> = tensors.iter().map(|&u| vec![(u, 1.0)]).collect();
        for &(_, clique, price) in of_level {
            for &tensor in &model.cliques[level][clique].members {
                pays[tensor].push((price, -1.0));
            }
        }
        for (tensor, (pay, &(from, to))) in pays.into_iter().zip(&limits.open).enumerate() {
            if (from..to).contains(&level) {
                let used = slackness.is_some_and(|s| s.assigned[tensor][level - model.own[tensor]]);
                lp.add_constraint(pay, equal_if(used), 0.0);
            }
        }
        let paid = of_level.iter().map(|&(_, _, v)| v).chain(counts[..=level].iter().copied()).map(|v| (v, 1.0));
        let refunded = refunds[..=level].iter().flatten().map(|&v| (v, -1.0));
        let used = slackness.is_some_and(|s| s.objects[level]);
        lp.add_constraint(paid.chain(refunded).collect::<Vec<_>>(), equal_if(used), (size / unit) as f64);
    }
    // If no plan satisfies the branches, the dual is unbounded, so the objective is capped at the target.
    let worth = tensors.iter().map(|&v| (v, 1.0));
    let worth = worth.chain(counts.iter().zip(&limits.needed).map(|(&v, &needed)| (v, needed as f64)));
    let worth =
        worth.chain(refunds.iter().zip(&limits.at_most).filter_map(|(v, most)| Some(((*v)?, -((*most)? as f64)))));
    if slackness.is_none() {
        lp.add_constraint(worth.collect::<Vec<_>>(), ComparisonOp::Le, target as f64);
    }
    if let Some(limit) = lp::time_limit(control) {
        lp.set_time_limit(limit);
    }
    let Solved::Solution(solution) = lp::solve(model.entries(), control, on_wait, move || lp.solve()) else {
        return None;
    };

    let price = |v: Variable| solution.var_value(v).max(0.0) * (unit * SCALE) as f64;
    let mut prices = Prices::default();
    for &(level, clique, v) in &cliques {
        // Rounds so that the bound can only fall: payments down, refunds up.
        let amount = price(v).floor() as u64;
        if amount > 0 {
            prices.clique.push((model.levels[level], model.cliques[level][clique].step, amount));
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
    repair_rounding(model, &mut prices);
    price_closed_levels(model, &limits.open, &mut prices);
    Some(prices)
}

/// Adds prices on the levels that the model has closed to tensors, so that no tensor pays less there than on the
/// levels open to it. This is necessary because the checker does not know that they are closed.
///
/// At the step that closes a level, the number of live tensors of at least its size equals the allowed number of
/// objects. So a clique price at that step on all levels from there upwards, and a refund of the same amount, cancel
/// out in the bound. The closed levels become more expensive for the tensors alive at that step.
pub(super) fn price_closed_levels(model: &Model, open: &[(usize, usize)], prices: &mut Prices) {
    let mut needed: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let mut by_size: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
    for &(size, step, price) in &prices.clique {
        by_size.entry(size).or_default().push((step, price));
    }
    for (tensor, &(end, step)) in model.closed.iter().enumerate() {
        let Some(step) = step else { continue };
        let record = &model.tensors[tensor];
        let pay = |level: usize| -> u64 {
            let of_size = by_size.get(&model.levels[level]).into_iter().flatten();
            of_size.filter(|p| record.first <= p.0 && p.0 <= record.last).map(|p| p.1).sum()
        };
        let (from, to) = open[tensor];
        let worth = (from..to).map(pay).min().unwrap_or(0);
        let price = needed.entry((end, step)).or_default();
        *price = worth.max(*price);
    }
    for ((end, step), price) in needed.into_iter().filter(|&(_, price)| price > 0) {
        prices.clique.extend(model.levels[end..].iter().map(|&size| (size, step, price)));
        prices.refund.push((model.levels[end], price));
    }
}

/// Lowers prices that, because of the solver's tolerance, add up to more than the size of an object.
fn repair_rounding(model: &Model, prices: &mut Prices) {
    for &size in &model.levels {
        let up_to =
            |list: &[(u64, u64)]| -> u128 { list.iter().filter(|p| p.0 <= size).map(|p| u128::from(p.1)).sum() };
        let load: u128 = prices.clique.iter().filter(|p| p.0 == size).map(|p| u128::from(p.2)).sum();
        let allowed = u128::from(size) * u128::from(SCALE) + up_to(&prices.refund);
        let mut excess = (load + up_to(&prices.count)).saturating_sub(allowed);
        let of_size = prices.clique.iter_mut().filter(|p| p.0 == size).map(|p| &mut p.2);
        let counts = prices.count.iter_mut().rev().filter(|p| p.0 <= size).map(|p| &mut p.1);
        for amount in of_size.chain(counts) {
            let cut = u128::from(*amount).min(excess) as u64;
            *amount -= cut;
            excess -= u128::from(cut);
        }
    }
}
