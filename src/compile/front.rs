//! The Pareto front of one variant of a model: divisions into segments under falling memory limits, and the smallest.

use std::ops::Range;

use super::{
    division_search,
    error::CompileError,
    fewest_steps::{self, Chains},
    memory_limit::MemoryLimit,
    mutator::Mutator,
    parallel::parallel_map,
    variant::{Candidate, PlacedCandidate, Variant},
};
use crate::{
    plan::{Progress, SearchBudget, SearchControl},
    schedule::phases::{Band, Segment, SegmentCosts, order},
};

// The effort below is chosen, not tuned figure by figure: with it RetinaFace, the slowest of the catalogue, takes 5 s
// on two cores (`texpool plan retinaface --phases min`).

/// Memory limits between the least and no phases at all that are tried, a constant factor apart.
const LIMITS: u32 = 10;
/// Mutations of the smallest schedule that are tried.
const MAX_MUTATIONS: usize = 160;
/// Mutations that are tried side by side. Fixed, whatever the number of cores: each pair starts from the best so far,
/// so another number would give another plan.
const MUTATIONS_AT_ONCE: usize = 2;
/// Work of placing mutations, in squares of their numbers of steps: placing takes time that grows so.
const MAX_PLACING_WORK: u64 = 900_000_000;
/// Schedules with more steps than these are placed with less effort at the end.
const MAX_THOROUGH_STEPS: u64 = 2_500;

/// What part more of the device than the smallest a plan may take that has fewer steps. Few layouts of rows are as tight as
/// the tightest: MobileNet v2 has a third of the steps for 1.4 % more.
const NEARLY: u64 = 64;

/// A variant, and the costs of its segments.
pub(super) struct VariantFront<'a> {
    pub(super) variant: Variant<'a>,
    costs: SegmentCosts,
}

impl<'a> VariantFront<'a> {
    /// Evaluates segments until `bands` bands were simulated.
    pub(super) fn new(variant: Variant<'a>, bands: u64, control: &SearchControl<'_>) -> Self {
        Self { costs: SegmentCosts::new(&variant.model, bands, control), variant }
    }

    /// The bands of the division that keeps the fewest texels busy.
    pub(super) fn least_bands(&self) -> Vec<Band> {
        order(&self.variant.model, &self.costs.least(false).1)
    }

    /// The fewest bytes that live at once in any division that was looked at.
    pub(super) fn least_live_bytes(&self) -> u64 {
        self.costs.least(false).0 * self.variant.options.format.texel_bytes()
    }

    /// The divisions with the fewest dispatches under each limit of live texels, and that of the finest phases.
    fn divisions(&self) -> Vec<Vec<Segment>> {
        let mut divisions: Vec<Vec<Segment>> = Vec::new();
        // `within` takes the fewest dispatches under each limit and may never come to the finest phases, so they are
        // added.
        let finest = std::iter::once(self.costs.least(true).1);
        for segments in self.limits().into_iter().filter_map(|limit| self.costs.within(limit)).chain(finest) {
            // Several limits can come to the same division.
            if !divisions.contains(&segments) {
                divisions.push(segments);
            }
        }
        divisions
    }

    /// The divisions, not placed yet; none of those that a stopped search has not come to.
    pub(super) fn candidates(&self, control: &SearchControl<'_>) -> Result<Vec<Candidate>, CompileError> {
        let candidate = |segments: &Vec<Segment>| match control.should_stop() {
            true => Ok(None),
            false => self.variant.candidate(segments.clone()),
        };
        parallel_map(&self.divisions(), candidate).into_iter().filter_map(Result::transpose).collect()
    }

    /// The divisions; none of those that a stopped search has not come to.
    pub(super) fn placed(&self, control: &SearchControl<'_>) -> Result<Vec<PlacedCandidate>, CompileError> {
        let divisions: Vec<(u64, Vec<Segment>)> = (0..).zip(self.divisions()).collect();
        let count = divisions.len() as u64;
        let placed = |(index, segments): &(u64, Vec<Segment>)| {
            let progress = Progress::new("placing rows of divisions into phases", *index, count);
            self.variant.placed(segments.clone(), SearchBudget::ROWS, &control.stage(progress))
        };
        parallel_map(&divisions, placed).into_iter().filter_map(Result::transpose).collect()
    }

    /// Limits in texels, from the least that any schedule keeps within to what no phases at all need.
    fn limits(&self) -> Vec<u64> {
        let (least, most) = (self.costs.least(false).0, self.costs.unphased());
        let ratio = (most.max(1) as f64 / least.max(1) as f64).max(1.0);
        let between = |i: u32| (least as f64 * ratio.powf(f64::from(i) / f64::from(LIMITS))).ceil() as u64;
        (0..=LIMITS).map(between).collect()
    }

