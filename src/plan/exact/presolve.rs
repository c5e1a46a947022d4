//! What is settled before anything is solved: levels that are closed to a tensor, and objects that every plan has.
//!
//! Each step leans on those before it, and is kept as an assumption with the prices that prove it. Knows the model, and
//! no solver.

use super::{
    model::{Assumption, Model},
    prices::{SCALE, guard},
    proof::Prices,
};
use crate::plan::{control::SearchControl, record::UsageRecord};

/// Rounds after which nothing more is looked for.
const ROUNDS: usize = 8;

/// The model of the plans that cost less than `known`; `None` where `control` stops its making, or where it would take
/// too much memory.
pub(super) fn reduced_model(records: &[UsageRecord], known: u64, control: &SearchControl<'_>) -> Option<Model> {
    let mut model = Model::new(records);
    reduce(&mut model, known, control);
    model.with_cliques(control)
}

/// Narrows `model` to the plans that cost less than `known`, until a round finds nothing. A model that `control` stops
/// on the way is of no use.
fn reduce(model: &mut Model, known: u64, control: &SearchControl<'_>) {
    let alive = |level: usize| {
        let cliques = model.cliques_of(|j| model.own[j] >= level);
        cliques.iter().map(|clique| clique.members.len()).max().unwrap_or(0)
    };
    let known_of = |level: usize| if control.should_stop() { 0 } else { alive(level) };
    model.needed = (0..model.levels.len()).map(known_of).collect();
    for _ in 0..ROUNDS {
        close(model, known, control);
        if control.should_stop() || !count(model, known, control) {
            break;
        }
    }
}

/// Closes levels to tensors: where a level's own tensors are as many as it may have objects, nothing smaller can come
/// up.
fn close(model: &mut Model, known: u64, control: &SearchControl<'_>) {
    // Each object that is not needed costs what its level is larger than the next, on top of the bound.
    let steps: Vec<u64> =
        model.levels.iter().scan(0, |below, &size| Some(size - std::mem::replace(below, size))).collect();
    let bound: u64 = steps.iter().zip(&model.needed).map(|(step, &needed)| step * needed as u64).sum();
    let spare = known.saturating_sub(bound).saturating_sub(1);
    for level in (1..model.levels.len()).rev() {
        if control.should_stop() {
            return;
        }
        let extra = usize::try_from(spare / steps[level]).unwrap_or(usize::MAX);
        let most = model.needed[level].saturating_add(extra);
        let mut closes = false;
        for clique in model.cliques_of(|j| model.own[j] >= level).iter().filter(|c| c.members.len() >= most) {
            for j in 0..model.tensors.len() {
                let here = model.tensors[j].first <= clique.step && clique.step <= model.tensors[j].last;
                if here && model.own[j] < level && level < model.closed[j].0 {
                    model.closed[j] = (level, Some(clique.step));
                    closes = true;
                }
            }
        }
        if closes {
            let otherwise = Prices::positional(&model.levels, SCALE);
            model.assumed.push(Assumption { level, count: most + 1, at_least: false, otherwise });
        }
    }
}

/// Counts objects: tensors that have no way above some level take objects below it, on top of those needed above.
/// Whether any count has risen.
fn count(model: &mut Model, known: u64, control: &SearchControl<'_>) -> bool {
    let mut steps: Vec<usize> = model.tensors.iter().map(|t| t.first).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut ends: Vec<usize> = model.closed.iter().map(|c| c.0).filter(|&end| end < model.levels.len()).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut by_own: Vec<Vec<usize>> = vec![Vec::new(); model.levels.len()];
    model.own.iter().enumerate().for_each(|(j, &own)| by_own[own].push(j));
    let mut needed = model.needed.clone();
    let mut ground: Vec<Option<(usize, usize)>> = vec![None; needed.len()];
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
                ground[level] = Some((end, widest.1));
            }
        }
    }
    let mut rises = false;
    for level in (0..needed.len()).rev() {
        if let Some(&above) = needed.get(level + 1)
            && above >= needed[level]
        {
            needed[level] = above;
        } else if let Some((end, step)) = ground[level] {
            if control.should_stop() {
                return false;
            }
            let otherwise = too_few(model, level, end, step, known);
            model.assumed.push(Assumption { level, count: needed[level], at_least: true, otherwise });
            rises = true;
        }
    }
    model.needed = needed;
    rises
}

/// Prices for the case of too few objects from `level` up: each is worth the known plan, whether it holds one of the
/// tensors that are alive at `step` and stay below `end`, or is needed from `end` up.
fn too_few(model: &Model, level: usize, end: usize, step: usize, known: u64) -> Prices {
    let price = known.saturating_mul(SCALE);
    let mut prices = Prices {
        clique: model.levels[level..end].iter().map(|&size| (size, step, price)).collect(),
        count: vec![(model.levels[end], price)],
        refund: vec![(model.levels[level], price)],
    };
    let open: Vec<(usize, usize)> = model.own.iter().zip(&model.closed).map(|(&own, &(end, _))| (own, end)).collect();
    guard(model, &open, &mut prices);
    prices
}
