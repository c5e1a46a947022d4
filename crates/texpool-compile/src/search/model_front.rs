//! Pareto front of device memory against predicted time, over all variants of a model.
//!
//! Variants differ in the concatenations and pads that are written in place: either all, or only those that cost no
//! memory at the peak. Writing in place saves steps, but a part that is computed long before the others occupies
//! memory for the whole result.

use super::{
    fewest_steps::Chains,
    memory_limit::MemoryLimit,
    variant::{Candidate, PlacedCandidate, Variant},
    variant_front::{NEARLY, QUICK_STRIPES, THOROUGH_STRIPES, VariantFront},
    whole_plans::WholePlan,
};
use crate::{
    error::CompileError,
    lowered::{LoweredModel, UntiledPlan, UntiledSchedule, smallest_pool},
    model::{CompiledModel, Point},
    options::{CompileOptions, Tiling},
    parallel::{join, parallel_map},
    schedule::{schedule, tiling::select_in_place},
};
use texpool_ops::graph::NodeSet;
use texpool_plan::{Progress, SearchBudget, SearchControl};

/// Speed-up from which a plan is preferred to the smallest one, if it takes nearly the same memory. Batches of small
/// networks had plans of 50,000 steps that took 270 times as long for 1 % less memory. The value is a choice.
const MUCH_FASTER: f64 = 8.0;

pub(crate) struct ModelFront<'a> {
    fronts: Vec<VariantFront<'a>>,
    /// Result of an earlier search, if it belongs to one of the variants.
    start: Option<FrontEntry>,
    /// The plan of whole tensors with the smallest pool, to which plans in stripes are compared.
    whole: WholePlan,
    /// Other plans of whole tensors.
    others: Vec<WholePlan>,
}

/// Origin of a plan.
#[derive(Clone, Copy)]
enum Origin {
    /// The plan of whole tensors with the smallest pool.
    Whole,
    /// Another plan of whole tensors, by its index.
    OtherWhole(usize),
    /// A division of a variant, by the index of the variant's front.
    Variant(usize),
}

/// A placed division or a plan of whole tensors.
#[derive(Clone)]
pub(crate) struct FrontEntry {
    origin: Origin,
    pub(crate) placed: PlacedCandidate,
}

impl<'a> ModelFront<'a> {
    /// Builds the fronts of all variants of a model, and its plans of whole tensors. A `thorough` search includes the
    /// variant that copies every part, because for a few networks it has the smallest pool. `start` is a plan of an
    /// earlier search; if it belongs to one of the variants, it is added to the front.
    pub(crate) fn new(
        lowered: &'a LoweredModel,
        options: &'a CompileOptions,
        thorough: bool,
        start: Option<&CompiledModel>,
        control: &SearchControl<'_>,
    ) -> Result<Self, CompileError> {
        let variants = || match (options.tiling, lowered.too_many_rows()) {
            (Tiling::Rows | Tiling::Patches, None) => variants(lowered, options, thorough, control),
            (Tiling::Rows | Tiling::Patches, Some(_)) | (Tiling::Whole, _) => Ok(Vec::new()),
        };
        let (plans, fronts) = join(|| lowered.plans(options, control), variants);
        let (mut plans, fronts) = (plans?, fronts?);
        let start = start.map(|start| entry_of(&fronts, start)).transpose()?.flatten();
        let whole = WholePlan::new(&lowered.graph, plans.swap_remove(smallest_pool(&plans)), options);
        if options.tiling.divides_rows() {
            // The variants include the others, row by row.
            plans.clear();
        }
        let others = plans.into_iter().map(|plan| WholePlan::new(&lowered.graph, plan, options)).collect();
        Ok(Self { fronts, start, whole, others })
    }

    /// Returns the plan of whole tensors with the smallest pool.
    pub(crate) fn into_whole(self) -> UntiledPlan {
        self.whole.untiled
    }

    /// Returns the predicted time of whole tensors.
    pub(crate) fn baseline_us(&self) -> f64 {
        self.whole.placed.predicted_us
    }

    /// Returns a lower bound on the limited size, over all examined divisions: a placement never takes less than the
    /// rows and weights that are live at once.
    pub(crate) fn lower_bound(&self, limit: MemoryLimit) -> u64 {
        let whole = &self.whole.placed;
        let beside = match limit {
            MemoryLimit::Pool(_) => 0,
            MemoryLimit::Device(_) | MemoryLimit::Blocks(_) => {
                whole.device_bytes.saturating_sub(whole.bytes + whole.tables)
            }
        };
        let live = self.fronts.iter().map(VariantFront::least_live_bytes).min();
        live.map_or_else(|| limit.bytes_of(whole), |live| live + beside)
    }

