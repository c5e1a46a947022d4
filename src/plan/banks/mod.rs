//! Banks: several textures, several live tensors in each, and no step that reads and writes the same one.
//!
//! Between Shared Objects and one arena: a Shared Objects plan is a plan of banks, so the search starts there and never
//! ends above. First a sweep over all divisions into banks, where they are few: it ends with the least that banks can
//! come to. Then late acceptance hill climbing over which bank each tensor is in; deterministic, bounded by a count of
//! moves. Where no step reads and writes at all, one arena is a bank, and nothing is smaller than the smallest of those.

mod pack;
mod state;
mod sweep;

use super::{
    Bounds, Layout, LayoutKind, Place, PlanError, Progress, SearchControl, StopReason, UsageRecord, Uses, bounds,
    offsets, random::Random,
};
use state::{Instance, State};
use sweep::{Least, least};

/// Moves that cost as much work as packing one plan.
const PACKING: u64 = 200;

/// Entries of the tables above which no search is begun: they take some 32 bytes each.
const MAX_ENTRIES: usize = 1 << 22;

/// Points of the timeline that can be looked over in the time of one move.
const POINTS_A_MOVE: u64 = 512;

/// Divisions into banks that [`banks`] looks at, at any point of the timeline, before it searches instead.
const DIVISIONS: usize = 1000;

/// A lower bound of what banks come to: the least that the banks' fullest points can be together, as far as it can be
/// told with `divisions` divisions of the tensors alive at a time before `control` stops it, and at most `known`, the
/// total of a plan at hand.
///
/// No plan of banks is below it, and where it is `known`, no plan of banks is below that.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`], or [`PlanError::UseOutsideLife`] if a step names a record
/// that is not there.
pub fn bank_bound<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    known: u64,
    divisions: usize,
    control: &SearchControl<'_>,
) -> Result<u64, PlanError> {
    let (bounds, uses) = (bounds(records)?, uses.into());
    uses.records_exist(records)?;
    if bounds.positional_maximums.len().saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok(bounds.offsets.min(known));
    }
    Ok(least(&Instance::new(records, uses), &births(records), bounds.offsets, known, divisions, control).bound)
}

/// Banks no larger than `seed`, a layout of shared objects or banks, after at most `work` moves, or when `control` stops
/// the search.
///
/// # Errors
/// As [`bank_bound`], and [`PlanError::LengthMismatch`] if the seed is another set's.
pub fn banks<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    seed: &Layout,
    work: u64,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let uses = uses.into();
    uses.records_exist(records)?;
    Ok(search_banks(records, uses, Known { seed, arena: None, bounds: &bounds(records)? }, work, control)?.0)
}

/// What is known before the search for banks.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// Where it starts: a layout of shared objects or banks.
    pub(super) seed: &'a Layout,
    /// The smallest arena found, where somebody has looked.
    pub(super) arena: Option<&'a Layout>,
    /// The records' bounds.
    pub(super) bounds: &'a Bounds,
}

/// As [`banks`], for uses that name no record that is not there; and why the search ended early, where it did.
pub(super) fn search_banks(
    records: &[UsageRecord],
    uses: Uses<'_>,
    known: Known<'_>,
    work: u64,
    control: &SearchControl<'_>,
) -> Result<(Layout, Option<StopReason>), PlanError> {
    let Known { seed, arena, bounds } = known;
    let bound = bounds.offsets;
    if seed.places.len() != records.len() {
        return Err(PlanError::LengthMismatch { what: "places", expected: records.len(), found: seed.places.len() });
    }
    let best = Layout { problem: LayoutKind::Banks, ..seed.clone() };
    let best_total = best.total();
    if records.is_empty() || best_total == bound {
        return Ok((best, None));
    }
    if nothing_is_apart(records, uses) {
        let (found, stopped) = match arena {
            Some(arena) => (arena.clone(), None),
            None => {
                let found = offsets::smallest(records, work, control)?;
                (found.layout, found.stopped)
            }
        };
        let smaller = found.total() < best_total;
        return Ok((if smaller { Layout { problem: LayoutKind::Banks, ..found } } else { best }, stopped));
    }
    if seed.regions.len().max(bounds.positional_maximums.len()).saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok((best, None));
    }
    let board = Instance::new(records, uses);
    let bank_of: Vec<usize> = seed.places.iter().map(|p| p.region).collect();
    let random = Random::new();
    let mut search = Search { records, board: &board, bound, best, best_total, loose: None, random, control };
    let swept = control.share(1, 3);
    let Least { bound, bank_of: division } = least(&board, &births(records), bound, best_total, DIVISIONS, &swept);
    search.bound = bound;
    if let Some(division) = division {
        let banks = division.iter().max().map_or(0, |&bank| bank + 1);
        search.pack(&State::new(&board, division, banks))?;
    }
    let starts: Vec<Option<usize>> = vec![None, Some(2), Some(3), Some(4), Some(5), Some(6)];
    let share = work / starts.len() as u64;
    for start in starts {
        if search.best_total == search.bound || control.should_stop() {
            break;
        }
        let state = match start {
            None => State::new(&board, bank_of.clone(), seed.regions.len()),
            Some(banks) => match split(&board, records, banks) {
                Some(split) => State::new(&board, split, banks),
                None => continue,
            },
        };
        search.climb(state, share)?;
    }
    search.tighten(work)?;
    let stopped = control.stopped().or(swept.stopped()).filter(|_| search.best_total > search.bound);
    Ok((search.best, stopped))
}

