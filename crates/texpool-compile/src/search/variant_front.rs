//! Pareto front of one variant of a model: divisions into cascades under decreasing memory limits, and the smallest
//! pool.

use std::ops::Range;

use super::{
    division_search,
    fewest_steps::{self, Chains},
    memory_limit::MemoryLimit,
    mutator::Mutator,
    variant::{Candidate, PlacedCandidate, Variant},
};
use crate::{
    error::CompileError,
    parallel::parallel_map,
    schedule::tiling::{Cascade, CascadeCosts, Stripe, order},
};
use texpool_plan::{Progress, SearchBudget, SearchControl};

// The effort below is a choice and not tuned value by value. With it, RetinaFace, the slowest model of the catalogue,
// takes 5 s on two cores (`texpool plan retinaface --objective smallest`).

/// Upper limit on the stripes that are simulated to evaluate cascades: a high one, and a low one for when only a first
/// division is needed. Both values are a choice.
pub(super) const THOROUGH_STRIPES: u64 = 3_000_000;
pub(super) const QUICK_STRIPES: u64 = 1_000_000;

/// Number of steps between the smallest memory limit and the limit of whole tensors. The limits are a constant factor
/// apart.
const LIMITS: u32 = 10;
/// Number of mutations of the smallest schedule to try.
const MAX_MUTATIONS: usize = 160;
/// Number of mutations that are tried in parallel. Fixed, independent of the number of cores: each pair starts from
/// the best plan before it, so another number would give another plan.
const MUTATIONS_AT_ONCE: usize = 2;
/// Upper limit on the work of placing mutations. The work of a mutation is the square of its number of steps, because
/// placement time grows quadratically.
const MAX_PLACING_WORK: u64 = 900_000_000;
/// Number of steps above which the final placement uses less effort.
const MAX_THOROUGH_STEPS: u64 = 2_500;

/// Memory that a plan with fewer steps may take above the smallest, as a fraction of the device memory: 1/64. Few row
/// layouts are as tight as the tightest one: MobileNet v2 has a third of the steps for 1.4 % more memory.
pub(super) const NEARLY: u64 = 64;

/// A variant and the costs of its cascades.
pub(super) struct VariantFront<'a> {
    pub(super) variant: Variant<'a>,
    costs: CascadeCosts,
}

impl<'a> VariantFront<'a> {
    /// Evaluates cascades until `stripes` stripes have been simulated.
    pub(super) fn new(variant: Variant<'a>, stripes: u64, control: &SearchControl<'_>) -> Self {
        Self { costs: CascadeCosts::new(&variant.model, stripes, control), variant }
    }

    /// Returns the stripes of the division with the fewest live texels.
    pub(super) fn least_stripes(&self) -> Vec<Stripe> {
        order(&self.variant.model, &self.costs.least(false).1)
    }

    /// Returns the smallest live size of any division that was examined, in bytes.
    pub(super) fn least_live_bytes(&self) -> u64 {
        self.costs.least(false).0 * self.variant.options.format.texel_bytes()
    }

    /// Returns the divisions with the fewest dispatches under each limit on live texels, and the division with the
    /// finest stripes.
    fn divisions(&self) -> Vec<Vec<Cascade>> {
        let mut divisions: Vec<Vec<Cascade>> = Vec::new();
        // `within` returns the fewest dispatches under each limit and may never reach the finest stripes, so they are
        // added here.
        let finest = std::iter::once(self.costs.least(true).1);
        for cascades in self.limits().into_iter().filter_map(|limit| self.costs.within(limit)).chain(finest) {
            // Several limits can lead to the same division.
            if !divisions.contains(&cascades) {
                divisions.push(cascades);
            }
        }
        divisions
    }

    /// Returns the divisions without placing them. If the search is stopped, the remaining divisions are left out.
    pub(super) fn candidates(&self, control: &SearchControl<'_>) -> Result<Vec<Candidate>, CompileError> {
        let candidate = |cascades: &Vec<Cascade>| match control.should_stop() {
            true => Ok(None),
            false => self.variant.candidate(cascades.clone()),
        };
        parallel_map(&self.divisions(), candidate).into_iter().filter_map(Result::transpose).collect()
    }

    /// Places the divisions. If the search is stopped, the remaining divisions are left out.
    pub(super) fn placed(&self, control: &SearchControl<'_>) -> Result<Vec<PlacedCandidate>, CompileError> {
        let divisions: Vec<(u64, Vec<Cascade>)> = (0..).zip(self.divisions()).collect();
        let count = divisions.len() as u64;
        let placed = |(index, cascades): &(u64, Vec<Cascade>)| {
            let progress = Progress::new("placing rows of tiled plans", *index, count);
            self.variant.placed(cascades.clone(), SearchBudget::ROWS, &control.stage(progress))
        };
        parallel_map(&divisions, placed).into_iter().filter_map(Result::transpose).collect()
    }

