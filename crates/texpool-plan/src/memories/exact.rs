//! Finds an assignment of the least cost by branch and bound, and proves it.

use super::{
    assignment::Assignment,
    bound::CostBound,
    memory::MemoryChoice,
    trials::{Answer, Trials},
};
use crate::{control::Progress, error::PlanError};

/// Result of the search.
pub(super) struct Exact {
    /// An assignment that costs less than the known one, if there is one.
    pub(super) best: Option<Assignment>,
    /// True if it is proven that no assignment costs less than the best, or that none fits.
    pub(super) complete: bool,
}

/// Searches for an assignment that costs less than `limit`. Decides the buffers in the given order, each with its
/// cheapest choice first, until it has visited `nodes` nodes, `trials` have been done, or the control stops it.
pub(super) fn exact(
    search: &mut Trials<'_, '_>,
    bound: &CostBound,
    order: &[usize],
    mut limit: u64,
    nodes: u64,
    trials: u64,
) -> Result<Exact, PlanError> {
    let problem = search.problem;
    let mut choices: Vec<&[MemoryChoice]> = problem.choices.iter().map(Vec::as_slice).collect();
    let mut assignment = Assignment::new(problem);
    let mut result = Exact { best: None, complete: true };
    // For each decided buffer and the next one, the choice to try next.
    let mut next = vec![0];
    let mut visited = 0;
    while let Some(choice) = next.last().copied() {
        let depth = next.len() - 1;
        let Some(&buffer) = order.get(depth) else {
            // All are decided, and the bound has shown that this costs less.
            limit = assignment.cost();
            result.best = Some(assignment.clone());
            next.pop();
            continue;
        };
        assignment.set(buffer, None);
        let all = &problem.choices[buffer];
        choices[buffer] = all;
        let Some(tried) = all.get(choice..=choice) else {
            next.pop();
            continue;
        };
        next[depth] += 1;
        visited += 1;
        search.control.report(Progress::new("memories", visited, nodes));
        if visited > nodes || search.done >= trials || search.control.should_stop() {
            result.complete = false;
            return Ok(result);
        }
        choices[buffer] = tried;
        if bound.of(&choices).is_none_or(|least| least >= limit) {
            continue;
        }
        assignment.set(buffer, Some(tried[0]));
        let memory = tried[0].memory;
        match search.fits(memory, &assignment.sets[memory])? {
            Answer::Fits => next.push(0),
            Answer::TooLarge => {}
            Answer::Undecided => result.complete = false,
        }
    }
    Ok(result)
}
