//! Searches over assignments of tensors to banks by late acceptance hill climbing, and packs the promising ones.

use super::{
    loads::{BankInstance, BankLoads},
    pack::pack,
};
use crate::{
    assignment::{Assignment, kempe_chain, try_move},
    control::{Progress, SearchControl},
    error::PlanError,
    internal::LateAcceptance,
    layout::{Layout, LayoutKind, Place},
    offsets,
    random::Random,
    record::UsageRecord,
};

/// State of a search for smaller banks, including the smallest banks found.
pub(super) struct BankSearch<'a, 'c> {
    pub(super) records: &'a [UsageRecord],
    pub(super) instance: &'a BankInstance,
    pub(super) bound: u64,
    pub(super) best: Layout,
    pub(super) best_total: u64,
    /// The assignment with the least cost among those packed with gaps: its cost, the bank of each tensor, and the
    /// number of banks. A better packing of it may beat the best plan.
    pub(super) packed_with_gaps: Option<(u64, Vec<usize>, usize)>,
    pub(super) random: Random,
    pub(super) control: &'a SearchControl<'c>,
}

/// Number of moves between two reports: less than a millisecond on a network.
const MOVES_PER_REPORT: u64 = 500;

/// Largest number of tensors that one move may reassign. A longer Kempe chain usually just exchanges two whole banks,
/// which changes nothing. A guess.
const MAX_CHAIN: usize = 24;

/// Number of earlier costs that late acceptance compares with. According to Burke and Bykov, a longer history takes
/// longer and ends lower. A guess.
const HISTORY: usize = 2000;

/// Number of accepted moves after which an assignment is packed, even if one of the same or lower cost was packed
/// before: assignments of equal cost differ in how well they pack. A guess.
const MAX_MOVES_WITHOUT_PACKING: u64 = 500;

/// Number of moves charged for a packing, so that the limit on moves bounds the time. An estimate of the time that a
/// packing takes on a network of a hundred tensors.
const MOVES_PER_PACKING: u64 = 200;

/// Number of timeline sections whose loads can be updated in the time of one move. A guess.
const SECTIONS_PER_MOVE: u64 = 512;

impl BankSearch<'_, '_> {
    /// Improves an assignment by at most `work` moves.
    pub(super) fn climb(&mut self, mut loads: BankLoads<'_>, work: u64) -> Result<(), PlanError> {
        let mut acceptance = LateAcceptance::new(loads.cost(), HISTORY);
        let mut least_packed = u64::MAX;
        let mut spent = 0u64;
        let mut moves_since_packing = 0u64;
        let mut next_report = 0;
        while spent < work && self.best_total > self.bound && !self.control.should_stop() {
            if spent >= next_report {
                let best = Some(self.best_total);
                self.control.report(Progress { stage: "search for banks", done: spent, total: work, best });
                next_report = spent + MOVES_PER_REPORT;
            }
            // A move takes time in proportion to the timeline, and the limit on moves should bound the time.
            spent += 1 + self.instance.section_count as u64 / SECTIONS_PER_MOVE;
            let Some(chain) = self.propose(&loads) else { continue };
            let Some(cost) = try_move(&mut acceptance, spent, &mut loads, &chain) else { continue };
            moves_since_packing += 1;
            if cost < self.best_total && (cost < least_packed || moves_since_packing > MAX_MOVES_WITHOUT_PACKING) {
                moves_since_packing = 0;
                least_packed = least_packed.min(cost);
                spent += MOVES_PER_PACKING;
                self.pack(&loads)?;
            }
        }
        Ok(())
    }

