//! The bank of each tensor, and the load of each bank in each section of the timeline.

use std::convert::Infallible;

use crate::{
    assignment::{Assignment, Conflicts},
    record::UsageRecord,
    sections::{live_sections, section_starts},
    uses::Uses,
};

/// The fixed data of a search for banks.
pub(super) struct BankInstance {
    pub(super) sizes: Vec<u64>,
    /// For each tensor, the sections of the timeline in which it is alive: the first, and one past the last.
    pub(super) sections: Vec<(usize, usize)>,
    pub(super) section_count: usize,
    /// Tensors that must not share a bank.
    pub(super) conflicts: Conflicts,
    /// For each section, the tensors that are alive in it.
    pub(super) alive: Vec<Vec<usize>>,
}

impl BankInstance {
    pub(super) fn new(records: &[UsageRecord], uses: Uses<'_>) -> Self {
        let starts = section_starts(records);
        let sections: Vec<(usize, usize)> = records.iter().map(|r| live_sections(&starts, r)).collect();
        let mut alive = vec![Vec::new(); starts.len()];
        for (tensor, &(from, to)) in sections.iter().enumerate() {
            alive[from..to].iter_mut().for_each(|list: &mut Vec<usize>| list.push(tensor));
        }
        let mut conflicts = Conflicts::new(records.len());
        let Ok(()) = uses.each(records, |_, reads, writes| {
            conflicts.add(reads.iter().copied(), writes.iter().copied());
            Ok::<(), Infallible>(())
        });
        let (sizes, conflicts) = (records.iter().map(|r| r.size).collect(), conflicts.sorted());
        Self { sizes, sections, section_count: starts.len(), conflicts, alive }
    }
}

/// An assignment of tensors to banks, and the load of each bank in each section.
pub(super) struct BankLoads<'a> {
    instance: &'a BankInstance,
    bank_of: Vec<usize>,
    loads: Vec<Vec<u64>>,
    peaks: Vec<u64>,
}

impl<'a> BankLoads<'a> {
    pub(super) fn new(instance: &'a BankInstance, bank_of: Vec<usize>, banks: usize) -> Self {
        let (loads, peaks) = (vec![vec![0; instance.section_count]; banks], vec![0; banks]);
        let mut assignment = Self { instance, bank_of, loads, peaks };
        for tensor in 0..assignment.bank_of.len() {
            assignment.add(tensor, assignment.bank_of[tensor]);
        }
        assignment
    }

    pub(super) fn banks(&self) -> usize {
        self.peaks.len()
    }

    /// Returns the largest load of `bank` in any section. It is a lower bound on the size of the bank, however it is
    /// packed.
    pub(super) fn peak(&self, bank: usize) -> u64 {
        self.peaks[bank]
    }

    /// Returns a section with the largest load of `bank`: the first one at or after `from`, cyclically.
    pub(super) fn peak_section(&self, bank: usize, from: usize) -> usize {
        let loads = &self.loads[bank];
        let section = (from..loads.len()).chain(0..from).find(|&section| loads[section] == self.peaks[bank]);
        section.unwrap_or(0)
    }

    fn move_tensor(&mut self, tensor: usize, to_bank: usize) {
        let (bank, size) = (self.bank_of[tensor], self.instance.sizes[tensor]);
        let (from, to) = self.instance.sections[tensor];
        let mut was_at_peak = false;
        for load in &mut self.loads[bank][from..to] {
            was_at_peak |= *load == self.peaks[bank];
            *load -= size;
        }
        if was_at_peak {
            self.peaks[bank] = self.loads[bank].iter().copied().max().unwrap_or(0);
        }
        self.add(tensor, to_bank);
    }

    fn add(&mut self, tensor: usize, bank: usize) {
        let (from, to) = self.instance.sections[tensor];
        for load in &mut self.loads[bank][from..to] {
            *load += self.instance.sizes[tensor];
            self.peaks[bank] = self.peaks[bank].max(*load);
        }
        self.bank_of[tensor] = bank;
    }
}

impl Assignment for BankLoads<'_> {
    fn region_of(&self) -> &[usize] {
        &self.bank_of
    }

    /// Returns the sum of the peaks. This is the total if every bank can be packed without gaps at its peak.
    fn cost(&self) -> u64 {
        self.peaks.iter().sum()
    }

    fn make_moves(&mut self, chain: &[(usize, usize)], most: u64) -> Option<u64> {
        let undo: Vec<(usize, usize)> = chain.iter().map(|&(tensor, _)| (tensor, self.bank_of[tensor])).collect();
        chain.iter().for_each(|&(tensor, bank)| self.move_tensor(tensor, bank));
        let cost = self.cost();
        if cost > most {
            undo.into_iter().for_each(|(tensor, bank)| self.move_tensor(tensor, bank));
        }
        (cost <= most).then_some(cost)
    }
}
