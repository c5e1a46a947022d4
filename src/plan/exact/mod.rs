//! The exact Shared Objects optimum, with a certificate that anyone can check.
//!
//! Lives on the size-level model (`model`): which object size each tensor takes, how many objects of each size. Its
//! linear relaxation is nearly always integer on networks; where it is not, branch and bound closes the gap. Must not
//! know banks, offsets or textures, and claims nothing that [`verify_certificate`] has not confirmed.

mod certificate;
mod model;
mod prices;
mod reduce;
mod relax;
mod search;

pub use certificate::{Certificate, Prices, Proof, verify_certificate};

use super::{Layout, Place, PlanError, Problem, Strategy, UsageRecord, bounds};
use model::Model;
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
}

/// How far the search is: told after every relaxation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Relaxations solved.
    pub nodes: u64,
    /// Total of the smallest plan so far.
    pub best: u64,
}

/// Sizes above which relaxations lose the last digits: beyond, only the positional bound is claimed.
const MAX_COST: u64 = 1 << 40;

/// Tensors times distinct sizes above which the model is not built: it would outgrow memory before it is solved.
const MAX_CHOICES: usize = 1 << 18;

/// Finds the Shared Objects optimum, solving at most `nodes` relaxations, and certifies it.
///
/// The greedy strategies go first: where one reaches the positional bound, nothing is left to solve. Very large sets
/// (thousands of tensors, each of another size) are answered with the best greedy plan and the positional bound.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`].
pub fn optimum(records: &[UsageRecord], nodes: u64, progress: &mut dyn FnMut(Progress)) -> Result<Optimum, PlanError> {
    let bounds = bounds(records)?;
    let mut layout = Strategy::Naive.place(records)?;
    for &strategy in Strategy::PORTFOLIO {
        let other = strategy.place(records)?;
        if (other.total(), other.regions.len()) < (layout.total(), layout.regions.len()) {
            layout = other;
        }
    }
    let mut certificate = positional_certificate(records, bounds.shared_objects);
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut solved = 0;
    if nodes > 0 && layout.total() > bounds.shared_objects && records.len() * sizes.len() <= MAX_CHOICES {
        let model = Model::new(records, layout.total());
        let unit = model.unit();
        if layout.total() / unit < MAX_COST {
            let mut tell = |nodes, best: u64| progress(Progress { nodes, best: best * unit });
            let mut search = Search::new(&model, layout.total() / unit, nodes, &mut tell);
            let proof = search.run();
            solved = nodes - search.nodes_left;
            if let Some(levels) = search.levels {
                layout = colour(records, &model, &levels);
            }
            if let Some((bound, proof)) = proof {
                let found = Certificate { bound: bound * unit, scale: prices::SCALE, proof };
                if found.bound > certificate.bound && verify_certificate(records, &found).is_ok() {
                    certificate = found;
                }
            }
        }
    }
    let proven = layout.total() == certificate.bound;
    Ok(Optimum { layout, certificate, proven, nodes: solved })
}

/// The sum of the positional maximums, priced: each object is worth what it is larger than the next size.
pub(super) fn positional_certificate(records: &[UsageRecord], bound: u64) -> Certificate {
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).filter(|&size| size > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    Certificate { bound, scale: 1, proof: Proof::Leaf(search::positional_prices(&sizes, 1)) }
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
        // The object that was freed last is the warmest.
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
    Layout { problem: Problem::SharedObjects, regions, places }
}
