//! The planner of one arena.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::{
    arena_plan::{ArenaPlan, ArenaProof},
    bound::widest_step,
    buffer::{Buffer, BufferId},
    check::check_arena,
    conflicts::Conflicts,
    exact,
    found::Found,
    order_search::search_orders,
    plain,
};
use crate::plan::{
    control::{Progress, SearchControl},
    error::{InputError, PlanError},
};

/// Places buffers in one arena, as small as it can.
///
/// Lives are given, or follow from the steps that use a buffer:
///
/// ```
/// use texpool::plan::{ArenaPlanner, ArenaProof, Buffer};
///
/// let mut planner = ArenaPlanner::new();
/// let image = planner.add(Buffer::of(600).named("image").aligned(64));
/// let features = planner.add(Buffer::of(1000).named("features").aligned(64));
/// let activated = planner.add(Buffer::of(1000).named("activated").aligned(64));
/// let scores = planner.add(Buffer::of(40).named("scores").aligned(64));
/// planner.step(&[], &[image]);
/// planner.step(&[image], &[features]);
/// planner.step(&[features], &[activated]);
/// planner.step(&[activated], &[scores]);
/// // The third step computes each element from the one at the same place.
/// planner.in_place(features, activated);
///
/// let plan = planner.plan()?;
/// assert_eq!(plan[features], plan[activated]);
/// // Image and features are needed at the same step: 600 and 1000, or 640 where the next may begin.
/// assert_eq!((plan.total, plan.proof), (1624, ArenaProof::WidestStep));
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
///
/// Effort is counted in placements, so that the same buffers get the same plan on every machine; a deadline and a flag
/// to cancel end a search earlier, and [`ArenaPlan::stopped`] says so:
///
/// ```
/// use std::{sync::atomic::AtomicBool, time::Duration};
/// use texpool::plan::{ArenaPlanner, Buffer, UsageRecord};
///
/// let cancelled = AtomicBool::new(false);
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 6), UsageRecord::new(2, 3, 4)];
/// let planner = ArenaPlanner::from_iter(records.map(Buffer::from));
/// let plan = planner.deadline(Duration::from_secs(5)).cancel(&cancelled).plan()?;
/// assert_eq!((plan.total, plan.stopped), (10, None));
/// # Ok::<(), texpool::plan::PlanError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ArenaPlanner<'a> {
    buffers: Vec<Buffer>,
    in_place: Vec<(BufferId, BufferId)>,
    /// Steps with what they use.
    uses: Vec<(usize, BufferId)>,
    steps: usize,
    capacity: Option<u64>,
    effort: u64,
    deadline: Option<Duration>,
    cancel: Option<&'a AtomicBool>,
}

/// Placements that are tried where nobody says.
const EFFORT: u64 = 1 << 20;
/// Sizes and paddings add up to less than this, so that differences of offsets are numbers of 64 bits.
const MAX_SIZE: u128 = 1 << 62;

impl Default for ArenaPlanner<'_> {
    fn default() -> Self {
        Self {
            buffers: Vec::new(),
            in_place: Vec::new(),
            uses: Vec::new(),
            steps: 0,
            capacity: None,
            effort: EFFORT,
            deadline: None,
            cancel: None,
        }
    }
}

impl FromIterator<Buffer> for ArenaPlanner<'_> {
    fn from_iter<I: IntoIterator<Item = Buffer>>(buffers: I) -> Self {
        Self { buffers: buffers.into_iter().collect(), ..Self::default() }
    }
}

