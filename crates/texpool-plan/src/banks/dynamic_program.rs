//! The least sum of the banks' peaks, by a dynamic program over the timeline: its states are the assignments of the
//! tensors so far to banks, and the tensors are assigned in order of birth. Knows loads and conflicts, and nothing of
//! offsets inside a bank.
//!
//! What comes later depends on which tensors that are still alive share a bank and on the peak of each bank so far, and
//! on nothing else. So of states with the same tensors alive in the same banks, one whose peaks are nowhere lower than
//! those of another is dominated by it and is dropped. On most networks few tensors are alive at once, and few states
//! are left.

use std::cmp::Reverse;

use super::loads::BankInstance;
use crate::control::{Progress, SearchControl};

/// Tensors that may be alive at once: a state has a bit for each.
const MAX_ALIVE: usize = 128;

/// The limit for the sum rises from the widest step to the known total in so many steps. A lower limit leaves fewer
/// states, so the program often ends at a low limit where there would be too many states at the known total. A guess.
const LIMIT_STEPS: u64 = 16;

/// The number of states in all sections and at all limits together is at most this times the number in one section. A
/// guess, which bounds the time for hostile records.
const MAX_SECTIONS_OF_STATES: usize = 200;

/// The cuts of the dynamic program, so that tests can show that none of them changes its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruning {
    /// States that another one dominates are dropped.
    pub(super) dominance: bool,
    /// A tensor is added to one only of several banks that hold the same tensors and have the same peak.
    pub(super) identical_banks: bool,
}

impl Pruning {
    /// Every cut.
    pub(super) const ALL: Self = Self { dominance: true, identical_banks: true };
}

/// The answer of the dynamic program.
pub(super) struct LeastPeaks {
    /// No assignment has a smaller sum of peaks.
    pub(super) bound: u64,
    /// The bank of each tensor in an assignment with that sum. `None` if there is none below the known total, or if
    /// there were more states than are allowed.
    pub(super) bank_of: Option<Vec<usize>>,
}

/// The least sum of the banks' peaks between `widest`, the widest step, and `known`, the total of a plan, with at most
/// `max_states` states in any section. If `control` stops it, the bound proven by then.
pub(super) fn least_peaks(
    instance: &BankInstance,
    by_birth: &[usize],
    widest: u64,
    known: u64,
    max_states: usize,
    control: &SearchControl<'_>,
) -> LeastPeaks {
    least_peaks_with(Pruning::ALL, instance, by_birth, (widest, known), max_states, control)
}

fn least_peaks_with(
    pruning: Pruning,
    instance: &BankInstance,
    by_birth: &[usize],
    (widest, known): (u64, u64),
    max_states: usize,
    control: &SearchControl<'_>,
) -> LeastPeaks {
    let mut bound = widest.min(known);
    let widest = bound;
    let gap = known - widest;
    let mut budget = StateBudget { per_section: max_states, in_all: max_states.saturating_mul(MAX_SECTIONS_OF_STATES) };
    for step in 0..=LIMIT_STEPS {
        let limit = if step == LIMIT_STEPS { known } else { known.min(widest + gap / LIMIT_STEPS * step + 1) };
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

/// The states that may still be made.
struct StateBudget {
    per_section: usize,
    in_all: usize,
}

/// The answer of the dynamic program with a limit.
enum Outcome {
    /// There were more states than are allowed, or the search was stopped.
    GaveUp,
    /// Every assignment has a sum at or above the limit.
    NoneBelow,
    /// The least sum of peaks, and the bank of each tensor.
    Least(u64, Vec<usize>),
}

/// A bank of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bank {
    /// The set of slots of the tensors that are alive in it.
    alive: u128,
    load: u64,
    peak: u64,
    /// Its index among the banks of its state, in the order in which they were opened.
    id: usize,
}

/// An assignment of the tensors so far.
struct State {
    /// First the banks with tensors alive, by what is alive; then the others, those with a larger peak first.
    banks: Vec<Bank>,
    /// The index of its last decision.
    decision: usize,
}

/// The bank of one tensor, and the index of the decision for the tensor before.
struct Decision {
    before: usize,
    bank: usize,
}

/// The least sum of peaks below `limit`.
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

/// The tensor that is assigned next.
struct AddedTensor {
    slot: usize,
    /// The set of slots of tensors with which it may not share a bank.
    conflicts: u128,
    size: u64,
}

impl State {
    fn sum_of_peaks(&self) -> u64 {
        self.banks.iter().map(|bank| bank.peak).sum()
    }

    /// Removes the tensor of `size` in `slot`, which has died.
    fn remove(&mut self, slot: usize, size: u64) {
        for bank in self.banks.iter_mut().filter(|bank| bank.alive >> slot & 1 == 1) {
            bank.alive &= !(1 << slot);
            bank.load -= size;
        }
    }

    /// Adds a state to `next` for each bank that a tensor can be added to, a new one among them, with a sum of peaks
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

    /// The sets of tensors that are alive, bank by bank.
    fn alive(&self) -> impl Iterator<Item = u128> {
        self.banks.iter().map(|bank| bank.alive).take_while(|&alive| alive != 0)
    }

    /// Whether no peak is above that of the same bank of `other`, which has the same tensors alive in the same banks.
    fn dominates(&self, other: &Self) -> bool {
        let peaks = other.banks.iter().map(|bank| bank.peak).chain(std::iter::repeat(0));
        self.banks.iter().zip(peaks).all(|(bank, peak)| bank.peak <= peak)
    }
}

/// The states that no other dominates; some of them if `control` stops it.
fn undominated(mut states: Vec<State>, control: &SearchControl<'_>) -> Vec<State> {
    // A state cannot dominate one with a smaller sum of peaks, so those come first.
    states.sort_by(|a, b| a.alive().cmp(b.alive()).then(a.sum_of_peaks().cmp(&b.sum_of_peaks())));
    let mut kept: Vec<State> = Vec::new();
    // Where the states begin that have the same tensors alive in the same banks.
    let mut comparable = 0;
    for state in states {
        if control.should_stop() {
            break;
        }
        if kept.get(comparable).is_some_and(|first| !first.alive().eq(state.alive())) {
            comparable = kept.len();
        }
        if !kept[comparable..].iter().any(|other| other.dominates(&state)) {
            kept.push(state);
        }
    }
    kept
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
                let found = least_peaks_with(pruning, &instance, &by_birth, range, 1_000_000, &SearchControl::new());
                assert!(found.bank_of.is_some());
                found.bound
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
