//! The Pareto front of all variants of a model: bytes of the device against predicted time.
//!
//! Variants differ in the concatenations and pads that are written in place: those that cost no memory where memory is
//! shortest, or all. Writing in place saves steps, but a part that is made long before the others keeps limit for them.

use super::{
    error::CompileError,
    fewest_steps::Chains,
    front::VariantFront,
    lowered::{LoweredModel, UnphasedPlan, UnphasedSchedule},
    memory_limit::MemoryLimit,
    model::CompiledModel,
    options::CompileOptions,
    parallel::{join, parallel_map},
    point::Point,
    variant::{Candidate, PlacedCandidate, Variant, without_phases},
};
use crate::{
    graph::NodeSet,
    plan::{Progress, SearchBudget, SearchControl},
    schedule::{phases::select_in_place, schedule},
};

/// Bands that are simulated to evaluate segments; fewer where only a first division is wanted. Both are chosen.
const THOROUGH_BANDS: u64 = 3_000_000;
const QUICK_BANDS: u64 = 1_000_000;

pub(super) struct Fronts<'a> {
    fronts: Vec<VariantFront<'a>>,
    /// A plan that was found before.
    start: Option<FrontEntry>,
    /// The plan without phases, and its schedule with uploads of weights.
    whole: PlacedCandidate,
    unphased: UnphasedSchedule,
}

/// A placed division, and the index of its front; none for the plan without phases.
#[derive(Clone)]
pub(super) struct FrontEntry {
    front: Option<usize>,
    pub(super) placed: PlacedCandidate,
}

impl<'a> Fronts<'a> {
    /// The fronts of all variants of a model, and its plan without phases. A `thorough` search includes the variant
    /// that copies every part: for a few networks it has the smallest pool. `start` is a plan that was found before: it is
    /// on the front where it is one of these variants.
    pub(super) fn new(
        lowered: &'a LoweredModel,
        options: &'a CompileOptions,
        thorough: bool,
        start: Option<&CompiledModel>,
        control: &SearchControl<'_>,
    ) -> Result<(UnphasedPlan, Self), CompileError> {
        let variants = || match lowered.too_many_rows() {
            Some(_) => Ok(Vec::new()),
            None => variants(lowered, options, thorough, control),
        };
        let (whole, fronts) = join(|| lowered.planned(options, control), variants);
        let (whole, fronts) = (whole?, fronts?);
        let placed = without_phases(&lowered.graph, &whole, options);
        let start = start.map(|start| known(&fronts, start)).transpose()?.flatten();
        let unphased = UnphasedSchedule { schedule: whole.streamed.clone(), in_place: whole.steps.in_place.clone() };
        Ok((whole, Self { fronts, start, whole: placed, unphased }))
    }

    /// The predicted time without phases.
    pub(super) fn baseline_us(&self) -> f64 {
        self.whole.predicted_us
    }

    /// The fewest bytes that any of the divisions that were looked at can take of what is limited: no placement takes less
    /// than the rows and weights that live at once.
    pub(super) fn lower_bound(&self, limit: MemoryLimit) -> u64 {
        let beside = match limit {
            MemoryLimit::Pool(_) => 0,
            MemoryLimit::Device(_) | MemoryLimit::Blocks(_) => {
                self.whole.device_bytes.saturating_sub(self.whole.bytes + self.whole.tables)
            }
        };
        let live = self.fronts.iter().map(VariantFront::least_live_bytes).min();
        live.map_or_else(|| limit.taken(&self.whole), |live| live + beside)
    }

    /// The divisions of every front, front by front.
    pub(super) fn placed(&self, control: &SearchControl<'_>) -> Result<Vec<Vec<PlacedCandidate>>, CompileError> {
        let mut placed: Vec<_> = self.fronts.iter().map(|front| front.placed(control)).collect::<Result<_, _>>()?;
        if let Some(FrontEntry { front: Some(front), placed: start }) = &self.start
            && let Some(mine) = placed.get_mut(*front)
        {
            mine.push(start.clone());
        }
        Ok(placed)
    }