    /// Returns the limits in texels, from the smallest that any schedule fits to the live size of whole tensors.
    fn limits(&self) -> Vec<u64> {
        let (least, most) = (self.costs.least(false).0, self.costs.untiled());
        let ratio = (most.max(1) as f64 / least.max(1) as f64).max(1.0);
        let between = |i: u32| (least as f64 * ratio.powf(f64::from(i) / f64::from(LIMITS))).ceil() as u64;
        (0..=LIMITS).map(between).collect()
    }

    /// Searches for the smallest pool. Starting from `from`, it mutates borders and numbers of stripes one at a time,
    /// and then places the result with more effort. `search` gives the number of this search and the total number of
    /// searches, for progress reports.
    pub(super) fn smallest(
        &self,
        from: PlacedCandidate,
        search: Range<usize>,
        control: &SearchControl<'_>,
    ) -> Result<PlacedCandidate, CompileError> {
        let mut best = from;
        // The mutator picks one of the cascades, so at least one must exist.
        if best.cascades.is_empty() {
            return Ok(best);
        }
        let first = best.cascades.clone();
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
            let mut drawn: Vec<Vec<Cascade>> =
                (0..MUTATIONS_AT_ONCE).map(|_| mutator.mutate(&best.cascades, operators)).collect();
            // A pool is never smaller than its peak, so a division is not worth placing if its known peak does not
            // beat the best pool.
            drawn.retain(|cascades| {
                self.costs.peak(cascades).is_none_or(|peak| peak * texel_bytes < best.bytes)
                    && *cascades != best.cascades
            });
            let effort = SearchBudget { moves: 4_000, packings: 24, ..SearchBudget::ROWS };
            let place =
                |cascades: &Vec<Cascade>| self.variant.placed(cascades.clone(), effort, &control.stage(progress));
            for placed in parallel_map(&drawn, place) {
                let Some(placed) = placed? else { continue };
                spent += (placed.steps as u64).pow(2);
                if (placed.running_bytes, placed.dispatches) < (best.running_bytes, best.dispatches) {
                    best = placed;
                }
            }
        }
        // Placement with little effort ranks divisions only roughly. So the first and the last are placed again with
        // full effort, and the better one wins.
        let ends = if best.cascades == first { vec![first] } else { vec![first, best.cascades.clone()] };
        let steps = (best.steps as u64).max(MAX_THOROUGH_STEPS);
        let share = |effort: u64| effort * MAX_THOROUGH_STEPS / steps;
        let effort = SearchBudget { moves: share(200_000), packings: share(2_000), ..SearchBudget::ROWS };
        let progress = progress(MAX_MUTATIONS, &best);
        let place = |cascades: &Vec<Cascade>| self.variant.placed(cascades.clone(), effort, &control.stage(progress));
        for placed in parallel_map(&ends, place) {
            let Some(placed) = placed? else { continue };
            if (placed.running_bytes, placed.dispatches) < (best.running_bytes, best.dispatches) {
                best = placed;
            }
        }
        if self.variant.streams_weights() {
            // With streamed weights the live size is less decisive, so the division with the smallest live size is a
            // second start.
            let starts = [best.cascades.clone(), self.costs.least(false).1];
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

    /// Returns false without stripes, and if nothing is streamed: then the live size already determines the fewest
    /// dispatches.
    fn may_have_fewer_steps(&self, placed: &PlacedCandidate) -> bool {
        !placed.cascades.is_empty() && self.variant.streams()
    }

    /// Returns a plan with fewer steps than `from` within the limit, or `from` if none is found. Some searches may
    /// start from the plan `larger`.
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
        let fewer_steps = fewest_steps::search(&self.variant, &self.costs, (&from, larger), limit, chains, control)?;
        Ok(fewer_steps.unwrap_or(from))
    }

    /// Returns the plan with the fewest steps of those nearly as small as the smallest. Fewer steps mean fewer
    /// records to assign to textures, so the search for the smallest plan runs again from there: VGG-19 gets 3 %
    /// smaller.
    pub(super) fn finished(
        &self,
        smallest: PlacedCandidate,
        control: &SearchControl<'_>,
    ) -> Result<PlacedCandidate, CompileError> {
        // If weights stay on the device, a plan with nearly the same device memory may have a pool many times as
        // large.
        if smallest.cascades.is_empty() || !self.variant.streams_weights() {
            return Ok(smallest);
        }
        let nearly = |placed: &PlacedCandidate| placed.device_bytes + placed.device_bytes / NEARLY;
        let limit = MemoryLimit::Device(nearly(&smallest));
        let first = self.with_fewer_steps(smallest.clone(), None, limit, Chains::Few, control)?;
        let starts = [first.cascades.clone()];
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
