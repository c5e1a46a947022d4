//! A memory for each buffer, and the first such assignment.

use std::cmp::Reverse;

use super::{
    memory::MemoryChoice,
    problem::Problem,
    trials::{Answer, Trials},
};
use crate::error::PlanError;

/// The choice of each buffer, and the sets of buffers in the memories.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) choices: Vec<Option<MemoryChoice>>,
    /// Buffers of each memory in ascending order.
    pub(super) sets: Vec<Vec<usize>>,
}

impl Assignment {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        Self { choices: vec![None; problem.buffers.len()], sets: vec![Vec::new(); problem.memories.len()] }
    }

    /// Returns the sum of the costs.
    pub(super) fn cost(&self) -> u64 {
        self.choices.iter().flatten().map(|choice| choice.cost).sum()
    }

    /// Places a buffer, or places it elsewhere. With `None` it is removed.
    pub(super) fn set(&mut self, buffer: usize, choice: Option<MemoryChoice>) {
        if let Some(old) = self.choices[buffer] {
            self.sets[old.memory].retain(|&other| other != buffer);
        }
        if let Some(MemoryChoice { memory, .. }) = choice {
            let at = self.sets[memory].partition_point(|&other| other < buffer);
            self.sets[memory].insert(at, buffer);
        }
        self.choices[buffer] = choice;
    }
}

/// Returns the buffers in the order in which the greedy assignment places them: first by the choices that they have
/// besides the cheapest, since a buffer without another must be placed, then by the cost that the cheapest saves for
/// each unit and step.
pub(super) fn by_worth(problem: &Problem<'_>) -> Vec<usize> {
    let bounded = |choice: &MemoryChoice| problem.memories[choice.memory].capacity.is_some();
    let key = |&buffer: &usize| {
        let (choices, b) = (&problem.choices[buffer], &problem.buffers[buffer]);
        let must = choices.iter().all(bounded);
        let saved = match &choices[..] {
            [first, second, ..] => second.cost - first.cost,
            _ => 0,
        };
        let space = u128::from(b.size).max(1) * b.live.len() as u128;
        // A rational number would be exact; a millionth is enough to sort by.
        let worth = u128::from(saved) * 1_000_000 / space;
        (Reverse(must.then_some(Reverse(choices.len()))), Reverse(worth), Reverse(b.size))
    };
    let mut order: Vec<usize> = (0..problem.buffers.len()).collect();
    order.sort_by_key(key);
    order
}

/// Places each buffer in its cheapest memory that has room, in the given order. Tries many buffers at once as long as
/// they fit, so that a set without spilling takes few trials. Returns the first buffer without room if there is one.
pub(super) fn greedy(trials: &mut Trials<'_, '_>, order: &[usize]) -> Result<Result<Assignment, usize>, PlanError> {
    let problem = trials.problem;
    let mut assignment = Assignment::new(problem);
    // For each buffer, the choices that were found to have no room.
    let mut refused = vec![0; problem.buffers.len()];
    let (mut at, mut width) = (0, order.len());
    while at < order.len() {
        let next = &order[at..(at + width).min(order.len())];
        for &buffer in next {
            assignment.set(buffer, Some(problem.choices[buffer][refused[buffer]]));
        }
        let mut fits = true;
        for memory in 0..problem.memories.len() {
            let changed = next.iter().any(|&b| problem.choices[b][refused[b]].memory == memory);
            fits = fits && (!changed || trials.fits(memory, &assignment.sets[memory])? == Answer::Fits);
        }
        if fits {
            at += next.len();
            width *= 2;
            continue;
        }
        for &buffer in next {
            assignment.set(buffer, None);
        }
        if let &[buffer] = next {
            refused[buffer] += 1;
            if refused[buffer] == problem.choices[buffer].len() {
                return Ok(Err(buffer));
            }
        }
        width = (width.min(next.len()) / 2).max(1);
    }
    Ok(Ok(assignment))
}
