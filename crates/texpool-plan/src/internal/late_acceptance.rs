//! Late acceptance hill climbing (Burke and Bykov 2017): a move is accepted if the new cost is at most the cost
//! before it, or at most the cost a fixed number of moves ago. That number is the only parameter; no temperature is
//! needed.

/// A ring buffer of earlier costs, one per slot; each slot holds the lowest cost noted there.
pub struct LateAcceptance<C>(Vec<C>);

impl<C: Copy + Ord> LateAcceptance<C> {
    /// Creates a search that starts at `cost` and looks back `history` moves, at least one. A longer history
    /// converges more slowly and ends lower.
    pub fn new(cost: C, history: usize) -> Self {
        Self(vec![cost; history.max(1)])
    }

    /// Returns the highest cost with which move number `number` is accepted, from a state that costs `before`.
    pub fn most(&self, number: u64, before: C) -> C {
        before.max(self.0[self.slot(number)])
    }

    /// Records the cost after the move, whether it was accepted or not.
    pub fn note(&mut self, number: u64, cost: C) {
        let slot = self.slot(number);
        self.0[slot] = self.0[slot].min(cost);
    }

    const fn slot(&self, number: u64) -> usize {
        (number % self.0.len() as u64) as usize
    }
}