impl<'a> ArenaPlanner<'a> {
    /// A planner without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer.
    pub fn add(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() - 1)
    }

    /// Adds the next step, and says what it reads and writes. A buffer without a life of its own lives from the first
    /// step that uses it to the last; one with a life may be used at steps of it only. The number of the step, counted
    /// from 0.
    pub fn step(&mut self, reads: &[BufferId], writes: &[BufferId]) -> usize {
        self.uses.extend(reads.iter().chain(writes).map(|&buffer| (self.steps, buffer)));
        self.steps += 1;
        self.steps - 1
    }

    /// Says that `after` may be computed in the place of `before`: at the step that is the last of one and the first of
    /// the other, and the only one of both, they may overlap if they begin at the same offset. They need not.
    pub fn in_place(&mut self, before: BufferId, after: BufferId) {
        self.in_place.push((before, after));
    }

    /// Ends the search at the first plan within `capacity`, or once it is known that there is none;
    /// [`ArenaPlan::fits`] says which. The plan may be larger.
    pub const fn capacity(mut self, capacity: u64) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Tries so many placements at most after the first plan, 1,048,576 if nobody says; where buffers have nothing but
    /// lives and sizes, so many for each size of the arena that is tried.
    pub const fn effort(mut self, placements: u64) -> Self {
        self.effort = placements;
        self
    }

    /// Ends the search after so long, with the best plan so far.
    pub const fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Ends the search soon after `flag` is set, with the best plan so far.
    pub const fn cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// The buffers, with the lives that follow from steps.
    ///
    /// # Errors
    /// [`PlanError::Input`] for a step that uses a buffer that does not exist, or outside of its life.
    pub fn buffers(&self) -> Result<Vec<Buffer>, PlanError> {
        let mut buffers = self.buffers.clone();
        for &(step, id) in &self.uses {
            let live = self.buffers.get(id.0).map(|b| b.live.clone());
            match live {
                Some(live) if live.start == live.end => {
                    let live = &mut buffers[id.0].live;
                    *live = if live.start == live.end { step..step + 1 } else { live.start..step + 1 };
                }
                Some(live) if live.contains(&step) => {}
                other => {
                    let (first, last) = other.map_or((0, 0), |live| (live.start, live.end.saturating_sub(1)));
                    return Err(InputError::UseOutsideLife { step, record: id.0, first, last }.into());
                }
            }
        }
        Ok(buffers)
    }

    /// The plan.
    ///
    /// # Errors
    /// [`PlanError::Input`] for buffers that contradict themselves or each other, [`PlanError::Unsupported`] where more
    /// than four million pairs of them are alive together and they have more than lives and sizes.
    pub fn plan(&self) -> Result<ArenaPlan, PlanError> {
        let mut callback = |_: Progress| match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let mut control = SearchControl::new();
        if self.cancel.is_some() {
            control = control.progress(&mut callback);
        }
        if let Some(after) = self.deadline {
            control = control.timeout(after);
        }
        self.plan_until(&control)
    }

    /// As [`plan`](Self::plan), with a control in the place of deadline and flag.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_until(&self, control: &SearchControl<'_>) -> Result<ArenaPlan, PlanError> {
        let buffers = self.buffers()?;
        self.validate(&buffers)?;
        control.report(Progress::new("buffers", 0, self.effort));
        let widest = widest_step(&buffers, &self.in_place);
        let found = self.search(&buffers, widest, control)?;
        let bound = found.bound.max(widest);
        let proof = match found.total {
            total if total <= widest => ArenaProof::WidestStep,
            total if total <= bound => ArenaProof::Search,
            _ => ArenaProof::Unproven,
        };
        let enough = found.total <= bound || self.capacity.is_some_and(|capacity| found.total <= capacity);
        let decided = self.capacity.is_some_and(|capacity| bound > capacity);
        let stopped = found.stopped.filter(|_| !enough && !decided);
        let plan = ArenaPlan { offsets: found.offsets, total: found.total, bound, proof, stopped };
        check_arena(&buffers, &self.in_place, &plan)?;
        Ok(plan)
    }

    /// Checks a plan, which may come from elsewhere: given places, alignments, the arena's end, and that no two buffers
    /// need the same bytes at a step, unless one may be computed in the other's place. Shares no code with the searches.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self, plan: &ArenaPlan) -> Result<(), PlanError> {
        check_arena(&self.buffers()?, &self.in_place, plan)
    }

    fn search(&self, buffers: &[Buffer], widest: u64, control: &SearchControl<'_>) -> Result<Found, PlanError> {
        let common = plain::common_alignment(buffers).filter(|_| self.in_place.is_empty());
        let has_exact_search = exact::is_complete_for(buffers);
        // In units of the alignment a buffer has its padding behind it, which the last one in the arena needs not have.
        if let Some(align) = common.filter(|&align| !has_exact_search || plain::padding(buffers, align) == 0) {
            return plain::plan(buffers, align, self.capacity, self.effort, control);
        }
        let conflicts = Conflicts::new(buffers, &self.in_place)?;
        check_given(buffers, &conflicts)?;
        let enough = self.capacity.map_or(widest, |capacity| capacity.max(widest));
        // No plan is within a capacity below the widest step.
        let effort = if self.capacity.is_some_and(|capacity| capacity < widest) { 0 } else { self.effort };
        if effort == 0 || !self.in_place.is_empty() || !has_exact_search {
            let best = search_orders(buffers, &conflicts, widest, enough, effort, control);
            return Ok(Found { stopped: control.stopped(), ..best });
        }
        let best = search_orders(buffers, &conflicts, widest, enough, effort / 2, &control.share(1, 2));
        if best.total <= enough {
            return Ok(best);
        }
        Ok(exact::improve(best, buffers, &conflicts, self.capacity, effort / 2, control))
    }

    fn validate(&self, buffers: &[Buffer]) -> Result<(), PlanError> {
        let mut total = 0u128;
        for (buffer, b) in buffers.iter().enumerate() {
            let contradiction = b.contradiction().map(|(_, why)| why);
            total += u128::from(b.size) + u128::from(b.align);
            let end = total + b.offset.map_or(0, u128::from);
            let why = contradiction.or_else(|| (end > MAX_SIZE).then(|| "it ends at more than 2^62".to_owned()));
            if let Some(why) = why {
                return Err(InputError::BadBuffer { buffer, name: b.name.clone(), why }.into());
            }
        }
        for &(before, after) in &self.in_place {
            let adjoin = match (buffers.get(before.0), buffers.get(after.0)) {
                (Some(a), Some(b)) => a.live.end == b.live.start + 1,
                _ => false,
            };
            if !adjoin {
                return Err(InputError::BadInPlace { before: before.0, after: after.0 }.into());
            }
        }
        Ok(())
    }
}

/// Checks that buffers whose places are given do not overlap.
fn check_given(buffers: &[Buffer], conflicts: &Conflicts) -> Result<(), PlanError> {
    for (buffer, (b, list)) in buffers.iter().zip(&conflicts.0).enumerate() {
        let Some(own) = b.offset else { continue };
        for forbidden in list {
            let Some(given) = buffers[forbidden.other].offset else { continue };
            let difference = own as i64 - given as i64;
            if forbidden.low < difference && difference < forbidden.high {
                let why = format!("its given place overlaps that of buffer {}", forbidden.other);
                return Err(InputError::BadBuffer { buffer, name: b.name.clone(), why }.into());
            }
        }
    }
    Ok(())
}
