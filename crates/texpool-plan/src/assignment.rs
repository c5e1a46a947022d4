//! Assignments of tensors to regions in which no step reads and writes the same region: conflicts, initial
//! assignments, and the moves of a local search. This is graph colouring with a cost.
//!
//! Used for banks, in which each tensor is contiguous, and for textures in which tensors are placed row by row. Each
//! of the two defines its own cost.

use super::internal::LateAcceptance;

/// For each tensor, the tensors that some step reads while it writes this one, or writes while it reads this one.
pub(super) struct Conflicts(Vec<Vec<usize>>);

impl Conflicts {
    /// Creates an empty conflict graph of `tensors` tensors.
    pub(super) fn new(tensors: usize) -> Self {
        Self(vec![Vec::new(); tensors])
    }

    /// Adds the conflicts of a step. After the last step, call [`sorted`](Self::sorted).
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

    /// Returns the tensors that must not share a region with this one.
    pub(super) fn of(&self, tensor: usize) -> &[usize] {
        &self.0[tensor]
    }

    /// Returns whether two tensors must not share a region.
    pub(super) fn between(&self, tensor: usize, other: usize) -> bool {
        self.0[tensor].binary_search(&other).is_ok()
    }
}

/// Assigns all tensors in the given order, each to the region that `choose` returns. `choose` gets the tensor, the
/// regions without a conflicting tensor, and the regions that are already assigned. Returns `None` as soon as
/// `choose` does.
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

/// An assignment that a local search changes one chain of moves at a time.
pub(super) trait Assignment {
    /// Returns the region of each tensor.
    fn region_of(&self) -> &[usize];

    /// Returns the cost of the assignment.
    fn cost(&self) -> u64;

    /// Makes the moves of a chain from [`kempe_chain`] and returns the new cost, if that is at most `most`. Otherwise
    /// changes nothing.
    fn make_moves(&mut self, chain: &[(usize, usize)], most: u64) -> Option<u64>;
}

/// Computes a Kempe chain, as in graph colouring: `first` moves to region `to`, the tensors there that conflict with
/// it move the other way, tensors that conflict with those move along, and so on. Sets `chain` to the tensors with
/// their new regions. Returns false if there are more than `longest`; `chain` is then incomplete.
pub(super) fn kempe_chain(
    conflicts: &Conflicts,
    region_of: &[usize],
    (first, to): (usize, usize),
    longest: usize,
    chain: &mut Vec<(usize, usize)>,
) -> bool {
    let from = region_of[first];
    chain.clear();
    chain.push((first, to));
    let mut next = 0;
    while next < chain.len() {
        let (tensor, target) = chain[next];
        next += 1;
        for &other in conflicts.of(tensor) {
            if region_of[other] == target && !chain.iter().any(|&(moved, _)| moved == other) {
                if chain.len() == longest {
                    return false;
                }
                chain.push((other, if target == to { from } else { to }));
            }
        }
    }
    true
}

/// Tries move number `number`. Returns the new cost if the move is accepted; otherwise changes nothing.
pub(super) fn try_move(
    acceptance: &mut LateAcceptance<u64>,
    number: u64,
    assignment: &mut impl Assignment,
    chain: &[(usize, usize)],
) -> Option<u64> {
    let before = assignment.cost();
    let cost = assignment.make_moves(chain, acceptance.most(number, before));
    acceptance.note(number, cost.unwrap_or(before));
    cost
}
