//! A lower bound on the cost of any assignment.
//!
//! At a step, the buffers for which one memory is the cheapest may need more than its capacity. Some of them have to be
//! elsewhere then. Finding the least cost of that is a knapsack problem; its relaxation may move parts of buffers, and
//! moves those first that cost the least for each unit. A buffer is in one memory, so these costs can be added up over
//! the memories of a step, and over steps that have no live buffer in common.

use super::{memory::MemoryChoice, problem::Problem};
use crate::buffers::pieces;

/// The units that buffers need at each step that counts.
pub(super) struct CostBound {
    steps: Vec<Step>,
    capacities: Vec<Option<u64>>,
}

/// A step at which some buffer begins to need units.
struct Step {
    /// Each buffer, with the units that it needs.
    needs: Vec<(usize, u64)>,
    /// Number of earlier steps at which none of these buffers is alive.
    before: usize,
}

impl CostBound {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        let mut all = Vec::new();
        for (buffer, b) in problem.buffers.iter().enumerate() {
            all.extend(pieces(b).into_iter().map(|piece| (piece, buffer)));
        }
        // Between the starts of pieces, needs only fall.
        let mut starts: Vec<usize> = all.iter().map(|(piece, _)| piece.steps.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut steps: Vec<Step> =
            starts.iter().enumerate().map(|(before, _)| Step { needs: Vec::new(), before }).collect();
        for (piece, buffer) in &all {
            let from = starts.partition_point(|&start| start < piece.steps.start);
            let to = starts.partition_point(|&start| start < piece.steps.end);
            let begun = starts.partition_point(|&start| start < problem.buffers[*buffer].live.start);
            for step in &mut steps[from..to] {
                step.needs.push((*buffer, piece.bytes.end - piece.bytes.start));
                step.before = step.before.min(begun);
            }
        }
        Self { steps, capacities: problem.memories.iter().map(|memory| memory.capacity).collect() }
    }

    /// Returns a lower bound on the cost if each buffer has one of these choices, the cheapest first; `None` if no
    /// assignment fits.
    pub(super) fn of(&self, choices: &[&[MemoryChoice]]) -> Option<u64> {
        let cheapest: u64 = choices.iter().map(|choices| choices[0].cost).sum();
        // Least additional costs of the steps so far.
        let mut least = vec![0u64];
        let mut spilled = Vec::new();
        for step in &self.steps {
            let mut more = 0;
            for (memory, &capacity) in self.capacities.iter().enumerate() {
                let Some(capacity) = capacity else { continue };
                spilled.clear();
                let mut needed = 0u128;
                for &(buffer, units) in &step.needs {
                    if choices[buffer][0].memory == memory {
                        needed += u128::from(units);
                        spilled.extend(choices[buffer].get(1).map(|next| (next.cost - choices[buffer][0].cost, units)));
                    }
                }
                more += least_spill(&mut spilled, needed.saturating_sub(capacity.into()))?;
            }
            let here = more.saturating_add(least[step.before]);
            let before = least[least.len() - 1];
            least.push(before.max(here));
        }
        Some(cheapest.saturating_add(least[least.len() - 1]))
    }
}

/// Returns the least cost of moving `excess` units elsewhere, of buffers with a cost and units each, rounded up;
/// `None` if there are too few.
fn least_spill(buffers: &mut [(u64, u64)], mut excess: u128) -> Option<u64> {
    if excess == 0 {
        return Some(0);
    }
    buffers.sort_unstable_by(|a, b| {
        let [across, along] = [(a, b), (b, a)].map(|(one, other)| u128::from(one.0) * u128::from(other.1));
        across.cmp(&along)
    });
    let mut cost = 0u64;
    for &(more, units) in buffers.iter() {
        let units = u128::from(units);
        if units >= excess {
            let part = (u128::from(more) * excess).div_ceil(units);
            return Some(cost.saturating_add(u64::try_from(part).unwrap_or(u64::MAX)));
        }
        cost = cost.saturating_add(more);
        excess -= units;
    }
    None
}