    /// The one with the fewest bytes, of those that no other beats; the plan without phases where there are none.
    pub(super) fn smallest_of(&self, mut unbeaten: Vec<FrontEntry>) -> FrontEntry {
        unbeaten.pop().unwrap_or_else(|| FrontEntry { front: None, placed: self.whole.clone() })
    }

    /// The Pareto optimal ones of the divisions and the plan without phases, fewest bytes last.
    pub(super) fn unbeaten(&self, placed: &[Vec<PlacedCandidate>]) -> Vec<FrontEntry> {
        let mut all = vec![FrontEntry { front: None, placed: self.whole.clone() }];
        for (front, placed) in placed.iter().enumerate() {
            all.extend(placed.iter().cloned().map(|placed| FrontEntry { front: Some(front), placed }));
        }
        Self::unbeaten_of(all)
    }

    /// Those that no other beats in both bytes and time, fewest bytes last.
    pub(super) fn unbeaten_of(mut all: Vec<FrontEntry>) -> Vec<FrontEntry> {
        all.sort_by(|a, b| {
            let (a, b) = (&a.placed, &b.placed);
            a.predicted_us.total_cmp(&b.predicted_us).then(a.running_bytes.cmp(&b.running_bytes))
        });
        // In order of time, a plan is beaten in both unless it has fewer bytes than all before it.
        let mut least = u64::MAX;
        all.retain(|found| {
            let better = found.placed.running_bytes < least;
            least = least.min(found.placed.running_bytes);
            better
        });
        all
    }

    /// The same with fewer steps, as far as they are found.
    pub(super) fn with_fewer_steps(
        &self,
        entry: FrontEntry,
        limit: MemoryLimit,
        chains: Chains,
        control: &SearchControl<'_>,
    ) -> Result<FrontEntry, CompileError> {
        let Some(front) = entry.front.and_then(|front| self.fronts.get(front)) else { return Ok(entry) };
        let placed = front.with_fewer_steps(entry.placed, None, limit, chains, control)?;
        Ok(FrontEntry { placed, ..entry })
    }

    /// The smallest, as far as it comes down with fewer steps.
    pub(super) fn finished(
        &self,
        smallest: FrontEntry,
        control: &SearchControl<'_>,
    ) -> Result<FrontEntry, CompileError> {
        let Some(front) = smallest.front.and_then(|front| self.fronts.get(front)) else { return Ok(smallest) };
        let placed = front.finished(smallest.placed, control)?;
        Ok(FrontEntry { placed, ..smallest })
    }

    /// The point of a division.
    pub(super) fn point(&self, found: FrontEntry) -> Point {
        match found.front.and_then(|front| self.fronts.get(front)) {
            Some(front) => front.variant.point(found.placed),
            None => {
                let UnphasedSchedule { schedule, in_place } = self.unphased.clone();
                found.placed.with(schedule, in_place)
            }
        }
    }

    /// The point with the least product of bytes and time. What lives at once is a lower bound of a pool's bytes, so
    /// divisions whose bound is no better than the best plan so far are not placed: placing takes most of the time.
    pub(super) fn best_product(&self, control: &SearchControl<'_>) -> Result<FrontEntry, CompileError> {
        let worth = |bytes: u64, us: f64| bytes as f64 * us;
        let bound = |candidate: &Candidate| worth(candidate.least_running_bytes(), candidate.predicted_us);
        let mut candidates: Vec<(usize, Candidate)> = Vec::new();
        for (index, front) in self.fronts.iter().enumerate() {
            candidates.extend(front.candidates(control)?.into_iter().map(|candidate| (index, candidate)));
        }
        // The loop below ends at the first bound that is no better, which is right only in this order.
        candidates.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        let product = |found: &FrontEntry| worth(found.placed.running_bytes, found.placed.predicted_us);
        let mut best = FrontEntry { front: None, placed: self.whole.clone() };
        if let Some(start) = self.start.as_ref().filter(|start| product(start) < product(&best)) {
            best = start.clone();
        }
        let count = candidates.len() as u64;
        for (done, (front, candidate)) in (0..).zip(candidates) {
            let progress = Progress::new("placing rows of divisions into phases", done, count);
            if bound(&candidate) >= worth(best.placed.running_bytes, best.placed.predicted_us) || control.should_stop()
            {
                break;
            }
            let variant = &self.fronts[front].variant;
            let placed = variant.placed(candidate.segments, SearchBudget::ROWS, &control.stage(progress))?;
            let Some(placed) = placed else { continue };
            if worth(placed.running_bytes, placed.predicted_us)
                < worth(best.placed.running_bytes, best.placed.predicted_us)
            {
                best = FrontEntry { front: Some(front), placed };
            }
        }
        Ok(best)
    }

