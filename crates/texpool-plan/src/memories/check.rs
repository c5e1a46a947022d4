//! The checker of plans in several memories. The arena checker checks each memory.

use super::{plan::MemoriesPlan, problem::Problem};
use crate::{
    buffers::ArenaPlanner,
    error::{InputError, LayoutError, PlanError},
};

/// Checks that each buffer is in a memory that it names, that every memory holds its buffers, and that cost and bound
/// agree.
pub(super) fn check_memories(problem: &Problem<'_>, plan: &MemoriesPlan) -> Result<(), PlanError> {
    let Problem { memories, buffers, choices } = problem;
    for (what, expected, found) in
        [("places", buffers.len(), plan.places.len()), ("totals", memories.len(), plan.totals.len())]
    {
        if expected != found {
            return Err(InputError::LengthMismatch { what, expected, found }.into());
        }
    }
    let mut cost = 0;
    for (buffer, place) in plan.places.iter().enumerate() {
        let Some(choice) = choices[buffer].iter().find(|choice| choice.memory == place.memory) else {
            let why = format!("it may not be in memory {}", place.memory);
            return Err(LayoutError::WrongOffset { buffer, offset: place.offset, why }.into());
        };
        cost += choice.cost;
    }
    if cost != plan.cost || plan.bound > cost {
        return Err(LayoutError::BadCost { cost, stated: plan.cost, bound: plan.bound }.into());
    }
    for (memory, (&total, m)) in plan.totals.iter().zip(*memories).enumerate() {
        if let Some(capacity) = m.capacity.filter(|&capacity| total > capacity) {
            return Err(LayoutError::AboveCapacity { memory, total, capacity }.into());
        }
        let members: Vec<usize> = (0..buffers.len()).filter(|&b| plan.places[b].memory == memory).collect();
        let planner: ArenaPlanner<'_> = members.iter().map(|&buffer| problem.buffer_in(buffer, memory)).collect();
        let offsets = members.iter().map(|&buffer| plan.places[buffer].offset).collect();
        planner.check_offsets(offsets, total).map_err(|error| in_memory(error, memory, &members))?;
    }
    Ok(())
}

/// Names the buffers of an arena's error by their positions among all, and the memory.
fn in_memory(error: PlanError, memory: usize, members: &[usize]) -> PlanError {
    match error {
        PlanError::Layout(LayoutError::OutOfRegion { record, end, size, .. }) => {
            LayoutError::OutOfRegion { record: members[record], region: memory, end, size }.into()
        }
        PlanError::Layout(LayoutError::WrongOffset { buffer, offset, why }) => {
            let why = format!("in memory {memory} {why}");
            LayoutError::WrongOffset { buffer: members[buffer], offset, why }.into()
        }
        PlanError::Layout(LayoutError::Overlap { a, b, step, .. }) => {
            LayoutError::Overlap { a: members[a], b: members[b], step, region: memory }.into()
        }
        other => other,
    }
}
