//! The size-level model of Shared Objects: what the solver is given.
//!
//! An interval graph is perfect, so tensors of which at most `c` are alive at once fit into `c` objects. It is enough
//! to say on which *level*, an object size of at least its own, each tensor lives, and how many objects a level has.

use crate::plan::UsageRecord;

/// Tensors, the levels they may live on, and for each level the sets of tensors that are alive together.
pub(super) struct Model {
    /// Tensors with a size; the others cost nothing wherever they are.
    pub(super) tensors: Vec<UsageRecord>,
    /// Index of each tensor in the caller's records.
    pub(super) record_of: Vec<usize>,
    /// Distinct sizes, smallest first.
    pub(super) levels: Vec<u64>,
    /// Level of each tensor's own size.
    pub(super) own: Vec<usize>,
    /// One past the last level open to each tensor, and the step that closes the rest.
    pub(super) closed: Vec<(usize, Option<usize>)>,
    /// For each level, the maximal cliques of the tensors it is open to.
    pub(super) cliques: Vec<Vec<Clique>>,
    /// For each level, the most tensors of at least that size alive at once.
    pub(super) needed: Vec<usize>,
    /// For each level, the most objects of at least its size that a plan smaller than the one known can have.
    pub(super) most: Vec<usize>,
}

/// Tensors that are all alive at `step`.
pub(super) struct Clique {
    pub(super) step: usize,
    pub(super) members: Vec<usize>,
}

impl Model {
    /// The model of the plans that cost less than `known`.
    pub(super) fn new(records: &[UsageRecord], known: u64) -> Self {
        let record_of: Vec<usize> = (0..records.len()).filter(|&i| records[i].size > 0).collect();
        let tensors: Vec<UsageRecord> = record_of.iter().map(|&i| records[i]).collect();
        let mut levels: Vec<u64> = tensors.iter().map(|t| t.size).collect();
        levels.sort_unstable();
        levels.dedup();
        let own: Vec<usize> = tensors.iter().map(|t| levels.partition_point(|&l| l < t.size)).collect();
        let mut order: Vec<usize> = (0..tensors.len()).collect();
        order.sort_by_key(|&i| tensors[i].first);
        let select = |keep: &dyn Fn(usize) -> bool| {
            let members: Vec<usize> = order.iter().copied().filter(|&i| keep(i)).collect();
            maximal_cliques(&tensors, &members)
        };
        let above: Vec<Vec<Clique>> = (0..levels.len()).map(|level| select(&|i| own[i] >= level)).collect();
        let widest = |cliques: &Vec<Clique>| cliques.iter().map(|c| c.members.len()).max().unwrap_or(0);
        let needed: Vec<usize> = above.iter().map(widest).collect();
        // Each object that is not needed costs what its level is larger than the next, on top of the bound.
        let steps: Vec<u64> =
            levels.iter().scan(0, |below, &size| Some(size - std::mem::replace(below, size))).collect();
        let bound: u64 = steps.iter().zip(&needed).map(|(step, &needed)| step * needed as u64).sum();
        let spare = known.saturating_sub(bound).saturating_sub(1);
        let extra = |step: u64| usize::try_from(spare / step).unwrap_or(usize::MAX);
        let most: Vec<usize> =
            steps.iter().zip(&needed).map(|(&step, &needed)| needed.saturating_add(extra(step))).collect();
        // Where a level's own tensors are as many as it may have objects, nothing smaller can come up.
        let mut closed = vec![(levels.len(), None); tensors.len()];
        for (level, cliques) in above.iter().enumerate().rev() {
            for clique in cliques.iter().filter(|clique| clique.members.len() >= most[level]) {
                let here = |t: &UsageRecord| t.first <= clique.step && clique.step <= t.last;
                for tensor in (0..tensors.len()).filter(|&j| own[j] < level && here(&tensors[j])) {
                    closed[tensor] = (level, Some(clique.step));
                }
            }
        }
        let cliques = (0..levels.len()).map(|level| select(&|i| (own[i]..closed[i].0).contains(&level))).collect();
        Self { tensors, record_of, levels, own, closed, cliques, needed, most }
    }

    /// The greatest common divisor of the sizes: every total is a multiple of it.
    pub(super) fn unit(&self) -> u64 {
        self.levels.iter().fold(0, |a, &b| gcd(a, b)).max(1)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A clique is maximal where a death follows a birth. `order` is sorted by birth.
fn maximal_cliques(tensors: &[UsageRecord], order: &[usize]) -> Vec<Clique> {
    let mut cliques: Vec<Clique> = Vec::new();
    let mut alive: Vec<usize> = Vec::new();
    for (at, &i) in order.iter().enumerate() {
        let step = tensors[i].first;
        alive.retain(|&a| tensors[a].last >= step);
        alive.push(i);
        let next_birth = order.get(at + 1).map(|&next| tensors[next].first);
        if next_birth.is_none_or(|birth| alive.iter().any(|&a| tensors[a].last < birth)) {
            cliques.push(Clique { step, members: alive.clone() });
        }
    }
    cliques
}
