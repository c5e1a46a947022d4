//! Tensors assigned to regions so that no step reads and writes the same one: which tensors conflict, first
//! assignments, and how a search moves from one to the next.
//!
//! Shared by banks, whose tensors lie whole, and by textures whose tensors lie row by row. What an assignment costs is
//! theirs to say.

/// For each tensor, those that some step reads while it writes the tensor, or writes while it reads it.
pub(super) struct Conflicts(Vec<Vec<usize>>);

impl Conflicts {
    /// None yet, between so many tensors.
    pub(super) fn new(tensors: usize) -> Self {
        Self(vec![Vec::new(); tensors])
    }

    /// Adds those of a step; [`sorted`](Self::sorted) comes after the last.
    pub(super) fn add(&mut self, reads: impl Iterator<Item = usize> + Clone, writes: impl Iterator<Item = usize>) {
        for write in writes {
            for read in reads.clone().filter(|&read| read != write) {
                self.0[write].push(read);
                self.0[read].push(write);
            }
        }
    }

    /// Each list in rising order, without doubles.
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

/// Assigns the tensors of `order`, which is all of them, each to the region that `pick` takes of those without a
/// conflict: it is told the tensor, these regions and what is assigned so far. `None` once it takes none.
pub(super) fn assign(
    conflicts: &Conflicts,
    regions: usize,
    order: impl Iterator<Item = usize>,
    mut pick: impl FnMut(usize, &[usize], &[Option<usize>]) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut region_of: Vec<Option<usize>> = vec![None; conflicts.0.len()];
    for tensor in order {
        let open = |region: &usize| conflicts.of(tensor).iter().all(|&other| region_of[other] != Some(*region));
        let open: Vec<usize> = (0..regions).filter(open).collect();
        region_of[tensor] = Some(pick(tensor, &open, &region_of)?);
    }
    region_of.into_iter().collect()
}

/// An assignment that a search changes tensor by tensor.
pub(super) trait Assignment {
    /// The region of each tensor.
    fn region_of(&self) -> &[usize];

    /// What it costs.
    fn cost(&self) -> u64;

    /// Moves a tensor to a region.
    fn shift(&mut self, tensor: usize, region: usize);
}

/// A Kempe chain: `first` goes to region `to`, and along with it those that conflict there go the other way, and so on.
/// Tensors with the regions they go to; `None` where they are more than `longest`.
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

/// Late acceptance hill climbing (Burke and Bykov 2017): a move stays if it costs no more than what was before it, or
/// than what was a history's length of moves ago.
pub(super) struct LateAcceptance(Vec<u64>);

impl LateAcceptance {
    /// A search that starts from an assignment of `cost`; the longer the history, the further and slower it climbs.
    pub(super) fn new(cost: u64, history: usize) -> Self {
        Self(vec![cost; history])
    }

    /// Makes move number `count`, and takes it back unless it is accepted; the cost if it is.
    pub(super) fn try_move(
        &mut self,
        count: u64,
        assignment: &mut impl Assignment,
        chain: &[(usize, usize)],
    ) -> Option<u64> {
        let before = assignment.cost();
        let back: Vec<(usize, usize)> =
            chain.iter().map(|&(tensor, _)| (tensor, assignment.region_of()[tensor])).collect();
        chain.iter().for_each(|&(tensor, region)| assignment.shift(tensor, region));
        let cost = assignment.cost();
        let slot = (count % self.0.len() as u64) as usize;
        let accepted = cost <= before || cost <= self.0[slot];
        if !accepted {
            back.into_iter().for_each(|(tensor, region)| assignment.shift(tensor, region));
        }
        self.0[slot] = self.0[slot].min(if accepted { cost } else { before });
        accepted.then_some(cost)
    }
}
