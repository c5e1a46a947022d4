//! Late acceptance hill climbing (Burke and Bykov 2017): a move is accepted if the cost after it is at most that before it,
//! or at most that of a number of moves ago. It needs no other parameter than that number, and no temperature.

/// The least costs of so many moves ago.
pub struct LateAcceptance<C>(Vec<C>);

impl<C: Copy + Ord> LateAcceptance<C> {
    /// A search that starts at `cost` and looks back `history` moves, of which there is at least one: the longer, the slower
    /// it converges and the lower it ends.
    pub fn new(cost: C, history: usize) -> Self {
        Self(vec![cost; history.max(1)])
    }

    /// The greatest cost with which move number `number` is accepted, from a state that costs `before`.
    pub fn most(&self, number: u64, before: C) -> C {
        before.max(self.0[self.slot(number)])
    }

    /// Notes what the state costs after the move, or without it.
    pub fn note(&mut self, number: u64, cost: C) {
        let slot = self.slot(number);
        self.0[slot] = self.0[slot].min(cost);
    }

    const fn slot(&self, number: u64) -> usize {
        (number % self.0.len() as u64) as usize
    }
}
