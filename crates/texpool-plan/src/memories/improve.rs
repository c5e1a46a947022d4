//! Improves an assignment by moves: a buffer goes to a cheaper memory, alone or in exchange for another one.

use super::{
    assignment::Assignment,
    memory::MemoryChoice,
    trials::{Answer, Trials},
};
use crate::{control::Progress, error::PlanError};

/// Moves buffers until no move saves anything, `trials` have been done, or the control stops it.
pub(super) fn improve(
    search: &mut Trials<'_, '_>,
    assignment: &mut Assignment,
    bound: u64,
    trials: u64,
) -> Result<(), PlanError> {
    let problem = search.problem;
    let mut improved = true;
    while improved && assignment.cost() > bound {
        improved = false;
        for buffer in 0..problem.buffers.len() {
            let best = Some(assignment.cost());
            search.control.report(Progress { best, ..Progress::new("moves between memories", search.done, trials) });
            if search.done >= trials || search.control.should_stop() {
                return Ok(());
            }
            improved |= moved(search, assignment, buffer, trials)?;
        }
    }
    Ok(())
}

/// Moves a buffer to a cheaper memory, if that is possible alone or in exchange for one that is alive with it.
fn moved(
    search: &mut Trials<'_, '_>,
    assignment: &mut Assignment,
    buffer: usize,
    trials: u64,
) -> Result<bool, PlanError> {
    let problem = search.problem;
    let Some(now) = assignment.choices[buffer] else { return Ok(false) };
    for &choice in problem.choices[buffer].iter().take_while(|choice| choice.cost < now.cost) {
        assignment.set(buffer, Some(choice));
        if all_fit(search, assignment, &[now.memory, choice.memory])? {
            return Ok(true);
        }
        let life = &problem.buffers[buffer].live;
        let overlaps = |&other: &usize| {
            let live = &problem.buffers[other].live;
            other != buffer && live.start < life.end && life.start < live.end
        };
        let others: Vec<usize> = assignment.sets[choice.memory].iter().copied().filter(overlaps).collect();
        for other in others {
            let Some(place) = assignment.choices[other] else { continue };
            let saves = |to: &&MemoryChoice| to.memory != place.memory && cost(**to, choice) < cost(place, now);
            for &to in problem.choices[other].iter().filter(saves) {
                if search.done >= trials || search.control.should_stop() {
                    break;
                }
                assignment.set(other, Some(to));
                if all_fit(search, assignment, &[now.memory, to.memory, choice.memory])? {
                    return Ok(true);
                }
                assignment.set(other, Some(place));
            }
        }
        assignment.set(buffer, Some(now));
    }
    Ok(false)
}

/// Returns whether the buffers of each of these memories fit into it. A plan of fewer buffers than before may not be
/// found, so the memory that a buffer leaves is tried, too.
fn all_fit(search: &mut Trials<'_, '_>, assignment: &Assignment, memories: &[usize]) -> Result<bool, PlanError> {
    for &memory in memories {
        if search.fits(memory, &assignment.sets[memory])? != Answer::Fits {
            return Ok(false);
        }
    }
    Ok(true)
}

fn cost(a: MemoryChoice, b: MemoryChoice) -> u128 {
    u128::from(a.cost) + u128::from(b.cost)
}
