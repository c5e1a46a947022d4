//! Tries whether sets of buffers fit into a memory, and remembers the answers.

use std::collections::HashMap;

use super::problem::Problem;
use crate::{buffers::ArenaPlanner, control::SearchControl, error::PlanError};

/// Placements that the arena planner may spend on one set.
const EFFORT_OF_EACH: u64 = 1 << 13;

/// Answer to whether a set fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Fits,
    /// No plan of the memory holds the set.
    TooLarge,
    Undecided,
}

/// A set of buffers in ascending order, and the memory that it is to fit into.
type Key = (usize, Vec<usize>);

pub(super) struct Trials<'a, 'c> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) control: &'a SearchControl<'c>,
    /// Number of sets that were planned.
    pub(super) done: u64,
    /// Answers, with the offsets of a set that fits.
    known: HashMap<Key, (Answer, Vec<u64>)>,
}

impl<'a, 'c> Trials<'a, 'c> {
    pub(super) fn new(problem: &'a Problem<'a>, control: &'a SearchControl<'c>) -> Self {
        Self { problem, control, done: 0, known: HashMap::new() }
    }

    /// Tries whether a set fits into a memory.
    ///
    /// # Errors
    /// The errors of the arena planner.
    pub(super) fn fits(&mut self, memory: usize, set: &[usize]) -> Result<Answer, PlanError> {
        let Some(capacity) = self.problem.memories[memory].capacity.filter(|_| !set.is_empty()) else {
            return Ok(Answer::Fits);
        };
        let key = (memory, set.to_vec());
        if let Some((answer, _)) = self.known.get(&key) {
            return Ok(*answer);
        }
        self.done += 1;
        let planner = self.planner(memory, set).capacity(capacity).effort(EFFORT_OF_EACH);
        let plan = planner.plan_until(self.control)?;
        let answer = match plan.fits(capacity) {
            Some(true) => Answer::Fits,
            Some(false) => Answer::TooLarge,
            None => Answer::Undecided,
        };
        let offsets = if answer == Answer::Fits { plan.offsets } else { Vec::new() };
        self.known.insert(key, (answer, offsets));
        Ok(answer)
    }

    /// Returns the offsets of a set in a memory that it fits into.
    ///
    /// # Errors
    /// The errors of the arena planner.
    pub(super) fn offsets(&self, memory: usize, set: &[usize]) -> Result<Vec<u64>, PlanError> {
        match self.known.get(&(memory, set.to_vec())) {
            Some((_, offsets)) => Ok(offsets.clone()),
            None => Ok(self.planner(memory, set).plan_until(self.control)?.offsets),
        }
    }

    fn planner(&self, memory: usize, set: &[usize]) -> ArenaPlanner<'static> {
        set.iter().map(|&buffer| self.problem.buffer_in(buffer, memory)).collect()
    }
}
