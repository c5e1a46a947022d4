//! The planner of several memories.

use std::{sync::atomic::AtomicBool, time::Duration};

use super::{
    assignment::{Assignment, by_worth, greedy},
    bound::CostBound,
    check::check_memories,
    exact::exact,
    improve::improve,
    memory::{Memory, MemoryChoice},
    plan::{MemoriesPlan, MemoryPlace},
    problem::Problem,
    trials::Trials,
};
use crate::{
    buffers::Buffer,
    control::{SearchControl, limited},
    error::{PlanError, UnsupportedError},
};

/// Places buffers in several memories of limited capacity, at the least cost.
///
/// A buffer names the memories that it may be in, with the cost of each, such as the bytes that its readers and
/// writers move times the time for a byte. Of equal costs, the memory that is named first is preferred. A buffer that
/// has no room in a memory spills to another one that it names.
///
/// ```
/// use texpool_plan::{Buffer, MemoriesPlanner, Memory};
///
/// let (sram, dram) = (0, 1);
/// let memories = [Memory::new().named("sram").capacity(4096).aligned(16), Memory::new().named("dram")];
/// let mut planner = MemoriesPlanner::new(memories);
/// // A byte takes one cycle in one memory and ten in the other.
/// let either = |bytes: u64| [(sram, bytes), (dram, 10 * bytes)];
/// planner.add(Buffer::new(0..2, 3000).named("features"), either(2 * 3000));
/// planner.add(Buffer::new(1..3, 1000).named("pooled"), either(5 * 1000));
/// planner.add(Buffer::new(0..4, 2000).named("skip"), either(2 * 2000));
/// planner.add(Buffer::new(3..4, 600).named("scores"), [(dram, 6000)]);
/// let plan = planner.plan()?;
///
/// // Features and the pooled ones are worth more than the tensor that is alive with both.
/// assert_eq!(plan.places.iter().map(|place| place.memory).collect::<Vec<_>>(), [sram, sram, dram, dram]);
/// assert_eq!((plan.cost, plan.is_optimal()), (6000 + 5000 + 40_000 + 6000, true));
/// assert!(plan.totals[sram] <= 4096);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// The first assignment is greedy: the buffers that save the most for each byte and step come first. Then buffers
/// change places as long as that saves something, and a branch and bound search tries to prove the least cost. The
/// [`ArenaPlanner`](crate::ArenaPlanner) finds out whether the buffers of a memory fit. Effort is counted in sets of
/// buffers that it tries, so that the same buffers get the same plan on every machine.
///
/// Buffers have alignments, gaps and hints. Fixed offsets, pairs computed in place, sets that must be apart and groups
/// that share an offset are of one arena only, and a buffer stays in one memory for all of its life.
#[derive(Clone, Debug)]
#[must_use]
pub struct MemoriesPlanner<'a> {
    memories: Vec<Memory>,
    buffers: Vec<Buffer>,
    choices: Vec<Vec<MemoryChoice>>,
    effort: u64,
    deadline: Option<Duration>,
    cancel: Option<&'a AtomicBool>,
}

/// Default number of sets of buffers to try.
const EFFORT: u64 = 1 << 11;

/// Nodes of the branch and bound search for each set of buffers to try. Most nodes are cut off before they try any.
const NODES_PER_TRIAL: u64 = 16;

impl<'a> MemoriesPlanner<'a> {
    /// Creates a planner of these memories.
    pub fn new(memories: impl IntoIterator<Item = Memory>) -> Self {
        Self {
            memories: memories.into_iter().collect(),
            buffers: Vec::new(),
            choices: Vec::new(),
            effort: EFFORT,
            deadline: None,
            cancel: None,
        }
    }

    /// Adds a buffer with the memories that it may be in, the preferred one first, and returns its position.
    pub fn add<C: Into<MemoryChoice>>(&mut self, buffer: Buffer, choices: impl IntoIterator<Item = C>) -> usize {
        self.buffers.push(buffer);
        self.choices.push(choices.into_iter().map(Into::into).collect());
        self.buffers.len() - 1
    }

    /// Sets an upper limit on the search after the first assignment, in sets of buffers that are tried in a memory. The
    /// default is 2,048.
    pub const fn effort(mut self, sets: u64) -> Self {
        self.effort = sets;
        self
    }

