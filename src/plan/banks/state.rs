//! Which bank each tensor is in, and how loaded each bank is at each point of the timeline.

use std::convert::Infallible;

use crate::plan::{UsageRecord, Uses, load};

/// What does not change during a search.
pub(super) struct Instance {
    pub(super) sizes: Vec<u64>,
    /// Points of the timeline at which each tensor is alive: from, and one past the last.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) points: usize,
    /// For each tensor, those that some step reads while it writes the tensor, or writes while it reads it.
    pub(super) apart: Vec<Vec<usize>>,
    /// Tensors alive at each point.
    pub(super) alive: Vec<Vec<usize>>,
}

impl Instance {
    pub(super) fn new(records: &[UsageRecord], uses: Uses<'_>) -> Self {
        // Loads rise only where a tensor is born, so births are all the points that matter.
        let births = load::births(records);
        let spans: Vec<(usize, usize)> = records.iter().map(|r| load::span(&births, r)).collect();
        let mut alive = vec![Vec::new(); births.len()];
        for (tensor, &(from, to)) in spans.iter().enumerate() {
            alive[from..to].iter_mut().for_each(|list: &mut Vec<usize>| list.push(tensor));
        }
        let mut apart = vec![Vec::new(); records.len()];
        let Ok(()) = uses.each(records, |_, reads, writes| {
            for &write in writes {
                for &read in reads.iter().filter(|&&read| read != write) {
                    apart[write].push(read);
                    apart[read].push(write);
                }
            }
            Ok::<(), Infallible>(())
        });
        for list in &mut apart {
            list.sort_unstable();
            list.dedup();
        }
        Self { sizes: records.iter().map(|r| r.size).collect(), spans, points: births.len(), apart, alive }
    }
}

/// A split of the tensors into banks.
#[derive(Clone)]
pub(super) struct State {
    pub(super) bank_of: Vec<usize>,
    loads: Vec<Vec<u64>>,
    peaks: Vec<u64>,
}

impl State {
    pub(super) fn new(board: &Instance, bank_of: Vec<usize>, banks: usize) -> Self {
        let mut state =
            Self { bank_of: bank_of.clone(), loads: vec![vec![0; board.points]; banks], peaks: vec![0; banks] };
        for (tensor, bank) in bank_of.into_iter().enumerate() {
            state.enter(board, tensor, bank);
        }
        state
    }

    pub(super) fn banks(&self) -> usize {
        self.peaks.len()
    }

    /// What the banks cost if each packs as tightly as its fullest point.
    pub(super) fn cost(&self) -> u64 {
        self.peaks.iter().sum()
    }

    /// Load of `bank` at its fullest point.
    pub(super) fn peak(&self, bank: usize) -> u64 {
        self.peaks[bank]
    }

    /// A point at which `bank` is fullest, the first at or after `from`, cyclically.
    pub(super) fn fullest(&self, bank: usize, from: usize) -> usize {
        let loads = &self.loads[bank];
        let later = (from..loads.len()).chain(0..from).find(|&p| loads[p] == self.peaks[bank]);
        later.unwrap_or(0)
    }

    pub(super) fn shift(&mut self, board: &Instance, tensor: usize, to: usize) {
        let (bank, size) = (self.bank_of[tensor], board.sizes[tensor]);
        let (from, until) = board.spans[tensor];
        let mut was_peak = false;
        for load in &mut self.loads[bank][from..until] {
            was_peak |= *load == self.peaks[bank];
            *load -= size;
        }
        if was_peak {
            self.peaks[bank] = self.loads[bank].iter().copied().max().unwrap_or(0);
        }
        self.enter(board, tensor, to);
    }

    fn enter(&mut self, board: &Instance, tensor: usize, bank: usize) {
        let (from, until) = board.spans[tensor];
        for load in &mut self.loads[bank][from..until] {
            *load += board.sizes[tensor];
            self.peaks[bank] = self.peaks[bank].max(*load);
        }
        self.bank_of[tensor] = bank;
    }
}
