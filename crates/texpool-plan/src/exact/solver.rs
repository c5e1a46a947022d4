//! Searches the integer program, and returns its solution as a plan with a certificate.

use super::{
    Optimum,
    branch_and_bound::BranchAndBound,
    certificate::{Certificate, proven_bound, verify_certificate},
    core::core,
    model::Model,
    presolve::{MAX_ROUNDS, reduced_model},
    prices,
    proof::Proof,
};
use crate::{
    bounds::Bounds,
    control::SearchControl,
    layout::{Layout, LayoutKind, Place},
    record::{UsageRecord, distinct_sizes},
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

/// Number of the busiest steps of each size whose tensors form the first core. Each further core takes
/// [`CORE_GROWTH`] times as many steps.
const FIRST_CORE_STEPS: usize = 1;

/// Growth of cores, in steps. A core of more than half of the tensors is not tried: its relaxation takes nearly as
/// long as that of all tensors.
const CORE_GROWTH: usize = 4;

/// Returns the model of the plans that cost less than `best_known`, or `None` if it is too large or `control` stops.
fn solvable_model(
    records: &[UsageRecord],
    most_alive: usize,
    best_known: u64,
    control: &SearchControl<'_>,
) -> Option<Model> {
    let solvable = records.len().saturating_mul(distinct_sizes(records).len()) <= MAX_CHOICES
        && records.len().saturating_mul(most_alive) <= MAX_ALIVE;
    let model = solvable.then(|| reduced_model(records, best_known, MAX_ROUNDS, control))??;
    (best_known / model.unit() < MAX_COST).then_some(model)
}

impl Optimum {
    /// Tries to prove the plan with cores. If that fails, and the plan is more than `tolerated_gap` above the bound,
    /// searches for a smaller plan and a higher bound with the model of all tensors, if that is small enough.
    pub(super) fn solve(
        &mut self,
        records: &[UsageRecord],
        bounds: &Bounds,
        nodes: u64,
        tolerated_gap: u64,
        control: &SearchControl<'_>,
    ) {
        let most_alive = bounds.positional_maximums.len();
        self.prove_by_cores(records, most_alive, nodes, control);
        let total = self.layout.total();
        if self.proven || total - self.certificate.bound <= tolerated_gap {
            return;
        }
        let Some(model) = solvable_model(records, most_alive, total, control) else { return };
        let mut search = BranchAndBound::new(&model, total / model.unit(), nodes.saturating_sub(self.nodes));
        let proof = search.run(control);
        self.nodes += search.solved;
        self.stopped = search.stopped;
        if let Some(levels) = &search.levels {
            self.layout = assign_objects(records, &model, levels);
        }
        self.keep_proof(records, &model, proof, control);
    }

    /// Tries to prove with cores that no plan is smaller than this one. If they prove a lower bound, keeps that. Leaves
    /// one of the `nodes` for the relaxation of all tensors.
    fn prove_by_cores(&mut self, records: &[UsageRecord], most_alive: usize, nodes: u64, control: &SearchControl<'_>) {
        let sizes = distinct_sizes(records);
        let mut steps = FIRST_CORE_STEPS;
        let mut tried = 0;
        // There are at most as many busiest steps as tensors.
        while !self.proven && self.nodes + 1 < nodes && steps < records.len() {
            let Some(members) = core(records, steps, control) else { return };
            if 2 * members.len() > records.len() || control.should_stop() {
                return;
            }
            steps *= CORE_GROWTH;
            if members.len() == tried {
                continue;
            }
            tried = members.len();
            let core: Vec<UsageRecord> = members.iter().map(|&i| records[i]).collect();
            let total = self.layout.total();
            let Some(model) = solvable_model(&core, most_alive, total, control) else { return };
            // Only the root is solved. If the core has a plan of a smaller total, a larger core is needed.
            let mut search = BranchAndBound::new(&model, total.div_ceil(model.unit()), 1);
            let proof = search.run(control).map(|(bound, mut proof)| {
                proof.renumber(&members);
                proof.extend_sizes(&model.levels, &sizes);
                (bound, proof)
            });
            self.nodes += search.solved;
            self.keep_proof(records, &model, proof, control);
        }
    }

    /// Keeps the certificate of a proof if it is valid for all records and better than the present one. Updates whether
    /// the plan is proven.
    fn keep_proof(
        &mut self,
        records: &[UsageRecord],
        model: &Model,
        proof: Option<(u64, Proof)>,
        control: &SearchControl<'_>,
    ) {
        let valid = proof.and_then(|(claimed, proof)| {
            // A core's total is a multiple of a unit that may be larger than that of all tensors, which the check uses.
            let proven = proven_bound(records, prices::SCALE, &proof, control).ok()?;
            Some(Certificate { bound: proven.min(claimed * model.unit()), scale: prices::SCALE, proof })
        });
        let better = valid.filter(|certificate| certificate.bound > self.certificate.bound);
        let verified = better.is_some();
        if let Some(certificate) = better {
            self.certificate = certificate;
        }
        let reached = self.layout.total() == self.certificate.bound;
        self.proven = reached && (verified || verify_certificate(records, &self.certificate).is_ok());
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
    use super::{super::optimum, *};
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

    /// A core's certificate is valid for all tensors, also in objects of sizes that the core does not have.
    #[test]
    fn cores_prove_the_optimum_of_all_tensors() {
        let mut random = Random::new();
        let mut proven_sets = 0;
        for _ in 0..100 {
            // Early tensors are larger, as in most networks.
            let record = |_| {
                let first = random.below(150);
                let size = 1 + random.below(12) as u64;
                UsageRecord::new(first, first + random.below(6), if first < 40 { 7 * size } else { size })
            };
            let records: Vec<UsageRecord> = (0..150).map(record).collect();
            let bounds = bounds(&records).expect("small sizes");
            let control = SearchControl::new();
            let best = optimum(&records, 10_000, &control).expect("small sizes");
            assert!(best.proven, "{records:?}");
            let mut by_cores = Optimum::greedy(&records, &bounds, best.layout);
            if by_cores.proven {
                continue;
            }
            by_cores.prove_by_cores(&records, bounds.positional_maximums.len(), 100, &control);
            let bound = by_cores.certificate.bound;
            assert_eq!(verify_certificate(&records, &by_cores.certificate), Ok(bound), "{records:?}");
            // Without cores: the model of all tensors, whose search ends with a proof.
            let model = reduced_model(&records, u64::MAX >> 1, 0, &control).expect("nothing stops it");
            let mut search = BranchAndBound::new(&model, by_cores.layout.total() / model.unit(), 10_000);
            let (proven, _) = search.run(&control).expect("a proof");
            assert_eq!(proven * model.unit(), by_cores.layout.total(), "{records:?}");
            assert!((bounds.shared_objects..=proven * model.unit()).contains(&bound), "{records:?}");
            proven_sets += usize::from(by_cores.proven);
        }
        assert!(proven_sets > 5, "{proven_sets}");
    }
}
