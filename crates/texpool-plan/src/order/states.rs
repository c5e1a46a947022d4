//! A table of states that a search has reached.

use super::{
    free_moves::{Paths, ROOT},
    region::State,
};

/// Every state with the smallest peak of the paths that reach it, and one such path.
pub(super) struct States {
    /// Words of the sets of one state.
    stride: usize,
    /// Words that identify a state: the operations that have run.
    key: usize,
    bits: Vec<u64>,
    reached: Vec<Reached>,
    /// Open addressing; `u32::MAX` is an empty slot. Its length is a power of two.
    slots: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Reached {
    live: u64,
    peak: u64,
    path: u32,
}

const EMPTY: u32 = u32::MAX;

impl States {
    /// Creates an empty table for sets of `words` words.
    pub(super) fn new(words: usize) -> Self {
        Self { stride: 2 * words, key: words, bits: Vec::new(), reached: Vec::new(), slots: vec![EMPTY; 64] }
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.reached.len()
    }

    /// Adds a state, or a smaller peak of a state that is there. Returns its number, or `None` if it was there with a
    /// peak that is no larger.
    pub(super) fn improve(&mut self, state: &State, path: u32) -> Option<u32> {
        if 2 * self.reached.len() >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(&state.bits[..self.key]);
        let (live, peak) = (state.live, state.peak);
        match self.slots[slot] {
            EMPTY => {
                self.slots[slot] = self.reached.len() as u32;
                self.bits.extend_from_slice(&state.bits);
                self.reached.push(Reached { live, peak, path });
            }
            number if self.reached[number as usize].peak <= peak => return None,
            number => self.reached[number as usize] = Reached { live, peak, path },
        }
        Some(self.slots[slot])
    }

    /// Returns a state, and the path to it.
    pub(super) fn get(&self, number: u32) -> (State, u32) {
        let Reached { live, peak, path } = self.reached[number as usize];
        (State { bits: self.bits[number as usize * self.stride..][..self.stride].to_vec(), live, peak }, path)
    }

    /// Returns the smallest peak with which a state was reached.
    pub(super) fn peak(&self, number: u32) -> u64 {
        self.reached[number as usize].peak
    }

    /// Returns the bytes alive in a state.
    pub(super) fn live(&self, number: u32) -> u64 {
        self.reached[number as usize].live
    }

    /// Returns the slot that holds a set, or the empty one where it belongs.
    fn slot(&self, key: &[u64]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) as usize & mask;
        while self.slots[slot] != EMPTY && &self.bits[self.slots[slot] as usize * self.stride..][..self.key] != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; 2 * self.slots.len()];
        for number in 0..self.reached.len() {
            let slot = self.slot(&self.bits[number * self.stride..][..self.key]);
            self.slots[slot] = number as u32;
        }
    }
}

/// Mixes the words of a set, with the finaliser of SplitMix (Steele, Lea and Flood 2014).
fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0, |hash: u64, &word| {
        let mut mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    })
}

/// An order and its peak.
pub(super) struct PeakOrder {
    pub(super) order: Vec<usize>,
    pub(super) peak: u64,
}

impl PeakOrder {
    pub(super) fn of(paths: &Paths, path: u32, peak: u64) -> Self {
        debug_assert_ne!(path, ROOT, "an order has operations");
        Self { order: paths.order(path), peak }
    }
}
