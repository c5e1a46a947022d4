//! Shared Objects as an integer program.
//!
//! An interval graph is perfect, so tensors of which at most `c` are alive at once fit into `c` objects. It is
//! therefore enough to choose a *level* for each tensor, and the number of objects on each level. The level of a
//! tensor is the size of its object, which is at least the tensor's size.

use super::proof::Prices;
use crate::{
    control::SearchControl,
    gcd::gcd,
    record::{UsageRecord, distinct_sizes},
};

/// The tensors, the levels open to each, and for each level the sets of tensors that are alive at the same time.
pub(super) struct Model {
    /// The tensors whose size is not 0.
    pub(super) tensors: Vec<UsageRecord>,
    /// Index of each tensor in the caller's records.
    pub(super) record_of: Vec<usize>,
    /// Distinct sizes, smallest first.
    pub(super) levels: Vec<u64>,
    /// Level of each tensor's own size.
    pub(super) own: Vec<usize>,
    /// For each tensor, one past the last level open to it, and the step that closes the levels above.
    pub(super) closed: Vec<(usize, Option<usize>)>,
    /// For each level, the maximal cliques of the tensors that may be on it.
    pub(super) cliques: Vec<Vec<Clique>>,
    /// For each level, a number of objects of at least its size that every plan must have.
    pub(super) needed: Vec<usize>,
    /// Assumptions of the model. Each may depend on earlier ones.
    pub(super) assumed: Vec<Assumption>,
}

/// A property of every plan that is smaller than the known one, with the prices that prove it.
pub(super) struct Assumption {
    /// The level at or above which objects are counted.
    pub(super) level: usize,
    /// There are at least this many objects, or fewer than this many.
    pub(super) count: usize,
    /// Selects between the two: true for "at least".
    pub(super) at_least: bool,
    /// Prices that prove that a plan without this property costs at least as much as the known plan.
    pub(super) otherwise: Prices,
}

/// Tensors that are all alive at `step`.
pub(super) struct Clique {
    pub(super) step: usize,
    pub(super) members: Vec<usize>,
}

/// Upper limit on the members of cliques on all levels: the relaxation has an entry for each. Above it the model is
/// not built. A guess.
const MAX_ENTRIES: usize = 1 << 20;

impl Model {
    /// Creates the model without assumptions and without cliques: all levels from a tensor's own size upwards are
    /// open to it.
    pub(super) fn new(records: &[UsageRecord]) -> Self {
        let record_of: Vec<usize> = (0..records.len()).filter(|&i| records[i].size > 0).collect();
        let tensors: Vec<UsageRecord> = record_of.iter().map(|&i| records[i]).collect();
        let levels = distinct_sizes(&tensors);
        let own: Vec<usize> = tensors.iter().map(|t| levels.partition_point(|&l| l < t.size)).collect();
        let closed = vec![(levels.len(), None); tensors.len()];
        let (cliques, needed, assumed) = (Vec::new(), Vec::new(), Vec::new());
        Self { tensors, record_of, levels, own, closed, cliques, needed, assumed }
    }

    /// Adds the cliques of each level. Returns `None` if `control` stops it, or if they have more than
    /// [`MAX_ENTRIES`] members.
    pub(super) fn with_cliques(mut self, control: &SearchControl<'_>) -> Option<Self> {
        let mut entries = 0;
        for level in 0..self.levels.len() {
            let cliques = self.cliques_of(|j| (self.own[j]..self.closed[j].0).contains(&level));
            entries += cliques.iter().map(|clique| clique.members.len()).sum::<usize>();
            self.cliques.push(cliques);
            if entries > MAX_ENTRIES || control.should_stop() {
                return None;
            }
        }
        Some(self)
    }

    /// Returns the number of entries of the relaxation's matrix.
    pub(super) fn entries(&self) -> usize {
        self.cliques.iter().flatten().map(|clique| clique.members.len() + 1).sum()
    }

    /// Returns the maximal cliques of the tensors for which `keep` is true.
    pub(super) fn cliques_of(&self, keep: impl Fn(usize) -> bool) -> Vec<Clique> {
        let mut order: Vec<usize> = (0..self.tensors.len()).filter(|&j| keep(j)).collect();
        order.sort_by_key(|&j| self.tensors[j].first);
        maximal_cliques(&self.tensors, &order)
    }

    /// Returns the greatest common divisor of the sizes; every total is a multiple of it.
    pub(super) fn unit(&self) -> u64 {
        self.levels.iter().fold(0, |a, &b| gcd(a, b)).max(1)
    }
}

/// Returns the maximal cliques of an interval graph. These are the sets that are alive when a birth is followed by a
/// death. `order` is sorted by birth.
fn maximal_cliques(tensors: &[UsageRecord], order: &[usize]) -> Vec<Clique> {
    let mut cliques: Vec<Clique> = Vec::new();
    let mut alive: Vec<usize> = Vec::new();
    for (index, &i) in order.iter().enumerate() {
        let step = tensors[i].first;
        alive.retain(|&a| tensors[a].last >= step);
        alive.push(i);
        let next_birth = order.get(index + 1).map(|&next| tensors[next].first);
        if next_birth.is_none_or(|birth| alive.iter().any(|&a| tensors[a].last < birth)) {
            cliques.push(Clique { step, members: alive.clone() });
        }
    }
    cliques
}
