//! The exact Shared Objects optimum, with a certificate that can be checked independently.
//!
//! Solves an integer program (`model`) for the size of the object that holds each tensor, and the number of objects
//! of each size. Its linear relaxation is nearly always integer on networks; if it is not, branch and bound closes
//! the gap. The module is independent of banks, offsets and textures, and claims only results that
//! [`verify_certificate`] has confirmed.

mod branch_and_bound;
mod certificate;
#[cfg(feature = "serde")]
mod json;
mod lp;
mod model;
mod presolve;
mod prices;
mod proof;
mod relaxation;

pub use certificate::{Certificate, verify_certificate};
pub use proof::{Case, Prices, Proof};

use super::{
    bounds::{Bounds, bounds},
    control::{SearchControl, StopReason},
    error::PlanError,
    layout::{Layout, LayoutKind, Place},
    portfolio::{self, Candidates},
    record::UsageRecord,
    shared::min_cost_flow,
};
use branch_and_bound::BranchAndBound;
use certificate::verify;
use model::Model;
use presolve::{MAX_ROUNDS, reduced_model};

/// The smallest Shared Objects plan found, with a proven lower bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Optimum {
    /// The layout.
    pub layout: Layout,
    /// A checked lower bound.
    pub certificate: Certificate,
    /// Set if the layout's total equals the certified bound, so that the layout is optimal.
    pub proven: bool,
    /// Number of linear relaxations solved.
    pub nodes: u64,
    /// Reason why the search ended early, if it did.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Upper limit on totals, in units of the sizes' greatest common divisor, for the solver. It computes with 53 bits
/// and a tolerance, which is too imprecise for larger totals. Above the limit only the positional bound is claimed.
const MAX_COST: u64 = 1 << 40;

/// Upper limit on tensors times distinct sizes for building the model. Each combination may be a variable, and beyond
/// this the simplex method would need too much memory and time. A guess.
const MAX_CHOICES: usize = 1 << 18;

/// Upper limit, for building the model, on tensors times the largest number of tensors alive at once, which bounds
/// the members of cliques. A guess.
const MAX_ALIVE: usize = 1 << 22;

/// Largest number of records for which an unproven plan is compared with that of [`min_cost_flow`]. At this number
/// the flow takes 0.7 s on a busy 2 GHz core if most records overlap most others, and the time grows at least with
/// the cube of the number.
const MAX_RECORDS_FOR_FLOW: usize = 400;

/// Returns whether the model of these records is small enough to be built.
fn is_solvable(records: &[UsageRecord], bounds: &Bounds) -> bool {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    records.len().saturating_mul(sizes.len()) <= MAX_CHOICES
        && records.len().saturating_mul(bounds.positional_maximums.len()) <= MAX_ALIVE
}

/// Finds the Shared Objects optimum and certifies it, solving at most `nodes` linear relaxations. If `control` stops
/// the search, returns the smallest plan and the best bound proven by then.
///
/// The greedy strategies come first; if one of them reaches the positional bound, no solver is needed. Very large
/// sets (thousands of tensors of different sizes) get the best greedy plan and the positional bound.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or for sizes that add up to more than 64 bits can hold.
///
/// ```
/// use texpool_plan::{Optimum, SearchControl, UsageRecord, optimum, verify_certificate};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let found: Optimum = optimum(&records, 100, &SearchControl::new())?;
/// assert_eq!((found.layout.total(), found.proven), (12, true));
/// // Anyone can check the proof without the solver.
/// assert_eq!(verify_certificate(&records, &found.certificate)?, 12);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn optimum(records: &[UsageRecord], nodes: u64, control: &SearchControl<'_>) -> Result<Optimum, PlanError> {
    let bounds = bounds(records)?;
    let mut candidates = Candidates::new(records);
    let start = portfolio::run(records, None, bounds.offsets, &mut candidates, &control.share(1, 3))?;
    let mut optimum = Optimum::greedy(records, &bounds, start).improve(records, &bounds, nodes, control);
    optimum.stopped = optimum.stopped.or(candidates.stopped).filter(|_| !optimum.proven);
    Ok(optimum)
}

impl Optimum {
    /// Wraps a greedy plan, with the positional bound.
    pub(super) fn greedy(records: &[UsageRecord], bounds: &Bounds, layout: Layout) -> Self {
        let certificate = positional_certificate(records, bounds.shared_objects);
        let reached = layout.total() == certificate.bound;
        let proven = reached && verify_certificate(records, &certificate).is_ok();
        Self { layout, certificate, proven, nodes: 0, stopped: None }
    }

