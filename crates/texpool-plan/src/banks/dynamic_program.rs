//! Finds the least sum of the banks' peaks by a dynamic program over the timeline. Tensors are assigned to banks in
//! order of birth, and a state is an assignment of the tensors born up to some step. The program uses loads and
//! conflicts, and ignores offsets inside a bank.
//!
//! The future depends only on two things: the grouping of the live tensors into banks, and the current peak of each
//! bank. So of two states with the same live tensors in the same banks, one whose peaks are all at least as high as
//! the other's is dominated and is dropped. On most networks few tensors are alive at once, and few states remain.

use std::cmp::Reverse;

use super::loads::BankInstance;
use crate::control::{Progress, SearchControl};

/// Largest number of tensors alive at once: a state has a bit for each.
const MAX_ALIVE: usize = 128;

/// Number of steps in which the limit on the sum rises from the widest step to the known total. A lower limit leaves
/// fewer states, so the program often finishes at a low limit when the known total would need too many states. A
/// guess.
const LIMIT_STEPS: u64 = 16;

/// Limits the states in all sections and at all limits together, as a multiple of the limit per section. A guess,
/// which bounds the time for hostile records.
const MAX_SECTIONS_OF_STATES: usize = 200;

/// Prunings of the dynamic program. Tests switch them off to show that they do not change the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruning {
    /// Drop states that another state dominates.
    pub(super) dominance: bool,
    /// Among banks that hold the same tensors and have the same peak, add a tensor to only one.
    pub(super) identical_banks: bool,
}

impl Pruning {
    /// All prunings.
    pub(super) const ALL: Self = Self { dominance: true, identical_banks: true };
}

/// Result of the dynamic program.
pub(super) struct LeastPeaks {
    /// Proven lower bound on the sum of peaks of any assignment.
    pub(super) bound: u64,
    /// Bank of each tensor in an assignment that reaches the bound. `None` if no assignment is below the known total,
    /// or if the number of states reached its limit.
    pub(super) bank_of: Option<Vec<usize>>,
}

/// Returns the least sum of the banks' peaks between `widest`, the widest step, and `known`, the total of a plan.
/// Keeps at most `max_states` states in any section. If `control` stops it, returns the bound proven up to then.
pub(super) fn least_peaks(
    instance: &BankInstance,
    by_birth: &[usize],
    widest: u64,
    best_known: u64,
    max_states: usize,
    control: &SearchControl<'_>,
) -> LeastPeaks {
    least_peaks_with(Pruning::ALL, instance, by_birth, (widest, best_known), max_states, control)
}

fn least_peaks_with(
    pruning: Pruning,
    instance: &BankInstance,
    by_birth: &[usize],
    (widest, best_known): (u64, u64),
    max_states: usize,
    control: &SearchControl<'_>,
) -> LeastPeaks {
    let mut bound = widest.min(best_known);
    let widest = bound;
    let gap = best_known - widest;
    let mut budget = StateBudget { per_section: max_states, in_all: max_states.saturating_mul(MAX_SECTIONS_OF_STATES) };
    for step in 0..=LIMIT_STEPS {
        let limit =
            if step == LIMIT_STEPS { best_known } else { best_known.min(widest + gap / LIMIT_STEPS * step + 1) };
        if limit <= bound {
            continue;
        }
        match least_below(limit, pruning, instance, by_birth, &mut budget, control) {
            Outcome::GaveUp => break,
            Outcome::NoneBelow => bound = limit,
            Outcome::Least(bound, bank_of) => return LeastPeaks { bound, bank_of: Some(bank_of) },
        }
    }
    LeastPeaks { bound, bank_of: None }
}

/// Number of states that may still be created.
struct StateBudget {
    per_section: usize,
    in_all: usize,
}

/// Result of the dynamic program for one limit.
enum Outcome {
    /// There were too many states, or the search was stopped.
    GaveUp,
    /// No assignment has a sum below the limit.
    NoneBelow,
    /// The least sum of peaks, and the bank of each tensor.
    Least(u64, Vec<usize>),
}