    /// Ends the search after this time, with the best plan found by then.
    pub const fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Ends the search soon after `flag` is set, with the best plan found by then.
    pub const fn cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Computes the plan.
    ///
    /// # Errors
    /// [`PlanError::Input`] if buffers or memories contradict themselves or each other, or if a buffer is larger than
    /// every memory that it may be in; [`UnsupportedError::NoRoom`] if no assignment was found that fits.
    pub fn plan(&self) -> Result<MemoriesPlan, PlanError> {
        limited(self.deadline, self.cancel, |control| self.plan_until(control))
    }

    /// Like [`plan`](Self::plan), with a control instead of the deadline and the flag.
    ///
    /// # Errors
    /// The errors of [`plan`](Self::plan).
    pub fn plan_until(&self, control: &SearchControl<'_>) -> Result<MemoriesPlan, PlanError> {
        let problem = Problem::new(&self.memories, &self.buffers, &self.choices)?;
        let cost_bound = CostBound::new(&problem);
        let all: Vec<&[MemoryChoice]> = problem.choices.iter().map(Vec::as_slice).collect();
        let mut search = Trials::new(&problem, control);
        let order = by_worth(&problem);
        // Without a bound, some step is too wide for any assignment.
        let (mut best, mut bound) = (greedy(&mut search, &order)?, cost_bound.of(&all));
        let (moves, most) = (search.done.saturating_add(self.effort / 2), search.done.saturating_add(self.effort));
        if let (Ok(assignment), Some(bound)) = (&mut best, bound) {
            improve(&mut search, assignment, bound, moves)?;
        }
        let limit = best.as_ref().map_or(u64::MAX, Assignment::cost);
        if bound.is_some_and(|bound| bound < limit) {
            let nodes = self.effort.saturating_mul(NODES_PER_TRIAL);
            let found = exact(&mut search, &cost_bound, &order, limit, nodes, most)?;
            if let Some(cheaper) = found.best {
                best = Ok(cheaper);
            }
            if found.complete {
                bound = best.as_ref().ok().map(Assignment::cost);
            }
        }
        let assignment = best.map_err(|buffer| self.no_room(&problem, buffer, bound.is_none()))?;
        self.placed(&problem, &search, &assignment, bound.unwrap_or(0))
    }

    /// Returns the plan of an assignment.
    fn placed(
        &self,
        problem: &Problem<'_>,
        search: &Trials<'_, '_>,
        assignment: &Assignment,
        bound: u64,
    ) -> Result<MemoriesPlan, PlanError> {
        let mut places = vec![MemoryPlace { memory: 0, offset: 0 }; self.buffers.len()];
        let mut totals = vec![0; self.memories.len()];
        for (memory, set) in assignment.sets.iter().enumerate() {
            for (&buffer, offset) in set.iter().zip(search.offsets(memory, set)?) {
                places[buffer] = MemoryPlace { memory, offset };
                totals[memory] = totals[memory].max(offset + self.buffers[buffer].size);
            }
        }
        let cost = assignment.cost();
        let stopped = search.control.stopped().filter(|_| bound < cost);
        let plan = MemoriesPlan { places, totals, cost, bound, stopped };
        check_memories(problem, &plan)?;
        Ok(plan)
    }

    /// Names a buffer that has no room beside those that come before it.
    fn no_room(&self, problem: &Problem<'_>, buffer: usize, proven: bool) -> PlanError {
        let memory = problem.choices[buffer].last().map_or(0, |choice| choice.memory);
        let (name, memory_name) = (self.buffers[buffer].name.clone(), self.memories[memory].name.clone());
        UnsupportedError::NoRoom { buffer, name, memory, memory_name, proven }.into()
    }

    /// Checks a plan, possibly from elsewhere: each buffer is in a memory that it names, no two overlap, every arena is
    /// within its memory's capacity, and cost and bound agree.
    ///
    /// # Errors
    /// The first rule that the buffers or the plan break.
    pub fn check(&self, plan: &MemoriesPlan) -> Result<(), PlanError> {
        check_memories(&Problem::new(&self.memories, &self.buffers, &self.choices)?, plan)
    }
}