    /// Proposes a move of a tensor that is alive where its bank's load is largest, with all moves that conflicts
    /// require.
    fn propose(&mut self, loads: &BankLoads<'_>) -> Option<Vec<(usize, usize)>> {
        let (from, to) = (self.random.below(loads.banks()), self.random.below(loads.banks()));
        if from == to {
            return None;
        }
        let bank_of = loads.region_of();
        // Only a tensor that is alive at the peak can lower it.
        let section = loads.peak_section(from, self.random.below(self.instance.section_count));
        let alive: Vec<usize> =
            self.instance.alive[section].iter().copied().filter(|&tensor| bank_of[tensor] == from).collect();
        let first = *alive.get(self.random.below(alive.len()))?;
        let mut chain = Vec::new();
        kempe_chain(&self.instance.conflicts, bank_of, (first, to), MAX_CHAIN, &mut chain).then_some(chain)
    }

    /// Packs an assignment by the greedy strategies.
    pub(super) fn pack(&mut self, loads: &BankLoads<'_>) -> Result<(), PlanError> {
        let total = self.pack_banks(loads.region_of(), loads.banks(), |bank| loads.peak(bank), pack)?;
        let cost = loads.cost();
        if total.is_some_and(|total| total > cost) && self.packed_with_gaps.as_ref().is_none_or(|least| cost < least.0)
        {
            self.packed_with_gaps = Some((cost, loads.region_of().to_vec(), loads.banks()));
        }
        Ok(())
    }

    /// Packs two assignments again, the one with gaps and the best one, with the search for the smallest arena in
    /// each bank.
    pub(super) fn pack_by_search(&mut self, nodes: u64) -> Result<(), PlanError> {
        let best: Vec<usize> = self.best.places.iter().map(|place| place.region).collect();
        let banks = self.best.regions.len();
        let with_gaps = self.packed_with_gaps.take().map(|(_, bank_of, banks)| (bank_of, banks));
        for (bank_of, banks) in with_gaps.into_iter().chain([(best, banks)]) {
            if self.best_total == self.bound || self.control.should_stop() {
                break;
            }
            let loads = BankLoads::new(self.instance, bank_of.clone(), banks);
            let control = self.control;
            let pack_smallest = |records: &[UsageRecord], peak: u64| {
                let greedy = pack(records, peak)?;
                if greedy.1 == peak || control.should_stop() {
                    return Ok(greedy);
                }
                let smallest = offsets::smallest(records, nodes, &control.share(1, 2))?.layout;
                let size = smallest.total();
                Ok(if size < greedy.1 { (smallest.places.iter().map(|p| p.offset).collect(), size) } else { greedy })
            };
            self.pack_banks(&bank_of, banks, |bank| loads.peak(bank), pack_smallest)?;
        }
        Ok(())
    }

    /// Packs each bank with `pack`, and keeps the result if it is the smallest yet. Returns the total, or `None` if
    /// the search is stopped meanwhile.
    fn pack_banks(
        &mut self,
        bank_of: &[usize],
        banks: usize,
        peak: impl Fn(usize) -> u64,
        pack: impl Fn(&[UsageRecord], u64) -> Result<(Vec<u64>, u64), PlanError>,
    ) -> Result<Option<u64>, PlanError> {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); banks];
        bank_of.iter().enumerate().for_each(|(tensor, &bank)| members[bank].push(tensor));
        let mut places = vec![Place { region: 0, offset: 0 }; self.records.len()];
        let mut regions = Vec::new();
        for (bank, members) in members.into_iter().enumerate().filter(|(_, members)| !members.is_empty()) {
            if self.control.should_stop() {
                return Ok(None);
            }
            let records: Vec<UsageRecord> = members.iter().map(|&t| self.records[t]).collect();
            let (offsets, size) = pack(&records, peak(bank))?;
            for (&tensor, offset) in members.iter().zip(offsets) {
                places[tensor] = Place { region: regions.len(), offset };
            }
            regions.push(size);
        }
        let total = regions.iter().sum();
        if total < self.best_total {
            self.best = Layout { problem: LayoutKind::Banks, regions, places };
            self.best_total = total;
        }
        Ok(Some(total))
    }
}