/// A bank of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bank {
    /// The slots of the tensors alive in it, as a bit set.
    alive: u128,
    load: u64,
    peak: u64,
    /// Its index among the banks of its state, in the order of opening.
    id: usize,
}

/// An assignment of the tensors that were added already.
struct State {
    /// Banks with live tensors come first, ordered by their sets of live tensors. The other banks follow, those with
    /// a larger peak first.
    banks: Vec<Bank>,
    /// Index of its last decision.
    decision: usize,
}

/// The bank chosen for one tensor, and the index of the decision for the previous tensor.
struct Decision {
    before: usize,
    bank: usize,
}

/// Finds the least sum of peaks below `limit`.
fn least_below(
    limit: u64,
    pruning: Pruning,
    instance: &BankInstance,
    by_birth: &[usize],
    budget: &mut StateBudget,
    control: &SearchControl<'_>,
) -> Outcome {
    let mut decisions: Vec<Decision> = Vec::new();
    let mut states = vec![State { banks: Vec::new(), decision: usize::MAX }];
    let mut slots: Vec<Option<usize>> = vec![None; MAX_ALIVE];
    for (done, &tensor) in by_birth.iter().enumerate() {
        control.report(Progress::new("assignments to banks", done as u64, by_birth.len() as u64));
        for (index, slot) in slots.iter_mut().enumerate() {
            if let Some(dead) = slot.filter(|&old| instance.sections[old].1 <= instance.sections[tensor].0) {
                *slot = None;
                states.iter_mut().for_each(|state| state.remove(index, instance.sizes[dead]));
            }
        }
        let Some(slot) = slots.iter().position(Option::is_none) else { return Outcome::GaveUp };
        slots[slot] = Some(tensor);
        let conflicts = |index: &usize| slots[*index].is_some_and(|other| instance.conflicts.between(tensor, other));
        let conflicts = (0..MAX_ALIVE).filter(conflicts).fold(0u128, |set, index| set | 1 << index);
        let added = AddedTensor { slot, conflicts, size: instance.sizes[tensor] };
        let mut next = Vec::new();
        for state in &states {
            state.successors(&added, limit, pruning, &mut decisions, &mut next);
        }
        states = if pruning.dominance { undominated(next, control) } else { next };
        budget.in_all = budget.in_all.saturating_sub(states.len());
        if states.len() > budget.per_section || budget.in_all == 0 || control.should_stop() {
            return Outcome::GaveUp;
        }
    }
    let Some(least) = states.iter().min_by_key(|state| state.sum_of_peaks()) else { return Outcome::NoneBelow };
    let mut bank_of = vec![0; by_birth.len()];
    let mut decision = least.decision;
    for &tensor in by_birth.iter().rev() {
        bank_of[tensor] = decisions[decision].bank;
        decision = decisions[decision].before;
    }
    Outcome::Least(least.sum_of_peaks(), bank_of)
}

/// The tensor to assign next.
struct AddedTensor {
    slot: usize,
    /// The slots of tensors that must not share a bank with it, as a bit set.
    conflicts: u128,
    size: u64,
}

impl State {
    fn sum_of_peaks(&self) -> u64 {
        self.banks.iter().map(|bank| bank.peak).sum()
    }

    /// Removes the dead tensor of `size` in `slot`.
    fn remove(&mut self, slot: usize, size: u64) {
        for bank in self.banks.iter_mut().filter(|bank| bank.alive >> slot & 1 == 1) {
            bank.alive &= !(1 << slot);
            bank.load -= size;
        }
    }

