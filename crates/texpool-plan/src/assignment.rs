//! Assignments of tensors to regions in which no step reads and writes the same region: conflicts, first assignments,
//! and the moves of a local search. It is graph colouring with a cost.
//!
//! Used for banks, whose tensors lie whole, and for textures whose tensors lie row by row. Each says what an assignment
//! costs.

use super::internal::LateAcceptance;

/// For each tensor, those that some step reads while it writes the tensor, or writes while it reads it.
pub(super) struct Conflicts(Vec<Vec<usize>>);

impl Conflicts {
    /// No conflicts yet between a number of tensors.
    pub(super) fn new(tensors: usize) -> Self {
        Self(vec![Vec::new(); tensors])
    }

    /// Adds the conflicts of a step. After the last one, the lists have to be [`sorted`](Self::sorted).
    pub(super) fn add(&mut self, reads: impl Iterator<Item = usize> + Clone, writes: impl Iterator<Item = usize>) {
        for write in writes {
            for read in reads.clone().filter(|&read| read != write) {
                self.0[write].push(read);
                self.0[read].push(write);
            }
        }
    }

    /// Sorts the lists and removes duplicates.
    pub(super) fn sorted(mut self) -> Self {
        for list in &mut self.0 {
            list.sort_unstable();
            list.dedup();
        }
        self
    }

    /// The tensors that may not share a region with this one.
    pub(super) fn of(&self, tensor: usize) -> &[usize] {
        &self.0[tensor]
    }

    /// Whether two tensors may not share a region.
    pub(super) fn between(&self, tensor: usize, other: usize) -> bool {
        self.0[tensor].binary_search(&other).is_ok()
    }
}

/// Assigns all tensors in the order given, each to the region that `choose` returns. It gets the tensor, the regions in
/// which nothing conflicts with it, and the regions of the tensors so far. `None` as soon as it returns none.
pub(super) fn assign(
    conflicts: &Conflicts,
    regions: usize,
    order: impl Iterator<Item = usize>,
    mut choose: impl FnMut(usize, &[usize], &[Option<usize>]) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut region_of: Vec<Option<usize>> = vec![None; conflicts.0.len()];
    for tensor in order {
        let open = |region: &usize| conflicts.of(tensor).iter().all(|&other| region_of[other] != Some(*region));
        let open: Vec<usize> = (0..regions).filter(open).collect();
        region_of[tensor] = Some(choose(tensor, &open, &region_of)?);
    }
    region_of.into_iter().collect()
}

/// An assignment that a local search changes tensor by tensor.
pub(super) trait Assignment {
    /// The region of each tensor.
    fn region_of(&self) -> &[usize];

    /// What it costs.
    fn cost(&self) -> u64;

    /// Moves a tensor to a region.
    fn move_tensor(&mut self, tensor: usize, region: usize);
}

/// A Kempe chain, as in graph colouring: `first` moves to region `to`, the tensors there that conflict with it move the
/// other way, those that conflict with them move along, and so on. The tensors with their new regions; `None` if there
/// are more than `longest`.
pub(super) fn kempe_chain(
    conflicts: &Conflicts,
    region_of: &[usize],
    first: usize,
    to: usize,
    longest: usize,
) -> Option<Vec<(usize, usize)>> {
    let from = region_of[first];
    let mut chain = vec![(first, to)];
    let mut next = 0;
    while next < chain.len() {
        let (tensor, target) = chain[next];
        next += 1;
        for &other in conflicts.of(tensor) {
            if region_of[other] == target && !chain.iter().any(|&(moved, _)| moved == other) {
                if chain.len() == longest {
                    return None;
                }
                chain.push((other, if target == to { from } else { to }));
            }
        }
    }
    Some(chain)
}

/// Makes move number `number`. If it is accepted, the cost after it; if not, it is undone.
pub(super) fn try_move(
    acceptance: &mut LateAcceptance<u64>,
    number: u64,
    assignment: &mut impl Assignment,
    chain: &[(usize, usize)],
) -> Option<u64> {
    let before = assignment.cost();
    let undo: Vec<(usize, usize)> = chain.iter().map(|&(tensor, _)| (tensor, assignment.region_of()[tensor])).collect();
    chain.iter().for_each(|&(tensor, region)| assignment.move_tensor(tensor, region));
    let cost = assignment.cost();
    let accepted = cost <= acceptance.most(number, before);
    if !accepted {
        undo.into_iter().for_each(|(tensor, region)| assignment.move_tensor(tensor, region));
    }
    acceptance.note(number, if accepted { cost } else { before });
    accepted.then_some(cost)
}