    /// The divisions, and of each front the smallest pool that is found.
    pub(super) fn all(
        &self,
        mut placed: Vec<Vec<PlacedCandidate>>,
        control: &SearchControl<'_>,
    ) -> Result<Vec<FrontEntry>, CompileError> {
        for (index, (front, mine)) in self.fronts.iter().zip(&mut placed).enumerate() {
            // There is none where the search was stopped, or where the steps of every division read too many rows.
            if let Some(least) = mine.iter().min_by_key(|placed| (placed.running_bytes, placed.dispatches)).cloned() {
                mine.push(front.smallest(least, index..self.fronts.len(), control)?);
            }
        }
        Ok(self.unbeaten(&placed))
    }
}

/// A plan that was found before, on the front of its variant; none where it has no phases, or is none of a variant.
fn known(fronts: &[VariantFront<'_>], start: &CompiledModel) -> Result<Option<FrontEntry>, CompileError> {
    for (index, front) in fronts.iter().enumerate() {
        if let Some(placed) = front.variant.known(start)? {
            return Ok(Some(FrontEntry { front: Some(index), placed }));
        }
    }
    Ok(None)
}

/// The fronts of all variants, not placed yet.
fn variants<'a>(
    lowered: &'a LoweredModel,
    options: &'a CompileOptions,
    thorough: bool,
    control: &SearchControl<'_>,
) -> Result<Vec<VariantFront<'a>>, CompileError> {
    let LoweredModel { graph, views, in_place, streaming, .. } = lowered;
    let plain = UnphasedSchedule { schedule: lowered.plain().clone(), in_place: NodeSet::new() };
    let plain = Variant::new(graph, plain, streaming, options);
    if in_place.is_empty() {
        return Ok(vec![VariantFront::new(plain, THOROUGH_BANDS, control)]);
    }
    let plain = VariantFront::new(plain, if thorough { THOROUGH_BANDS } else { QUICK_BANDS }, control);
    let Variant { unphased, model, .. } = &plain.variant;
    let some = select_in_place(graph, unphased, model, &plain.least_bands(), in_place, control);
    let mut in_place_variants = Vec::new();
    if !some.is_empty() {
        in_place_variants.push(some.clone());
    }
    // Where all of them cost nothing at the peak, both variants would be the same.
    if some != *in_place {
        in_place_variants.push(in_place.clone());
    }
    let mut fronts = Vec::new();
    // Copies cost steps, so where some parts can be written in place for nothing, only a thorough search looks at
    // copying all.
    if thorough || some.is_empty() {
        fronts.push(plain);
    }
    let front = |in_place: &NodeSet| {
        let schedule = schedule(graph, &views.union(in_place))?;
        let steps = UnphasedSchedule { schedule, in_place: in_place.clone() };
        let variant = Variant::new(graph, steps, streaming, options);
        Ok::<_, CompileError>(VariantFront::new(variant, THOROUGH_BANDS, control))
    };
    for front in parallel_map(&in_place_variants, front) {
        fronts.push(front?);
    }
    Ok(fronts)
}