    /// Adds a state to `next` for each bank that can take the tensor, including a new bank, if the sum of peaks stays
    /// below `limit`.
    fn successors(
        &self,
        added: &AddedTensor,
        limit: u64,
        pruning: Pruning,
        decisions: &mut Vec<Decision>,
        next: &mut Vec<State>,
    ) {
        let sum = self.sum_of_peaks();
        let new_bank = Bank { alive: 0, load: 0, peak: 0, id: self.banks.len() };
        for (index, &bank) in self.banks.iter().chain([&new_bank]).enumerate() {
            let identical = |other: &Bank| (other.alive, other.peak) == (bank.alive, bank.peak);
            let load = bank.load + added.size;
            let peak = load.max(bank.peak);
            let is_below = (sum - bank.peak).checked_add(peak).is_some_and(|sum| sum < limit);
            let earlier = &self.banks[..index.min(self.banks.len())];
            if bank.alive & added.conflicts != 0
                || !is_below
                || pruning.identical_banks && earlier.iter().any(identical)
            {
                continue;
            }
            let mut banks = self.banks.clone();
            banks.truncate(index);
            banks.push(Bank { alive: bank.alive | 1 << added.slot, load, peak, ..bank });
            banks.extend(self.banks.iter().skip(index + 1));
            banks.sort_unstable_by_key(|bank| (bank.alive == 0, bank.alive, Reverse(bank.peak), bank.id));
            next.push(State { banks, decision: decisions.len() });
            decisions.push(Decision { before: self.decision, bank: bank.id });
        }
    }

    /// Returns the set of live tensors of each bank that has any.
    fn alive(&self) -> impl Iterator<Item = u128> {
        self.banks.iter().map(|bank| bank.alive).take_while(|&alive| alive != 0)
    }

    /// Returns whether no bank's peak exceeds that of the same bank of `other`. Both states must have the same live
    /// tensors in the same banks.
    fn dominates(&self, other: &Self) -> bool {
        let peaks = other.banks.iter().map(|bank| bank.peak).chain(std::iter::repeat(0));
        self.banks.iter().zip(peaks).all(|(bank, peak)| bank.peak <= peak)
    }
}

/// Returns the states that no other state dominates, or only some of them if `control` stops the search.
fn undominated(mut states: Vec<State>, control: &SearchControl<'_>) -> Vec<State> {
    // A state cannot dominate one with a smaller sum of peaks, so states with small sums come first.
    states.sort_by(|a, b| a.alive().cmp(b.alive()).then(a.sum_of_peaks().cmp(&b.sum_of_peaks())));
    let mut pareto: Vec<State> = Vec::new();
    // Start of the kept states that have the same live tensors in the same banks as the current one.
    let mut comparable = 0;
    for state in states {
        if control.should_stop() {
            break;
        }
        if pareto.get(comparable).is_some_and(|first| !first.alive().eq(state.alive())) {
            comparable = pareto.len();
        }
        if !pareto[comparable..].iter().any(|other| other.dominates(&state)) {
            pareto.push(state);
        }
    }
    pareto
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds::bounds, random::Random, record::UsageRecord, uses::Uses};

    #[test]
    fn no_cut_changes_an_answer() {
        let mut random = Random::new();
        let mut above_widest = 0;
        for _ in 0..200 {
            let record = |_| {
                let first = random.below(8);
                UsageRecord::new(first, first + random.below(5), 1 + random.below(9) as u64)
            };
            let mut records: Vec<UsageRecord> = (0..7).map(record).collect();
            records.sort_by_key(|r| r.first);
            let by_birth: Vec<usize> = (0..records.len()).collect();
            let instance = BankInstance::new(&records, Uses::FirstAndLast);
            let bounds = bounds(&records).expect("small sizes");
            let solve = |pruning| {
                let range = (bounds.offsets, bounds.naive + 1);
                let least = least_peaks_with(pruning, &instance, &by_birth, range, 1_000_000, &SearchControl::new());
                assert!(least.bank_of.is_some());
                least.bound
            };
            let least = solve(Pruning::ALL);
            above_widest += usize::from(least > bounds.offsets);
            for (dominance, identical_banks) in [(false, true), (true, false), (false, false)] {
                let pruning = Pruning { dominance, identical_banks };
                assert_eq!(solve(pruning), least, "{pruning:?}: {records:?}");
            }
        }
        assert!(above_widest > 20, "{above_widest}");
    }
}