    /// Returns the placed divisions of each front.
    pub(crate) fn placed(&self, control: &SearchControl<'_>) -> Result<Vec<Vec<PlacedCandidate>>, CompileError> {
        let mut placed: Vec<_> = self.fronts.iter().map(|front| front.placed(control)).collect::<Result<_, _>>()?;
        if let Some(FrontEntry { origin: Origin::Variant(front), placed: start }) = &self.start
            && let Some(candidates) = placed.get_mut(*front)
        {
            candidates.push(start.clone());
        }
        Ok(placed)
    }

    fn whole_entry(&self) -> FrontEntry {
        FrontEntry { origin: Origin::Whole, placed: self.whole.placed.clone() }
    }

    /// Returns the smallest entry of a front sorted by `unbeaten`, or the plan of whole tensors if the list is empty.
    /// Prefers an entry that takes a small part of the time and [nearly](NEARLY) the same memory.
    pub(crate) fn smallest_of(&self, mut unbeaten: Vec<FrontEntry>) -> FrontEntry {
        let Some(smallest) = unbeaten.pop() else { return self.whole_entry() };
        let least = &smallest.placed;
        let nearly = least.running_bytes + least.running_bytes / NEARLY;
        let is_preferred = |entry: &FrontEntry| {
            entry.placed.running_bytes <= nearly && entry.placed.predicted_us * MUCH_FASTER <= least.predicted_us
        };
        unbeaten.into_iter().rfind(is_preferred).unwrap_or(smallest)
    }

    /// Returns the Pareto front of the given divisions and the plans of whole tensors, smallest last.
    pub(crate) fn unbeaten(&self, placed: &[Vec<PlacedCandidate>]) -> Vec<FrontEntry> {
        let mut all = vec![self.whole_entry()];
        for (index, WholePlan { placed, .. }) in self.others.iter().enumerate() {
            all.push(FrontEntry { origin: Origin::OtherWhole(index), placed: placed.clone() });
        }
        for (front, placed) in placed.iter().enumerate() {
            all.extend(placed.iter().cloned().map(|placed| FrontEntry { origin: Origin::Variant(front), placed }));
        }
        Self::unbeaten_of(all)
    }

    /// Returns the entries that no other entry beats in both bytes and time, smallest last.
    pub(crate) fn unbeaten_of(mut all: Vec<FrontEntry>) -> Vec<FrontEntry> {
        all.sort_by(|a, b| {
            let (a, b) = (&a.placed, &b.placed);
            a.predicted_us.total_cmp(&b.predicted_us).then(a.running_bytes.cmp(&b.running_bytes))
        });
        // Entries are sorted by time, so an entry stays only if it has fewer bytes than all entries before it.
        let mut least = u64::MAX;
        all.retain(|entry| {
            let better = entry.placed.running_bytes < least;
            least = least.min(entry.placed.running_bytes);
            better
        });
        all
    }

