//! The planner of one arena.

use std::{collections::HashMap, ops::Range, sync::atomic::AtomicBool, time::Duration};

use super::{
    arena_plan::{ArenaPlan, ArenaProof},
    bound::widest_step,
    buffer::{Buffer, BufferId, PlannerId},
    check::{check_arena, overlapping},
    conflicts::Conflicts,
    exact,
    offset_plan::OffsetPlan,
    order_search::OrderSearch,
    plain,
    reduced::{Reduced, Rules},
    sequences::Sequences,
    without_pairs,
};
use crate::{
    control::{Progress, SearchControl, StopReason, limited},
    error::{InputError, PlanError},
    printable::printable,
};

/// Places buffers in one arena and tries to keep it small.
///
/// Live ranges are given, or result from the steps that use a buffer:
///
/// ```
/// use texpool_plan::{ArenaPlanner, ArenaProof, Buffer};
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
/// assert_eq!(planner.buffers()?[1].live, 1..3);
/// let plan = planner.plan()?;
/// assert_eq!(plan[features], plan[activated]);
/// // Image and features are needed at the same step: 600 and 1000, or 640 where the next may begin.
/// assert_eq!((plan.total, plan.proof), (1624, ArenaProof::WidestStep));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// Buffers are searched exactly, up to 16,384 of them that are connected by overlaps in time. Three things are
/// simplified in that search, which then finds plans but no proof: windows of a buffer without a common byte, pairs
/// computed in place without one, and more than 256 sets of buffers that can begin at one offset. Up to 256 buffers with
/// up to 512 gaps have another exact search without these limits. If more than four million pairs of constrained
/// buffers are alive together, only a greedy plan is made, which ignores gaps. If the exact search is left out and the
/// plan is not proven by other means, [`ArenaPlan::stopped`] is [`StopReason::TooManyTensors`]. [`ArenaPlan::proof`] shows whether the plan is proven to be the smallest. A search
/// uses one thread.
///
/// Effort is counted in placements, so that the same buffers get the same plan on every machine. A deadline or a
/// cancel flag can end a search earlier, and [`ArenaPlan::stopped`] reports it:
///
/// ```
/// use std::{sync::atomic::AtomicBool, time::Duration};
/// use texpool_plan::{ArenaPlanner, Buffer, UsageRecord};
///
/// let cancelled = AtomicBool::new(false);
/// let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 6), UsageRecord::new(2, 3, 4)];
/// let planner = ArenaPlanner::from_iter(records.map(Buffer::from));
/// let plan = planner.deadline(Duration::from_secs(5)).cancel(&cancelled).plan()?;
/// assert_eq!((plan.total, plan.stopped), (10, None));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// Use [`capacity`](Self::capacity) to find out whether buffers fit into a memory of a given size, and
/// [`check`](Self::check) to verify a plan from elsewhere:
///
/// ```
/// use texpool_plan::{ArenaPlanner, Buffer, LayoutError, PlanError, SearchControl};
///
/// let buffers = [Buffer::new(0..2, 4), Buffer::new(1..3, 6), Buffer::new(2..4, 4)];
/// let planner = ArenaPlanner::from_iter(buffers).effort(1000);
/// assert_eq!(planner.clone().capacity(9).plan()?.fits(9), Some(false));
///
/// let mut plan = planner.plan_until(&SearchControl::new())?;
/// planner.check(&plan)?;
/// plan.offsets[1] = plan.offsets[0];
/// let refused = planner.check(&plan);
/// assert!(matches!(refused, Err(PlanError::Layout(LayoutError::Overlap { a: 0, b: 1, step: 1, .. }))));
/// # Ok::<(), PlanError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ArenaPlanner<'a> {
    buffers: Vec<Buffer>,
    in_place: Vec<(BufferId, BufferId)>,
    apart: Vec<Vec<BufferId>>,
    same_offset: Vec<Vec<BufferId>>,
    /// Each use of a buffer, with its step.
    uses: Vec<(usize, BufferId)>,
    id: PlannerId,
    steps: usize,
    capacity: Option<u64>,
    effort: u64,
    deadline: Option<Duration>,
    cancel: Option<&'a AtomicBool>,
}