/// Whether no step reads one tensor and writes another, so that all may lie in one bank.
fn nothing_is_apart(records: &[UsageRecord], uses: Uses<'_>) -> bool {
    let apart = |_, reads: &[usize], writes: &[usize]| match (reads, writes) {
        ([], _) | (_, []) => Ok(()),
        ([read], [write]) if read == write => Ok(()),
        _ => Err(()),
    };
    uses.each(records, apart).is_ok()
}

/// The records by birth.
fn births(records: &[UsageRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (records[i].first, i));
    order
}

/// A first split into `banks`: tensors by birth, each into the bank that is then least loaded among those it may enter.
fn split(board: &Instance, records: &[UsageRecord], banks: usize) -> Option<Vec<usize>> {
    let mut bank_of: Vec<Option<usize>> = vec![None; records.len()];
    for tensor in births(records) {
        let load = |bank: usize| -> u64 {
            let here = board.alive[board.spans[tensor].0].iter();
            here.filter(|&&other| bank_of[other] == Some(bank)).map(|&other| board.sizes[other]).sum()
        };
        let open = |&bank: &usize| board.apart[tensor].iter().all(|&other| bank_of[other] != Some(bank));
        let bank = (0..banks).filter(open).min_by_key(|&bank| (load(bank), bank))?;
        bank_of[tensor] = Some(bank);
    }
    bank_of.into_iter().collect()
}

struct Search<'a, 'c> {
    records: &'a [UsageRecord],
    board: &'a Instance,
    bound: u64,
    best: Layout,
    best_total: u64,
    /// The split with the least cost that could be below the best, had it packed without gaps: cost, bank of each tensor,
    /// and how many banks.
    loose: Option<(u64, Vec<usize>, usize)>,
    random: Random,
    control: &'a SearchControl<'c>,
}

/// Moves from one report to the next: less than a millisecond on a network.
const TOLD: u64 = 500;

/// Tensors that one move may carry along before it is given up.
const CHAIN: usize = 24;

impl Search<'_, '_> {
    fn climb(&mut self, mut state: State, work: u64) -> Result<(), PlanError> {
        const HISTORY: usize = 2000;
        let mut history = vec![state.cost(); HISTORY];
        let mut packed = u64::MAX;
        let mut spent = 0u64;
        let mut since = 0u64;
        let mut told = 0;
        while spent < work && self.best_total > self.bound && !self.control.should_stop() {
            if spent >= told {
                let best = Some(self.best_total);
                self.control.report(Progress { stage: "search for banks", done: spent, total: work, best });
                told = spent + TOLD;
            }
            spent += 1 + self.board.points as u64 / POINTS_A_MOVE;
            let before = state.cost();
            let Some(moves) = self.propose(&state) else { continue };
            let back: Vec<(usize, usize)> = moves.iter().map(|&(t, _)| (t, state.bank_of[t])).collect();
            for &(tensor, bank) in &moves {
                state.shift(self.board, tensor, bank);
            }
            let cost = state.cost();
            let slot = (spent % HISTORY as u64) as usize;
            if cost <= before || cost <= history[slot] {
                since += 1;
                if cost < self.best_total && (cost < packed || since > 500) {
                    since = 0;
                    packed = packed.min(cost);
                    spent += PACKING;
                    self.pack(&state)?;
                }
            } else {
                for (tensor, bank) in back {
                    state.shift(self.board, tensor, bank);
                }
            }
            history[slot] = state.cost().min(history[slot]);
        }
        Ok(())
    }

    /// Tensors and the banks they go to: one tensor, and along with it those it may not meet, the other way.
    fn propose(&mut self, state: &State) -> Option<Vec<(usize, usize)>> {
        let (from, to) = (self.random.below(state.banks()), self.random.below(state.banks()));
        if from == to {
            return None;
        }
        let point = state.fullest(from, self.random.below(self.board.points));
        let here: Vec<usize> = self.board.alive[point].iter().copied().filter(|&t| state.bank_of[t] == from).collect();
        let first = *here.get(self.random.below(here.len()))?;
        let mut moves = vec![(first, to)];
        let mut next = 0;
        while next < moves.len() {
            let (tensor, target) = moves[next];
            next += 1;
            for &other in &self.board.apart[tensor] {
                if state.bank_of[other] == target && !moves.iter().any(|m| m.0 == other) {
                    if moves.len() == CHAIN {
                        return None;
                    }
                    moves.push((other, if target == to { from } else { to }));
                }
            }
        }
        Some(moves)
    }

    /// Packs every bank and keeps the result if it is smaller than the best so far; else remembers the split, if
    /// none would be smaller without gaps.
    fn pack(&mut self, state: &State) -> Result<(), PlanError> {
        let quick = |records: &[UsageRecord], peak| pack::pack(records, peak);
        let total = self.packed(&state.bank_of, state.banks(), |bank| state.peak(bank), quick)?;
        let cost = state.cost();
        if total.is_some_and(|total| total > cost) && self.loose.as_ref().is_none_or(|loose| cost < loose.0) {
            self.loose = Some((cost, state.bank_of.clone(), state.banks()));
        }
        Ok(())
    }

    /// Packs the split that is remembered again, and the best one, each bank by the search for the smallest arena.
    fn tighten(&mut self, nodes: u64) -> Result<(), PlanError> {
        let best: Vec<usize> = self.best.places.iter().map(|place| place.region).collect();
        let banks = self.best.regions.len();
        let loose = self.loose.take().map(|(_, bank_of, banks)| (bank_of, banks));
        for (bank_of, banks) in loose.into_iter().chain([(best, banks)]) {
            if self.best_total == self.bound || self.control.should_stop() {
                break;
            }
            let peaks = State::new(self.board, bank_of.clone(), banks);
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

    /// Packs every bank by `pack`, keeps the result if it is smaller than the best so far, and answers its total; `None`
    /// where the search is stopped on the way.
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
