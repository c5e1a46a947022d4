//! Searches the integer program, and returns its solution as a plan with a certificate.

use super::{
    Optimum,
    branch_and_bound::BranchAndBound,
    certificate::{Certificate, verify, verify_certificate},
    model::Model,
    presolve::{MAX_ROUNDS, reduced_model},
    prices,
};
use crate::{
    bounds::Bounds,
    control::SearchControl,
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Upper limit on totals, in units of the sizes' greatest common divisor, for the solver. It computes with 53 bits
/// and a tolerance, which is too imprecise for larger totals. Above the limit only the positional bound is claimed.
pub(super) const MAX_COST: u64 = 1 << 40;

/// Upper limit on tensors times distinct sizes for building the model. Each combination may be a variable, and beyond
/// this the simplex method would need too much memory and time. A guess.
const MAX_CHOICES: usize = 1 << 18;

/// Upper limit, for building the model, on tensors times the largest number of tensors alive at once, which bounds
/// the members of cliques. A guess.
const MAX_ALIVE: usize = 1 << 22;

/// Returns whether the model of these records is small enough to be built.
fn is_solvable(records: &[UsageRecord], bounds: &Bounds) -> bool {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    records.len().saturating_mul(sizes.len()) <= MAX_CHOICES
        && records.len().saturating_mul(bounds.positional_maximums.len()) <= MAX_ALIVE
}

impl Optimum {
    /// Searches for a smaller plan and a higher bound, if the model is small enough to be built.
    pub(super) fn solve(&mut self, records: &[UsageRecord], bounds: &Bounds, nodes: u64, control: &SearchControl<'_>) {
        if is_solvable(records, bounds)
            && let Some(model) = reduced_model(records, self.layout.total(), MAX_ROUNDS, control)
        {
            let verified = self.search_model(records, &model, nodes, control);
            let reached = self.layout.total() == self.certificate.bound;
            self.proven = reached && (verified || verify_certificate(records, &self.certificate).is_ok());
        }
    }

    /// Runs branch and bound. Returns whether it found a better certificate; that certificate is already verified.
    fn search_model(
        &mut self,
        records: &[UsageRecord],
        model: &Model,
        nodes: u64,
        control: &SearchControl<'_>,
    ) -> bool {
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
    use crate::{
        bounds::bounds,
        portfolio::{self, Candidates},
        random::Random,
    };

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