/// Default number of placements to try.
const EFFORT: u64 = 1 << 20;
/// Upper limit on the sum of sizes and paddings, so that differences of offsets fit into 64 bits.
pub(crate) const MAX_SIZE: u128 = 1 << 62;

impl Default for ArenaPlanner<'_> {
    fn default() -> Self {
        Self {
            buffers: Vec::new(),
            in_place: Vec::new(),
            apart: Vec::new(),
            same_offset: Vec::new(),
            uses: Vec::new(),
            id: PlannerId::unique(),
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
    /// Creates a planner without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer, and returns its id.
    pub fn add(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId::new(self.id, self.buffers.len() - 1)
    }

    /// Returns the id of the buffer at a position, counted from 0; `None` past the last.
    pub fn id(&self, index: usize) -> Option<BufferId> {
        (index < self.buffers.len()).then(|| BufferId::new(self.id, index))
    }

    /// Adds the next step with the buffers that it reads and writes, and returns its number, counted from 0. A buffer
    /// without a given live range lives from the first step that uses it to the last. A buffer with one may be used
    /// only within it.
    pub fn step(&mut self, reads: &[BufferId], writes: &[BufferId]) -> usize {
        self.uses.extend(reads.iter().chain(writes).map(|&buffer| (self.steps, buffer)));
        self.steps += 1;
        self.steps - 1
    }

    /// Allows `after` to be computed in place of `before`. The last step of `before` must be the first step of
    /// `after`, and the only step that both share. At that step they may overlap if they begin at the same offset,
    /// but need not.
    pub fn in_place(&mut self, before: BufferId, after: BufferId) {
        self.in_place.push((before, after));
    }

    /// Keeps buffers apart although their live ranges may not overlap: no two of them get a byte in common. Live ranges
    /// are intervals of one order of steps. Streams that run side by side have no such order, so a buffer of one must be
    /// kept apart from those of the others that may run at the same time.
    ///
    /// ```
    /// use texpool_plan::{ArenaPlanner, ArenaProof, Buffer};
    ///
    /// let mut planner = ArenaPlanner::new();
    /// let [a, b, c] = [4, 6, 5].map(|size| planner.add(Buffer::of(size)));
    /// for buffer in [a, b, c] {
    ///     planner.step(&[], &[buffer]);
    /// }
    /// assert_eq!(planner.plan()?.total, 6);
    /// // The first and the last are used in two streams.
    /// planner.apart(&[a, c]);
    /// let plan = planner.plan()?;
    /// assert_eq!((plan.total, plan.proof), (9, ArenaProof::WidestStep));
    /// # Ok::<(), texpool_plan::PlanError>(())
    /// ```
    pub fn apart(&mut self, buffers: &[BufferId]) {
        self.apart.push(buffers.to_vec());
    }

    /// Places buffers at one offset, as views of one memory, whether they are alive together or not. Alignments and
    /// sizes may differ. Sets with a common member become one. Between bytes of members that are needed at a step, no
    /// other buffer is placed.
    ///
    /// ```
    /// use texpool_plan::{ArenaPlanner, Buffer};
    ///
    /// let mut planner = ArenaPlanner::new();
    /// // A cache, the longer one that the next call takes it for, and another tensor between the two.
    /// let cache = planner.add(Buffer::new(0..1, 64));
    /// let grown = planner.add(Buffer::new(3..4, 96).aligned(32));
    /// let other = planner.add(Buffer::new(0..4, 16));
    /// planner.same_offset(&[cache, grown]);
    /// let plan = planner.plan()?;
    /// assert_eq!((plan[cache], plan.total), (plan[grown], 112));
    /// # Ok::<(), texpool_plan::PlanError>(())
    /// ```
    pub fn same_offset(&mut self, buffers: &[BufferId]) {
        self.same_offset.push(buffers.to_vec());
    }

    /// Ends the search at the first plan within `capacity`, or once it is proven that no plan fits. The returned plan
    /// may be larger than `capacity`; [`ArenaPlan::fits`] tells the cases apart.
    pub const fn capacity(mut self, capacity: u64) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Sets an upper limit on the search after the first plan, in placements of a buffer. The default is 1,048,576,
    /// which takes a second or less. For buffers that have only live ranges and sizes, the limit applies to each size
    /// of the arena that is tried.
    pub const fn effort(mut self, placements: u64) -> Self {
        self.effort = placements;
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

    /// Returns the buffers, with the live ranges that result from steps.
    ///
    /// # Errors
    /// [`PlanError::Input`] if a step uses a buffer of another planner, or uses a buffer outside its live range.
    pub fn buffers(&self) -> Result<Vec<Buffer>, PlanError> {
        let mut buffers = self.buffers.clone();
        for &(step, id) in &self.uses {
            let record = self.index(id)?;
            let Range { start, end } = self.buffers[record].live;
            let live = &mut buffers[record].live;
            if start == end {
                *live = if live.start == live.end { step..step + 1 } else { live.start..step + 1 };
            } else if !live.contains(&step) {
                let (first, last) = (start, end.saturating_sub(1));
                return Err(InputError::UseOutsideLife { step, record, first, last }.into());
            }
        }
        Ok(buffers)
    }

    fn index(&self, id: BufferId) -> Result<usize, PlanError> {
        let index = id.index_in(self.id).filter(|&index| index < self.buffers.len());
        index.ok_or_else(|| InputError::ForeignBuffer { index: id.index() }.into())
    }

    /// Returns the rules about several buffers, by position.
    fn rules(&self) -> Result<Rules, PlanError> {
        let set = |set: &Vec<BufferId>| set.iter().map(|&id| self.index(id)).collect::<Result<Vec<_>, _>>();
        let pair = |&(before, after)| Ok((self.index(before)?, self.index(after)?));
        let in_place = self.in_place.iter().map(pair).chain(self.named_pairs()?.into_iter().map(Ok));
        Ok(Rules {
            in_place: in_place.collect::<Result<_, PlanError>>()?,
            apart: self.apart.iter().map(set).collect::<Result<_, PlanError>>()?,
            same_offset: self.same_offset.iter().map(set).collect::<Result<_, PlanError>>()?,
        })
    }

    /// Returns the pairs that buffers name themselves.
    fn named_pairs(&self) -> Result<Vec<(usize, usize)>, PlanError> {
        let named =
            || self.buffers.iter().enumerate().filter_map(|(after, b)| Some((after, b.in_place_of.as_deref()?)));
        if named().next().is_none() {
            return Ok(Vec::new());
        }
        let mut by_name: HashMap<&str, Option<usize>> = HashMap::new();
        for (index, b) in self.buffers.iter().enumerate() {
            by_name.entry(&b.name).and_modify(|index| *index = None).or_insert(Some(index));
        }
        let pair = |(after, name): (usize, &str)| match by_name.get(name) {
            Some(&Some(before)) => Ok((before, after)),
            found => {
                let many = if found.is_some() { "several buffers are" } else { "no buffer is" };
                let why = format!("it may be computed in place of `{}`, but {many} called that", printable(name));
                Err(InputError::BadBuffer { buffer: after, name: self.buffers[after].name.clone(), why }.into())
            }
        };
        named().map(pair).collect()
    }

    /// Computes the plan.
    ///
    /// # Errors
    /// [`PlanError::Input`] if buffers contradict themselves or each other.
    pub fn plan(&self) -> Result<ArenaPlan, PlanError> {
        limited(self.deadline, self.cancel, |control| self.plan_until(control))
    }

    /// Like [`plan`](Self::plan), with a control instead of the deadline and the flag.
    ///
    /// # Errors
    /// The errors of [`plan`](Self::plan).
    pub fn plan_until(&self, control: &SearchControl<'_>) -> Result<ArenaPlan, PlanError> {
        let (buffers, rules) = (self.buffers()?, self.rules()?);
        validate(&buffers, &rules.in_place)?;
        let reduced = Reduced::new(&buffers, &rules)?;
        check_given(&reduced)?;
        control.report(Progress::new("buffers", 0, self.effort));
        let widest = widest_step(&reduced.buffers, &reduced.in_place);
        let best = self.search(&reduced.buffers, &reduced.in_place, widest, control)?;
        let bound = best.bound.max(widest);
        let proof = match best.total {
            total if total <= widest => ArenaProof::WidestStep,
            total if total <= bound => ArenaProof::Search,
            _ => ArenaProof::Unproven,
        };
        let enough = best.total <= bound || self.capacity.is_some_and(|capacity| best.total <= capacity);
        let decided = self.capacity.is_some_and(|capacity| bound > capacity);
        let stopped = best.stopped.filter(|_| !enough && !decided);
        let (offsets, total) = (reduced.offsets(&best.offsets), best.total);
        let plan = ArenaPlan { offsets, total, bound, proof, stopped, planner: self.id };
        check_arena(&buffers, &rules, &reduced, &plan)?;
        Ok(plan)
    }

    /// Checks a plan, possibly from elsewhere: fixed offsets, alignments, the end of the arena, and that bound and
    /// proof agree with the total. Also checks that no two buffers need the same bytes at a step, unless one may be
    /// computed in place of the other or they share an offset, and that buffers are apart that must be. Shares no code with
    /// the searches.
    ///
    /// # Errors
    /// The first rule that the buffers or the plan break.
    pub fn check(&self, plan: &ArenaPlan) -> Result<(), PlanError> {
        let (buffers, rules) = (self.buffers()?, self.rules()?);
        validate(&buffers, &rules.in_place)?;
        check_arena(&buffers, &rules, &Reduced::new(&buffers, &rules)?, plan)
    }

    /// Checks offsets within an arena of `total` units.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub(crate) fn check_offsets(&self, offsets: Vec<u64>, total: u64) -> Result<(), PlanError> {
        let (proof, planner) = (ArenaProof::Unproven, self.id);
        self.check(&ArenaPlan { offsets, total, bound: 0, proof, stopped: None, planner })
    }

    fn search(
        &self,
        buffers: &[Buffer],
        in_place: &[(usize, usize)],
        widest: u64,
        control: &SearchControl<'_>,
    ) -> Result<OffsetPlan, PlanError> {
        let Self { capacity, effort, .. } = self;
        let unit = plain::common_unit(buffers).filter(|_| in_place.is_empty());
        // In such units each buffer is followed by its padding, which the last buffer of the arena does not need.
        let small = exact::takes(buffers);
        if let Some(unit) = unit.filter(|&unit| !small || plain::padding(buffers, unit) == 0) {
            return plain::plan(buffers, unit, *capacity, *effort, control);
        }
        if capacity.is_some_and(|capacity| capacity < widest) {
            return beyond_reach(buffers, in_place, widest, unit);
        }
        let conflicts = match Conflicts::new(buffers, in_place, control) {
            Ok(conflicts) => conflicts,
            Err(reason) => {
                let stopped = control.stopped().or(Some(reason));
                return Ok(OffsetPlan { stopped, ..without_pairs::plan(buffers, widest)? });
            }
        };
        let sequences = Sequences::new(buffers, in_place, &conflicts);
        let exact = small || sequences.as_ref().is_some_and(Sequences::is_exact);
        let best = self.search_pairs(buffers, in_place, &conflicts, sequences, widest, control)?;
        let stopped = best.stopped.or(control.stopped());
        // The search may have been stopped before it completed its first plan.
        let best = if stopped.is_some() && !conflicts.few {
            best.or_smaller(without_pairs::plan(buffers, widest)?)
        } else {
            best
        };
        let beyond_exact = (!exact && *effort > 0).then_some(StopReason::TooManyTensors);
        Ok(OffsetPlan { stopped: stopped.or(beyond_exact), ..best })
    }

    /// Searches with the forbidden differences of all pairs of buffers.
    fn search_pairs(
        &self,
        buffers: &[Buffer],
        in_place: &[(usize, usize)],
        conflicts: &Conflicts,
        sequences: Option<Sequences<'_>>,
        widest: u64,
        control: &SearchControl<'_>,
    ) -> Result<OffsetPlan, PlanError> {
        let Self { capacity, effort, .. } = *self;
        let unit = plain::common_unit(buffers).filter(|_| in_place.is_empty());
        let enough = capacity.unwrap_or(widest);
        let mut orders = OrderSearch::new(buffers, conflicts, widest, enough, control);
        let small = exact::takes(buffers);
        // The exact searches need a good plan to start from. If neither runs, the order search gets all of the effort.
        if small || sequences.is_some() {
            orders.improve(effort / 8, &control.share(1, 16));
        } else {
            orders.improve(effort, control);
        }
        let mut best = orders.best().clone();
        let open = |best: &OffsetPlan| {
            let decided = capacity.is_some_and(|capacity| best.bound > capacity);
            effort > 0 && !decided && best.total > enough.max(best.bound)
        };
        if let Some(unit) = unit.filter(|_| open(&best)) {
            best = best.or_smaller(plain::plan(buffers, unit, capacity, effort, &control.share(1, 3))?);
        }
        // Of the exact searches, this one is faster by far. The other can prove plans that this one simplifies.
        if let Some(sequences) = sequences.filter(|_| open(&best)) {
            best = sequences.improve(best, capacity, effort, &control.share(2, 3));
        }
        if small && open(&best) {
            best = exact::improve(best, buffers, in_place, conflicts, capacity, effort / 2, &control.share(1, 2));
        }
        if open(&best) {
            orders.improve(effort / 2, control);
            best = best.or_smaller(orders.best().clone());
        }
        Ok(best)
    }
}

/// Checks that buffers contradict neither themselves nor each other.
fn validate(buffers: &[Buffer], in_place: &[(usize, usize)]) -> Result<(), PlanError> {
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
    match in_place.iter().find(|&&(before, after)| buffers[before].live.end != buffers[after].live.start + 1) {
        Some(&(before, after)) => Err(InputError::BadInPlace { before, after }.into()),
        None => Ok(()),
    }
}

/// Returns a greedy plan for a capacity that no plan can keep. It compares buffers only if there are few pairs of them,
/// so that the answer takes no time.
fn beyond_reach(
    buffers: &[Buffer],
    in_place: &[(usize, usize)],
    widest: u64,
    unit: Option<u64>,
) -> Result<OffsetPlan, PlanError> {
    let greedy = without_pairs::plan(buffers, widest)?;
    let unlimited = SearchControl::new();
    if !Conflicts::are_few(buffers) {
        return Ok(greedy);
    }
    let Ok(conflicts) = Conflicts::new(buffers, in_place, &unlimited) else { return Ok(greedy) };
    let orders = OrderSearch::new(buffers, &conflicts, widest, widest, &unlimited);
    let best = greedy.or_smaller(orders.best().clone());
    match unit {
        Some(unit) => Ok(best.or_smaller(plain::plan(buffers, unit, None, 0, &unlimited)?)),
        None => Ok(best),
    }
}

/// Checks that buffers with fixed offsets do not overlap.
fn check_given(reduced: &Reduced) -> Result<(), PlanError> {
    let Reduced { buffers, in_place, first_of, .. } = reduced;
    match overlapping(buffers, in_place, |buffer| buffers[buffer].offset) {
        Some((buffer, other, _)) => {
            let why = format!("its given place overlaps that of buffer {}", first_of[other]);
            Err(InputError::BadBuffer { buffer: first_of[buffer], name: buffers[buffer].name.clone(), why }.into())
        }
        None => Ok(()),
    }
}
