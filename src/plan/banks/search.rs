//! The search over which bank each tensor is in: late acceptance hill climbing, and packing of what could be the best.

use super::{
    pack,
    state::{Instance, State},
};
use crate::plan::{
    assignment::{Assignment, LateAcceptance, kempe_chain},
    control::{Progress, SearchControl},
    error::PlanError,
    layout::{Layout, LayoutKind, Place},
    offsets,
    random::Random,
    record::UsageRecord,
};

/// A search for smaller banks, and the best of it so far.
pub(super) struct Search<'a, 'c> {
    pub(super) records: &'a [UsageRecord],
    pub(super) instance: &'a Instance,
    pub(super) bound: u64,
    pub(super) best: Layout,
    pub(super) best_total: u64,
    /// The assignment with the least cost that could be below the best, had it packed without gaps: cost, bank of each
    /// tensor, and how many banks.
    pub(super) loose: Option<(u64, Vec<usize>, usize)>,
    pub(super) random: Random,
    pub(super) control: &'a SearchControl<'c>,
}

/// Moves from one report to the next: less than a millisecond on a network.
const TOLD: u64 = 500;

/// Tensors that one move may carry along before it is given up.
const LONGEST_CHAIN: usize = 24;

/// Costs that a move is compared with.
const HISTORY: usize = 2000;

/// Moves accepted after which an assignment is packed again, though one of no more cost was.
const ENOUGH: u64 = 500;

/// Moves that cost as much work as packing one plan.
const PACKING: u64 = 200;

/// Points of the timeline that can be looked over in the time of one move.
const POINTS_A_MOVE: u64 = 512;

impl Search<'_, '_> {
    /// Climbs from an assignment, by at most `work` moves.
    pub(super) fn climb(&mut self, mut state: State<'_>, work: u64) -> Result<(), PlanError> {
        let mut acceptance = LateAcceptance::new(state.cost(), HISTORY);
        let mut packed = u64::MAX;
        let mut spent = 0u64;
        // Moves accepted since a packing.
        let mut accepted = 0u64;
        let mut told = 0;
        while spent < work && self.best_total > self.bound && !self.control.should_stop() {
            if spent >= told {
                let best = Some(self.best_total);
                self.control.report(Progress { stage: "search for banks", done: spent, total: work, best });
                told = spent + TOLD;
            }
            spent += 1 + self.instance.points as u64 / POINTS_A_MOVE;
            let Some(chain) = self.propose(&state) else { continue };
            let Some(cost) = acceptance.try_move(spent, &mut state, &chain) else { continue };
            accepted += 1;
            if cost < self.best_total && (cost < packed || accepted > ENOUGH) {
                accepted = 0;
                packed = packed.min(cost);
                spent += PACKING;
                self.pack(&state)?;
            }
        }
        Ok(())
    }

    /// A tensor of a bank's fullest point to another bank, with those that go along.
    fn propose(&mut self, state: &State<'_>) -> Option<Vec<(usize, usize)>> {
        let (from, to) = (self.random.below(state.banks()), self.random.below(state.banks()));
        if from == to {
            return None;
        }
        let bank_of = state.region_of();
        let point = state.fullest(from, self.random.below(self.instance.points));
        let here: Vec<usize> =
            self.instance.alive[point].iter().copied().filter(|&tensor| bank_of[tensor] == from).collect();
        let first = *here.get(self.random.below(here.len()))?;
        kempe_chain(&self.instance.conflicts, bank_of, first, to, LONGEST_CHAIN)
    }

    /// Packs every bank and keeps the result if it is smaller than the best so far; else remembers the
    /// assignment, if none would be smaller without gaps.
    pub(super) fn pack(&mut self, state: &State<'_>) -> Result<(), PlanError> {
        let quick = |records: &[UsageRecord], peak| pack::pack(records, peak);
        let total = self.packed(state.region_of(), state.banks(), |bank| state.peak(bank), quick)?;
        let cost = state.cost();
        if total.is_some_and(|total| total > cost) && self.loose.as_ref().is_none_or(|loose| cost < loose.0) {
            self.loose = Some((cost, state.region_of().to_vec(), state.banks()));
        }
        Ok(())
    }

    /// Packs the assignment that is remembered again, and the best one, each bank by the search for the smallest arena.
    pub(super) fn tighten(&mut self, nodes: u64) -> Result<(), PlanError> {
        let best: Vec<usize> = self.best.places.iter().map(|place| place.region).collect();
        let banks = self.best.regions.len();
        let loose = self.loose.take().map(|(_, bank_of, banks)| (bank_of, banks));
        for (bank_of, banks) in loose.into_iter().chain([(best, banks)]) {
            if self.best_total == self.bound || self.control.should_stop() {
                break;
            }
            let peaks = State::new(self.instance, bank_of.clone(), banks);
            let control = self.control;
            let exact = |records: &[UsageRecord], peak: u64| {
                let quick = pack::pack(records, peak)?;
                if quick.1 == peak || control.should_stop() {
                    return Ok(quick);
                }
                let found = offsets::smallest(records, nodes, &control.share(1, 2))?.layout;
                let height = found.total();
                Ok(if height < quick.1 { (found.places.iter().map(|p| p.offset).collect(), height) } else { quick })
            };
            self.packed(&bank_of, banks, |bank| peaks.peak(bank), exact)?;
        }
        Ok(())
    }

    /// Packs every bank by `pack`, keeps the result if it is smaller than the best so far, and answers its total;
    /// `None` where the search is stopped on the way.
    fn packed(
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
            let (offsets, height) = pack(&records, peak(bank))?;
            for (&tensor, offset) in members.iter().zip(offsets) {
                places[tensor] = Place { region: regions.len(), offset };
            }
            regions.push(height);
        }
        let total = regions.iter().sum();
        if total < self.best_total {
            self.best = Layout { problem: LayoutKind::Banks, regions, places };
            self.best_total = total;
        }
        Ok(Some(total))
    }
}