    /// Returns the front that a division belongs to.
    fn front_of(&self, origin: Origin) -> Option<&VariantFront<'a>> {
        match origin {
            Origin::Variant(front) => self.fronts.get(front),
            Origin::Whole | Origin::OtherWhole(_) => None,
        }
    }

    /// Returns the entry with fewer steps, or unchanged if no plan with fewer steps is found.
    pub(crate) fn with_fewer_steps(
        &self,
        entry: FrontEntry,
        limit: MemoryLimit,
        chains: Chains,
        control: &SearchControl<'_>,
    ) -> Result<FrontEntry, CompileError> {
        let Some(front) = self.front_of(entry.origin) else { return Ok(entry) };
        let placed = front.with_fewer_steps(entry.placed, None, limit, chains, control)?;
        Ok(FrontEntry { placed, ..entry })
    }

    /// Reduces the steps and then the size of the smallest plan.
    pub(crate) fn finished(
        &self,
        smallest: FrontEntry,
        control: &SearchControl<'_>,
    ) -> Result<FrontEntry, CompileError> {
        let Some(front) = self.front_of(smallest.origin) else { return Ok(smallest) };
        let placed = front.finished(smallest.placed, control)?;
        Ok(FrontEntry { placed, ..smallest })
    }

    /// Returns the point of a placed division.
    pub(crate) fn point(&self, entry: FrontEntry) -> Point {
        match entry.origin {
            Origin::Variant(front) => self.fronts[front].variant.point(entry.placed),
            Origin::Whole => self.whole.point(),
            Origin::OtherWhole(other) => self.others[other].point(),
        }
    }

    /// Returns the entry with the least product of bytes and time. The live size is a lower bound of a pool's size,
    /// so divisions whose bound does not beat the best plan yet are not placed: placing takes most of the time.
    pub(crate) fn best_product(&self, control: &SearchControl<'_>) -> Result<FrontEntry, CompileError> {
        let worth = |bytes: u64, us: f64| bytes as f64 * us;
        let bound = |candidate: &Candidate| worth(candidate.least_running_bytes(), candidate.predicted_us);
        let mut candidates: Vec<(usize, Candidate)> = Vec::new();
        for (index, front) in self.fronts.iter().enumerate() {
            candidates.extend(front.candidates(control)?.into_iter().map(|candidate| (index, candidate)));
        }
        // The loop below stops at the first bound that does not beat the best plan, which requires this order.
        candidates.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        let product = |entry: &FrontEntry| worth(entry.placed.running_bytes, entry.placed.predicted_us);
        let mut best = self.whole_entry();
        if let Some(start) = self.start.as_ref().filter(|start| product(start) < product(&best)) {
            best = start.clone();
        }
        let count = candidates.len() as u64;
        for (done, (front, candidate)) in (0..).zip(candidates) {
            let progress = Progress::new("placing rows of tiled plans", done, count);
            if bound(&candidate) >= worth(best.placed.running_bytes, best.placed.predicted_us) || control.should_stop()
            {
                break;
            }
            let variant = &self.fronts[front].variant;
            let placed = variant.placed(candidate.cascades, SearchBudget::ROWS, &control.stage(progress))?;
            let Some(placed) = placed else { continue };
            if worth(placed.running_bytes, placed.predicted_us)
                < worth(best.placed.running_bytes, best.placed.predicted_us)
            {
                best = FrontEntry { origin: Origin::Variant(front), placed };
            }
        }
        Ok(best)
    }

    /// Returns the Pareto front of the given divisions and, for each front, the smallest pool that a further search
    /// finds.
    pub(crate) fn all(
        &self,
        mut placed: Vec<Vec<PlacedCandidate>>,
        control: &SearchControl<'_>,
    ) -> Result<Vec<FrontEntry>, CompileError> {
        for (index, (front, candidates)) in self.fronts.iter().zip(&mut placed).enumerate() {
            // The list is empty if the search was stopped, or if the steps of every division read too many rows.
            if let Some(least) =
                candidates.iter().min_by_key(|placed| (placed.running_bytes, placed.dispatches)).cloned()
            {
                candidates.push(front.smallest(least, index..self.fronts.len(), control)?);
            }
        }
        Ok(self.unbeaten(&placed))
    }
}

/// Returns a plan of an earlier search as an entry of its variant's front. Returns `None` if the plan is not tiled
/// or belongs to none of the variants.
fn entry_of(fronts: &[VariantFront<'_>], start: &CompiledModel) -> Result<Option<FrontEntry>, CompileError> {
    for (index, front) in fronts.iter().enumerate() {
        if let Some(placed) = front.variant.known_candidate(start)? {
            return Ok(Some(FrontEntry { origin: Origin::Variant(index), placed }));
        }
    }
    Ok(None)
}

/// Builds the fronts of all variants, without placing their divisions.
fn variants<'a>(
    lowered: &'a LoweredModel,
    options: &'a CompileOptions,
    thorough: bool,
    control: &SearchControl<'_>,
) -> Result<Vec<VariantFront<'a>>, CompileError> {
    let LoweredModel { graph, views, in_place, streaming, .. } = lowered;
    let plain = UntiledSchedule { schedule: lowered.plain().clone(), in_place: NodeSet::new() };
    let plain = Variant::new(graph, plain, streaming, options);
    if in_place.is_empty() {
        return Ok(vec![VariantFront::new(plain, THOROUGH_STRIPES, control)]);
    }
    let plain = VariantFront::new(plain, if thorough { THOROUGH_STRIPES } else { QUICK_STRIPES }, control);
    let Variant { untiled, model, .. } = &plain.variant;
    let some = select_in_place(graph, untiled, model, &plain.least_stripes(), in_place, control);
    let mut in_place_variants = Vec::new();
    if !some.is_empty() {
        in_place_variants.push(some.clone());
    }
    // If writing all of them in place costs nothing at the peak, both variants are the same.
    if some != *in_place {
        in_place_variants.push(in_place.clone());
    }
    let mut fronts = Vec::new();
    // Copies cost steps. If some parts can be written in place at no cost, only a thorough search considers copying
    // all.
    if thorough || some.is_empty() {
        fronts.push(plain);
    }
    let front = |in_place: &NodeSet| {
        let schedule = schedule(graph, &views.union(in_place))?;
        let steps = UntiledSchedule { schedule, in_place: in_place.clone() };
        let variant = Variant::new(graph, steps, streaming, options);
        Ok::<_, CompileError>(VariantFront::new(variant, THOROUGH_STRIPES, control))
    };
    for front in parallel_map(&in_place_variants, front) {
        fronts.push(front?);
    }
    Ok(fronts)
}
