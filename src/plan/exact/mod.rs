//! The exact Shared Objects optimum, with a certificate that anyone can check.
//!
//! Lives on the size-level model (`model`): which object size each tensor takes, how many objects of each size. Its
//! linear relaxation is nearly always integer on networks; where it is not, branch and bound closes the gap. Must not
//! know banks, offsets or textures, and claims nothing that [`verify_certificate`] has not confirmed.

mod certificate;
#[cfg(feature = "serde")]
mod json;
mod lp;
mod model;
mod prices;
mod proof;
mod reduce;
mod relax;
mod search;

pub use certificate::{Certificate, verify_certificate};
pub use proof::{Case, Prices, Proof};

use super::{
    bounds::{Bounds, bounds},
    control::{SearchControl, StopReason},
    error::PlanError,
    layout::{Layout, LayoutKind, Place},
    portfolio::{self, Table},
    record::UsageRecord,
    shared::min_cost_flow,
};
use certificate::verify;
use model::Model;
use reduce::reduced_model;
use search::Search;

/// The smallest Shared Objects plan found, and the proof of how much smaller it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Optimum {
    /// The layout.
    pub layout: Layout,
    /// A checked lower bound.
    pub certificate: Certificate,
    /// Whether the layout costs what the certificate proves, and so is optimal.
    pub proven: bool,
    /// Relaxations that were solved.
    pub nodes: u64,
    /// Why the search ended early, where it did.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Sizes above which relaxations lose the last digits: beyond, only the positional bound is claimed.
const MAX_COST: u64 = 1 << 40;

/// Tensors times distinct sizes above which the model is not built: it would outgrow memory before it is solved.
const MAX_CHOICES: usize = 1 << 18;

/// Tensors times the most that are alive at once above which the model is not built.
const MAX_ALIVE: usize = 1 << 22;

/// Records up to which a plan that is not proven is compared with a matching: 0.7 s at so many on a busy 2 GHz core,
/// where most meet most others; it grows with their cube and more.
const MAX_MATCHED: usize = 400;

/// Whether the model of these records is small enough to be built.
fn is_solvable(records: &[UsageRecord], bounds: &Bounds) -> bool {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    records.len().saturating_mul(sizes.len()) <= MAX_CHOICES
        && records.len().saturating_mul(bounds.positional_maximums.len()) <= MAX_ALIVE
}

/// Finds the Shared Objects optimum, solving at most `nodes` relaxations, and certifies it. Where `control` stops it,
/// the smallest plan found by then, and what is proven of it.
///
/// The greedy strategies go first: where one reaches the positional bound, nothing is left to solve. Very large sets
/// (thousands of tensors, each of another size) are answered with the best greedy plan and the positional bound.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold.
pub fn optimum(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Optimum, PlanError> {
    let bounds = bounds(records)?;
    let mut table = Table::new(records);
    let start = portfolio::run(records, None, bounds.offsets, &mut table, &control.share(1, 3))?;
    let mut found = Optimum::greedy(records, &bounds, start).improve(records, &bounds, nodes, control);
    found.stopped = found.stopped.or(table.stopped).filter(|_| !found.proven);
    Ok(found)
}

impl Optimum {
    /// A greedy plan with the positional bound.
    pub(super) fn greedy(records: &[UsageRecord], bounds: &Bounds, layout: Layout) -> Self {
        let certificate = positional_certificate(records, bounds.shared_objects);
        let reached = layout.total() == certificate.bound;
        let proven = reached && verify_certificate(records, &certificate).is_ok();
        Self { layout, certificate, proven, nodes: 0, stopped: None }
    }

    /// The same with a smaller plan, or a higher bound, where the exact search finds one; without a proof, no larger
    /// than what [`min_cost_flow`] comes to for as many records as that is quick for.
    pub(super) fn improve(
        mut self,
        records: &[UsageRecord],
        bounds: &Bounds,
        nodes: u64,
        control: &SearchControl<'_>,
    ) -> Self {
        if nodes == 0 || self.layout.total() <= bounds.shared_objects {
            return self;
        }
        let matches = records.len() <= MAX_MATCHED;
        let searched = if matches { control.share(3, 4) } else { control.share(1, 1) };
        if is_solvable(records, bounds)
            && let Some(model) = reduced_model(records, self.layout.total(), &searched)
        {
            let verified = self.solve(records, &model, nodes, &searched);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && (verified || verify_certificate(records, &self.certificate).is_ok());
        }
        if matches && !self.proven && !control.should_stop() {
            // A search that is stopped early has the greedy strategies' plan, and a matching foresees what they do not.
            let matched = min_cost_flow(records, control);
            self.layout = matched.ok().filter(|layout| layout.total() < self.layout.total()).unwrap_or(self.layout);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && verify_certificate(records, &self.certificate).is_ok();
        }
        self.stopped = self.stopped.or(searched.stopped()).filter(|_| !self.proven);
        self
    }

    /// Searches, and answers whether the certificate is a new one, which is then verified.
    fn solve(&mut self, records: &[UsageRecord], model: &Model, nodes: u64, control: &SearchControl<'_>) -> bool {
        let unit = model.unit();
        let known = self.layout.total() / unit;
        if known >= MAX_COST {
            return false;
        }
        let mut search = Search::new(model, known, nodes);
        let proof = search.run(control);
        (self.nodes, self.stopped) = (search.solved, search.stopped);
        if let Some(levels) = search.levels {
            self.layout = colour(records, model, &levels);
        }
        if let Some((bound, proof)) = proof {
            let found = Certificate { bound: bound * unit, scale: prices::SCALE, proof };
            if found.bound > self.certificate.bound && verify(records, &found, control).is_ok() {
                self.certificate = found;
                return true;
            }
        }
        false
    }
}

/// The sum of the positional maximums, priced: each object is worth what it is larger than the next size.
pub(super) fn positional_certificate(records: &[UsageRecord], bound: u64) -> Certificate {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).filter(|&size| size > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    Certificate { bound, scale: 1, proof: Proof::leaf(Prices::positional(&sizes, 1)) }
}

/// Levels to objects: on each level, tensors by birth into the first free object of it.
fn colour(records: &[UsageRecord], model: &Model, levels: &[usize]) -> Layout {
    let mut order: Vec<usize> = (0..model.tensors.len()).collect();
    order.sort_by_key(|&j| (std::cmp::Reverse(levels[j]), model.tensors[j].first, j));
    let mut regions: Vec<u64> = Vec::new();
    let mut free_after: Vec<usize> = Vec::new();
    let mut places: Vec<Option<Place>> = vec![None; records.len()];
    let mut level_start = 0;
    for (at, &j) in order.iter().enumerate() {
        if at > 0 && levels[order[at - 1]] != levels[j] {
            level_start = regions.len();
        }
        let tensor = &model.tensors[j];
        // The object that was freed last is the likeliest to be in a cache.
        let free = (level_start..regions.len()).filter(|&o| free_after[o] < tensor.first);
        let region = free.max_by_key(|&o| (free_after[o], std::cmp::Reverse(o))).unwrap_or_else(|| {
            regions.push(0);
            free_after.push(0);
            regions.len() - 1
        });
        regions[region] = regions[region].max(tensor.size);
        free_after[region] = tensor.last;
        places[model.record_of[j]] = Some(Place { region, offset: 0 });
    }
    let empty = |place: Option<Place>| {
        place.unwrap_or_else(|| {
            regions.push(0);
            Place { region: regions.len() - 1, offset: 0 }
        })
    };
    let places = places.into_iter().map(empty).collect();
    Layout { problem: LayoutKind::SharedObjects, regions, places }
}
