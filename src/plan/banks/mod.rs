//! Banks: several textures, several live tensors in each, and no step that reads and writes the same one.
//!
//! Between Shared Objects and one arena: a Shared Objects plan is a plan of banks, so the search starts there and never
//! ends above. First a sweep over all divisions into banks, where they are few: it ends with the least that banks can
//! come to. Then late acceptance hill climbing over which bank each tensor is in; deterministic, bounded by a count of
//! moves and never by time.

mod pack;
mod state;
mod sweep;

use super::{Layout, Place, PlanError, Problem, StepUse, UsageRecord, bounds, random::Random, uses::records_exist};
use state::{Board, State};
use sweep::{Least, least};

/// Moves that cost as much work as packing one plan.
const PACKING: u64 = 200;

/// Entries of the tables above which no search is begun: they would outgrow memory.
const MAX_ENTRIES: usize = 1 << 24;

/// Points of the timeline that can be looked over in the time of one move.
const POINTS_A_MOVE: u64 = 512;

/// Divisions into banks that [`banks`] looks at, at any point of the timeline, before it searches instead.
const DIVISIONS: usize = 1000;

/// A lower bound of what banks come to: the least that the banks' fullest points can be together, as far as it can be
/// told with `divisions` divisions of the tensors alive at a time, and at most `known`, the total of a plan at hand.
///
/// No plan of banks is below it, and where it is `known`, no plan of banks is below that.
///
/// # Errors
/// [`PlanError::ReversedInterval`] or [`PlanError::Overflow`], or [`PlanError::UseOutsideLife`] if a step names a record
/// that is not there.
pub fn bank_bound(records: &[UsageRecord], uses: &[StepUse], known: u64, divisions: usize) -> Result<u64, PlanError> {
    let bounds = bounds(records)?;
    records_exist(records, uses)?;
    if bounds.positional_maximums.len().saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok(bounds.offsets.min(known));
    }
    Ok(least(&Board::new(records, uses), &births(records), bounds.offsets, known, divisions).bound)
}

/// Banks no larger than `seed`, a layout of shared objects or banks, after at most `work` moves.
///
/// # Errors
/// As [`bank_bound`], and [`PlanError::Count`] if the seed is another set's.
pub fn banks(records: &[UsageRecord], uses: &[StepUse], seed: &Layout, work: u64) -> Result<Layout, PlanError> {
    let bounds = bounds(records)?;
    records_exist(records, uses)?;
    let bound = bounds.offsets;
    if seed.places.len() != records.len() {
        return Err(PlanError::Count { what: "places", expected: records.len(), found: seed.places.len() });
    }
    let best = Layout { problem: Problem::Banks, ..seed.clone() };
    if seed.regions.len().max(bounds.positional_maximums.len()).saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok(best);
    }
    let board = Board::new(records, uses);
    let bank_of: Vec<usize> = seed.places.iter().map(|p| p.region).collect();
    let best_total = best.total();
    let mut search = Search { records, board: &board, bound, best, best_total, random: Random::new() };
    if records.is_empty() || search.best_total == bound {
        return Ok(search.best);
    }
    let Least { bound, bank_of: division } = least(&board, &births(records), bound, best_total, DIVISIONS);
    search.bound = bound;
    if let Some(division) = division {
        let banks = division.iter().max().map_or(0, |&bank| bank + 1);
        search.pack(&State::new(&board, division, banks))?;
    }
    let starts: Vec<Option<usize>> = vec![None, Some(2), Some(3), Some(4), Some(5), Some(6)];
    let share = work / starts.len() as u64;
    for start in starts {
        if search.best_total == search.bound {
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
    Ok(search.best)
}

/// The records by birth.
fn births(records: &[UsageRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (records[i].first, i));
    order
}

/// A first split into `banks`: tensors by birth, each into the bank that is then least loaded among those it may enter.
fn split(board: &Board, records: &[UsageRecord], banks: usize) -> Option<Vec<usize>> {
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

struct Search<'a> {
    records: &'a [UsageRecord],
    board: &'a Board,
    bound: u64,
    best: Layout,
    best_total: u64,
    random: Random,
}

/// Tensors that one move may carry along before it is given up.
const CHAIN: usize = 24;

impl Search<'_> {
    fn climb(&mut self, mut state: State, work: u64) -> Result<(), PlanError> {
        const HISTORY: usize = 2000;
        let mut history = vec![state.cost(); HISTORY];
        let mut packed = u64::MAX;
        let mut spent = 0u64;
        let mut since = 0u64;
        while spent < work && self.best_total > self.bound {
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

    /// Packs every bank and keeps the result if it is smaller than the best so far.
    fn pack(&mut self, state: &State) -> Result<(), PlanError> {
        let mut places = vec![Place { region: 0, offset: 0 }; self.records.len()];
        let mut regions = Vec::new();
        for bank in 0..state.banks() {
            let members: Vec<usize> = (0..self.records.len()).filter(|&t| state.bank_of[t] == bank).collect();
            if members.is_empty() {
                continue;
            }
            let records: Vec<UsageRecord> = members.iter().map(|&t| self.records[t]).collect();
            let (offsets, height) = pack::pack(&records, state.peak(bank))?;
            for (&tensor, offset) in members.iter().zip(offsets) {
                places[tensor] = Place { region: regions.len(), offset };
            }
            regions.push(height);
        }
        let total = regions.iter().sum();
        if total < self.best_total {
            self.best = Layout { problem: Problem::Banks, regions, places };
            self.best_total = total;
        }
        Ok(())
    }
}
