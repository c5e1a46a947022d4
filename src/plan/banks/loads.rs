//! Which bank each tensor is in, and how loaded each bank is at each point of the timeline.

use std::convert::Infallible;

use crate::plan::{
    assignment::{Assignment, Conflicts},
    load,
    record::UsageRecord,
    uses::Uses,
};

/// What does not change during a search.
pub(super) struct Instance {
    pub(super) sizes: Vec<u64>,
    /// Points of the timeline at which each tensor is alive: from, and one past the last.
    pub(super) spans: Vec<(usize, usize)>,
    pub(super) points: usize,
    /// The tensors that may not share a bank.
    pub(super) conflicts: Conflicts,
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
        let mut conflicts = Conflicts::new(records.len());
        let Ok(()) = uses.each(records, |_, reads, writes| {
            conflicts.add(reads.iter().copied(), writes.iter().copied());
            Ok::<(), Infallible>(())
        });
        let (sizes, conflicts) = (records.iter().map(|r| r.size).collect(), conflicts.sorted());
        Self { sizes, spans, points: births.len(), conflicts, alive }
    }
}

/// The tensors in banks, and the load of each bank at each point.
pub(super) struct State<'a> {
    instance: &'a Instance,
    bank_of: Vec<usize>,
    loads: Vec<Vec<u64>>,
    peaks: Vec<u64>,
}

impl<'a> State<'a> {
    pub(super) fn new(instance: &'a Instance, bank_of: Vec<usize>, banks: usize) -> Self {
        let (loads, peaks) = (vec![vec![0; instance.points]; banks], vec![0; banks]);
        let mut state = Self { instance, bank_of, loads, peaks };
        for tensor in 0..state.bank_of.len() {
            state.enter(tensor, state.bank_of[tensor]);
        }
        state
    }

    pub(super) fn banks(&self) -> usize {
        self.peaks.len()
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

    fn enter(&mut self, tensor: usize, bank: usize) {
        let (from, until) = self.instance.spans[tensor];
        for load in &mut self.loads[bank][from..until] {
            *load += self.instance.sizes[tensor];
            self.peaks[bank] = self.peaks[bank].max(*load);
        }
        self.bank_of[tensor] = bank;
    }
}

impl Assignment for State<'_> {
    fn region_of(&self) -> &[usize] {
        &self.bank_of
    }

    /// What the banks cost if each packs as tightly as its fullest point.
    fn cost(&self) -> u64 {
        self.peaks.iter().sum()
    }

    fn shift(&mut self, tensor: usize, to: usize) {
        let (bank, size) = (self.bank_of[tensor], self.instance.sizes[tensor]);
        let (from, until) = self.instance.spans[tensor];
        let mut was_peak = false;
        for load in &mut self.loads[bank][from..until] {
            was_peak |= *load == self.peaks[bank];
            *load -= size;
        }
        if was_peak {
            self.peaks[bank] = self.loads[bank].iter().copied().max().unwrap_or(0);
        }
        self.enter(tensor, to);
    }
}