    /// Searches for a smaller plan and a higher bound with the exact solver. If the records are few enough, a plan
    /// that is not proven optimal is compared with that of [`min_cost_flow`], and the smaller one is kept.
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
        let tries_flow = records.len() <= MAX_RECORDS_FOR_FLOW;
        // The rest of the time is for the flow, which needs it only if the search uses up its share.
        let searched = if tries_flow { control.share(3, 4) } else { control.share(1, 1) };
        if is_solvable(records, bounds)
            && let Some(model) = reduced_model(records, self.layout.total(), MAX_ROUNDS, &searched)
        {
            let verified = self.solve(records, &model, nodes, &searched);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && (verified || verify_certificate(records, &self.certificate).is_ok());
        }
        if tries_flow && !self.proven && !control.should_stop() {
            // A search that is stopped early may have found only the greedy plan. The flow, unlike the greedy
            // strategies, looks ahead.
            let flow = min_cost_flow(records, control);
            self.layout = flow.ok().filter(|layout| layout.total() < self.layout.total()).unwrap_or(self.layout);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && verify_certificate(records, &self.certificate).is_ok();
        }
        self.stopped = self.stopped.or(searched.stopped()).filter(|_| !self.proven);
        self
    }

    /// Runs branch and bound. Returns whether it found a better certificate; that certificate is already verified.
    fn solve(&mut self, records: &[UsageRecord], model: &Model, nodes: u64, control: &SearchControl<'_>) -> bool {
        let unit = model.unit();
        let best_known = self.layout.total() / unit;
        if best_known >= MAX_COST {
            return false;
        }
        let mut search = BranchAndBound::new(model, best_known, nodes);
        let proof = search.run(control);
        (self.nodes, self.stopped) = (search.solved, search.stopped);
        if let Some(levels) = search.levels {
            self.layout = assign_objects(records, model, &levels);
        }
        if let Some((bound, proof)) = proof {
            let certificate = Certificate { bound: bound * unit, scale: prices::SCALE, proof };
            if certificate.bound > self.certificate.bound && verify(records, &certificate, control).is_ok() {
                self.certificate = certificate;
                return true;
            }
        }
        false
    }
}

/// Returns a certificate for the sum of the positional maximums: the price of each count is the difference of two
/// sizes.
pub(super) fn positional_certificate(records: &[UsageRecord], bound: u64) -> Certificate {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).filter(|&size| size > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    Certificate { bound, scale: 1, proof: Proof::leaf(Prices::positional(&sizes, 1)) }
}

/// Builds the layout for given levels. On each level, tensors are assigned by birth, each to a free object of that
/// level. The number of objects equals the number of tensors of the level alive at once, because an interval graph is
/// perfect.
fn assign_objects(records: &[UsageRecord], model: &Model, levels: &[usize]) -> Layout {
    let mut order: Vec<usize> = (0..model.tensors.len()).collect();
    order.sort_by_key(|&j| (std::cmp::Reverse(levels[j]), model.tensors[j].first, j));
    let mut regions: Vec<u64> = Vec::new();
    let mut free_after: Vec<usize> = Vec::new();
    let mut places: Vec<Option<Place>> = vec![None; records.len()];
    let mut level_start = 0;
    for (index, &j) in order.iter().enumerate() {
        if index > 0 && levels[order[index - 1]] != levels[j] {
            level_start = regions.len();
        }
        let tensor = &model.tensors[j];
        // The object freed last is the most likely to be still in a cache.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn presolve_does_not_change_the_optimum() {
        let mut random = Random::new();
        let mut reduced_sets = 0;
        for _ in 0..200 {
            let record = |_| {
                let first = random.below(12);
                UsageRecord::new(first, first + random.below(5), 1 + random.below(12) as u64)
            };
            let records: Vec<UsageRecord> = (0..14).map(record).collect();
            let bounds = bounds(&records).expect("small sizes");
            let control = SearchControl::new();
            let greedy = portfolio::run(&records, None, bounds.offsets, &mut Candidates::new(&records), &control);
            let best_known = greedy.expect("small sizes").total();
            let [with, without] = [MAX_ROUNDS, 0].map(|rounds| {
                let model = reduced_model(&records, best_known, rounds, &control).expect("nothing stops it");
                reduced_sets += usize::from(!model.assumed.is_empty());
                let unit = model.unit();
                let mut search = BranchAndBound::new(&model, best_known / unit, 10_000);
                let (bound, proof) = search.run(&control).expect("a proof");
                let certificate = Certificate { bound: bound * unit, scale: prices::SCALE, proof };
                assert_eq!(verify_certificate(&records, &certificate), Ok(search.best * unit), "{rounds}: {records:?}");
                search.best
            });
            assert_eq!(with, without, "{records:?}");
        }
        assert!(reduced_sets > 50, "{reduced_sets}");
    }
}