    /// The smallest pool that is found: from a small one on, borders and numbers of phases are changed one at a time,
    /// and what is left is placed with more effort. It is the search of number `search.start` of `search.end`.
    pub(super) fn smallest(
        &self,
        from: PlacedCandidate,
        search: Range<usize>,
        control: &SearchControl<'_>,
    ) -> Result<PlacedCandidate, CompileError> {
        let mut best = from;
        // The mutator draws one of the segments, so there must be one.
        if best.segments.is_empty() {
            return Ok(best);
        }
        let first = best.segments.clone();
        let operators = self.variant.model.operators.len();
        let texel_bytes = self.variant.options.format.texel_bytes();
        let mut mutator = Mutator::new(self.costs.finest(), 0);
        let mut spent = 0;
        let progress = |mutation: usize, best: &PlacedCandidate| {
            let (done, total) = (search.start * MAX_MUTATIONS + mutation, search.end * MAX_MUTATIONS);
            let progress = Progress::new("searching for the smallest pool", done as u64, total as u64);
            Progress { best: Some(best.bytes), ..progress }
        };
        for mutation in (0..MAX_MUTATIONS).step_by(MUTATIONS_AT_ONCE) {
            let progress = progress(mutation, &best);
            control.report(progress);
            if spent >= MAX_PLACING_WORK || control.should_stop() {
                break;
            }
            let mut drawn: Vec<Vec<Segment>> =
                (0..MUTATIONS_AT_ONCE).map(|_| mutator.mutate(&best.segments, operators)).collect();
            // A pool is no smaller than the peak, so a division whose peak is known and no better is not worth placing.
            drawn.retain(|segments| {
                self.costs.peak(segments).is_none_or(|peak| peak * texel_bytes < best.bytes)
                    && *segments != best.segments
            });
            let effort = SearchBudget { moves: 4_000, packings: 24, ..SearchBudget::ROWS };
            let place =
                |segments: &Vec<Segment>| self.variant.placed(segments.clone(), effort, &control.stage(progress));
            for placed in parallel_map(&drawn, place) {
                let Some(placed) = placed? else { continue };
                spent += (placed.steps as u64).pow(2);
                if (placed.running_bytes, placed.dispatches) < (best.running_bytes, best.dispatches) {
                    best = placed;
                }
            }
        }
        // A placement with little effort ranks divisions only roughly, so the first and the last are placed again with
        // all effort, and the better one is the answer.
        let ends = if best.segments == first { vec![first] } else { vec![first, best.segments.clone()] };
        let steps = (best.steps as u64).max(MAX_THOROUGH_STEPS);
        let share = |effort: u64| effort * MAX_THOROUGH_STEPS / steps;
        let effort = SearchBudget { moves: share(200_000), packings: share(2_000), ..SearchBudget::ROWS };
        let progress = progress(MAX_MUTATIONS, &best);
        let place = |segments: &Vec<Segment>| self.variant.placed(segments.clone(), effort, &control.stage(progress));
        for placed in parallel_map(&ends, place) {
            let Some(placed) = placed? else { continue };
            if (placed.running_bytes, placed.dispatches) < (best.running_bytes, best.dispatches) {
                best = placed;
            }
        }
        if self.variant.streams_weights() {
            // What lives at once decides less there, so the division that is best by it is a second start.
            let starts = [best.segments.clone(), self.costs.least(false).1];
            for placed in
                division_search::search(&self.variant, self.costs.finest(), &starts, &control.stage(progress))?
            {
                if (placed.running_bytes, placed.dispatches) < (best.running_bytes, best.dispatches) {
                    best = placed;
                }
            }
        }
        Ok(best)
    }

    /// Not without bands, and not where nothing is streamed: there the fewest dispatches follow from what is alive at once.
    fn may_have_fewer_steps(&self, placed: &PlacedCandidate) -> bool {
        !placed.segments.is_empty() && self.variant.streams()
    }

    /// A plan with fewer steps than this one, as far as there is room, perhaps from a larger one on; the same where none is
    /// found.
    pub(super) fn with_fewer_steps(
        &self,
        from: PlacedCandidate,
        larger: Option<&PlacedCandidate>,
        limit: MemoryLimit,
        chains: Chains,
        control: &SearchControl<'_>,
    ) -> Result<PlacedCandidate, CompileError> {
        if !self.may_have_fewer_steps(&from) {
            return Ok(from);
        }
        let found = fewest_steps::search(&self.variant, &self.costs, (&from, larger), limit, chains, control)?;
        Ok(found.unwrap_or(from))
    }

    /// The plan with the fewest steps of those that are nearly as small as the smallest. Fewer steps are fewer records to
    /// search textures for, so from those on the smallest is searched for once more: VGG-19 comes down by 3 %.
    pub(super) fn finished(
        &self,
        smallest: PlacedCandidate,
        control: &SearchControl<'_>,
    ) -> Result<PlacedCandidate, CompileError> {
        // Beside weights that stay on the device, what is nearly as small may have a pool many times as large.
        if smallest.segments.is_empty() || !self.variant.streams_weights() {
            return Ok(smallest);
        }
        let nearly = |placed: &PlacedCandidate| placed.device_bytes + placed.device_bytes / NEARLY;
        let limit = MemoryLimit::Device(nearly(&smallest));
        let first = self.with_fewer_steps(smallest.clone(), None, limit, Chains::Few, control)?;
        let starts = [first.segments.clone()];
        let mut all = division_search::search(&self.variant, self.costs.finest(), &starts, control)?;
        all.extend([smallest, first.clone()]);
        let limit = all.iter().map(nearly).min().map_or(limit, MemoryLimit::Device);
        let fewest = all.into_iter().filter(|placed| limit.holds(placed)).min_by_key(|placed| placed.steps);
        match fewest {
            Some(fewest) => self.with_fewer_steps(fewest, Some(&first), limit, Chains::Many, control),
            None => Ok(first),
        }
    }
}
