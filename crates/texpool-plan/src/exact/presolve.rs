//! Presolve: closes the levels that a tensor cannot be on in a smaller plan, and raises the number of objects that
//! every plan must have.
//!
//! Each step may depend on earlier ones. It is stored as an assumption, with the prices that prove it. Uses only the
//! model and no solver.

use super::{
    model::{Assumption, Model},
    prices::{SCALE, price_closed_levels},
    proof::Prices,
};
use crate::{control::SearchControl, record::UsageRecord};

/// Upper limit on presolve rounds. A guess; a round helps only if the one before it found something. With 0, presolve
/// changes nothing; tests use this to show that the answer stays the same.
pub(super) const MAX_ROUNDS: usize = 8;

/// Returns the model of the plans that cost less than `known`, or `None` if `control` stops it or if it would take
/// too much memory.
pub(super) fn reduced_model(
    records: &[UsageRecord],
    best_known: u64,
    max_rounds: usize,
    control: &SearchControl<'_>,
) -> Option<Model> {
    let mut model = Model::new(records);
    presolve(&mut model, best_known, max_rounds, control);
    model.with_cliques(control)
}

/// Restricts `model` to the plans that cost less than `best_known`. Ends when a round finds nothing, or after
/// `max_rounds`. If `control` stops it, the model must not be used.
fn presolve(model: &mut Model, best_known: u64, max_rounds: usize, control: &SearchControl<'_>) {
    let alive = |level: usize| {
        let cliques = model.cliques_of(|j| model.own[j] >= level);
        cliques.iter().map(|clique| clique.members.len()).max().unwrap_or(0)
    };
    let needed = |level: usize| if control.should_stop() { 0 } else { alive(level) };
    model.needed = (0..model.levels.len()).map(needed).collect();
    for _ in 0..max_rounds {
        close_levels(model, best_known, control);
        if control.should_stop() || !count_objects(model, best_known, control) {
            break;
        }
    }
}

/// Closes levels to tensors. The gap between the known plan and the bound limits the number of objects on each level.
/// If as many tensors of at least that size are alive at once, they use all of these objects. Then a smaller tensor
/// that is alive at that time cannot be on that level or above.
fn close_levels(model: &mut Model, best_known: u64, control: &SearchControl<'_>) {
    // Each object beyond those needed at or above a level raises the bound by at least the difference to the next
    // lower level.
    let differences: Vec<u64> =
        model.levels.iter().scan(0, |below, &size| Some(size - std::mem::replace(below, size))).collect();
    let bound: u64 = differences.iter().zip(&model.needed).map(|(size, &needed)| size * needed as u64).sum();
    let spare = best_known.saturating_sub(bound).saturating_sub(1);
    for level in (1..model.levels.len()).rev() {
        if control.should_stop() {
            return;
        }
        let extra = usize::try_from(spare / differences[level]).unwrap_or(usize::MAX);
        let max_objects = model.needed[level].saturating_add(extra);
        let mut closes = false;
        for clique in model.cliques_of(|j| model.own[j] >= level).iter().filter(|c| c.members.len() >= max_objects) {
            for j in 0..model.tensors.len() {
                let alive = model.tensors[j].first <= clique.step && clique.step <= model.tensors[j].last;
                if alive && model.own[j] < level && level < model.closed[j].0 {
                    model.closed[j] = (level, Some(clique.step));
                    closes = true;
                }
            }
        }
        if closes {
            let otherwise = Prices::positional(&model.levels, SCALE);
            model.assumed.push(Assumption { level, count: max_objects + 1, at_least: false, otherwise });
        }
    }
}

/// Raises the numbers of needed objects. Tensors that may only be on levels below some level need objects there, in
/// addition to those needed above. Returns whether any number has risen.
fn count_objects(model: &mut Model, best_known: u64, control: &SearchControl<'_>) -> bool {
    let mut steps: Vec<usize> = model.tensors.iter().map(|t| t.first).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut ends: Vec<usize> = model.closed.iter().map(|c| c.0).filter(|&end| end < model.levels.len()).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut by_own: Vec<Vec<usize>> = vec![Vec::new(); model.levels.len()];
    model.own.iter().enumerate().for_each(|(j, &own)| by_own[own].push(j));
    let mut needed = model.needed.clone();
    // For each level, the closed level and the step that justify its number.
    let mut reasons: Vec<Option<(usize, usize)>> = vec![None; needed.len()];
    for &end in ends.iter().rev() {
        if control.should_stop() {
            return false;
        }
        let mut loads = vec![0usize; steps.len()];
        let mut widest = (0, 0);
        for level in (0..end).rev() {
            for &j in by_own[level].iter().filter(|&&j| model.closed[j].0 <= end) {
                let from = steps.partition_point(|&step| step < model.tensors[j].first);
                for (load, &step) in loads[from..].iter_mut().zip(&steps[from..]) {
                    if step > model.tensors[j].last {
                        break;
                    }
                    *load += 1;
                    widest = widest.max((*load, step));
                }
            }
            if widest.0 + needed[end] > needed[level] {
                needed[level] = widest.0 + needed[end];
                reasons[level] = Some((end, widest.1));
            }
        }
    }
    let mut rises = false;
    for level in (0..needed.len()).rev() {
        if let Some(&above) = needed.get(level + 1)
            && above >= needed[level]
        {
            needed[level] = above;
        } else if let Some((end, step)) = reasons[level] {
            if control.should_stop() {
                return false;
            }
            let otherwise = too_few(model, level, end, step, best_known);
            model.assumed.push(Assumption { level, count: needed[level], at_least: true, otherwise });
            rises = true;
        }
    }
    model.needed = needed;
    rises
}

/// Returns prices for the case that fewer objects than needed exist from `level` upwards. At least one object is then
/// missing, and each is priced at the total of the known plan, both those for tensors alive at `step` that stay below
/// `end`, and those needed from `end` upwards.
fn too_few(model: &Model, level: usize, end: usize, step: usize, best_known: u64) -> Prices {
    let price = best_known.saturating_mul(SCALE);
    let mut prices = Prices {
        clique: model.levels[level..end].iter().map(|&size| (size, step, price)).collect(),
        count: vec![(model.levels[end], price)],
        refund: vec![(model.levels[level], price)],
    };
    let open: Vec<(usize, usize)> = model.own.iter().zip(&model.closed).map(|(&own, &(end, _))| (own, end)).collect();
    price_closed_levels(model, &open, &mut prices);
    prices
}
