//! Every division of the tensors into banks at once, swept along the timeline: how small the banks' fullest points can
//! be together. Knows loads and who may not share a bank, and nothing of offsets inside one.
//!
//! What is to come depends on how the tensors alive are divided and on how full each bank has been, and on nothing
//! else. So divisions that agree in this are one, and one is as good as another that is divided alike and has been no
//! less full. On most networks few tensors are alive at once, and few divisions are left.

use std::cmp::Reverse;

use super::state::Instance;
use crate::plan::control::{Progress, SearchControl};

/// Tensors alive at once that a division can tell apart.
const MAX_ALIVE: usize = 128;

/// Steps in which what is asked for rises from the widest step to what is known: the less is allowed, the fewer
/// divisions are left.
const RISES: u64 = 16;

/// Times as many divisions may be looked at in all as may be left at any point.
const POINTS: usize = 200;

/// What is known of all divisions.
pub(super) struct LeastPeaks {
    /// No sum of the banks' fullest points is smaller.
    pub(super) bound: u64,
    /// The bank of each tensor in a division of that sum; none if it is no smaller than what was known, or if more
    /// divisions were left than may be looked at.
    pub(super) bank_of: Option<Vec<usize>>,
}

/// The least sum of the banks' fullest points between `widest`, the widest step, and `known`, looking at no more than
/// `limit` divisions at any point. Where `control` stops it, what it has shown by then.
pub(super) fn least_peaks(
    instance: &Instance,
    births: &[usize],
    widest: u64,
    known: u64,
    limit: usize,
    control: &SearchControl<'_>,
) -> LeastPeaks {
    let mut bound = widest.min(known);
    let widest = bound;
    let gap = known - widest;
    let mut looks = limit.saturating_mul(POINTS);
    for rise in 0..=RISES {
        let most = if rise == RISES { known } else { known.min(widest + gap / RISES * rise + 1) };
        if most <= bound {
            continue;
        }
        match sweep(instance, births, most, (limit, &mut looks), control) {
            Swept::GaveUp => break,
            Swept::Nothing => bound = most,
            Swept::Least(bound, bank_of) => return LeastPeaks { bound, bank_of: Some(bank_of) },
        }
    }
    LeastPeaks { bound, bank_of: None }
}

/// What a sweep finds.
enum Swept {
    /// More divisions than it may look at.
    GaveUp,
    /// No division of a smaller sum than the one known.
    Nothing,
    /// The least sum of the banks' fullest points, and the bank of each tensor.
    Least(u64, Vec<usize>),
}

/// A bank of a division.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bank {
    /// Slots of the tensors alive in it.
    alive: u128,
    load: u64,
    peak: u64,
    /// Place among the banks of its division, by when it was opened.
    id: usize,
}

/// The tensors so far divided into banks.
struct Division {
    /// Those with tensors alive, by what is alive; then the others, the fullest first.
    banks: Vec<Bank>,
    /// How it was come by.
    step: usize,
}

/// One choice on the way to a division: the bank that a tensor went to, after the choices up to `before`.
struct Step {
    before: usize,
    bank: usize,
}

/// The least sum below `known`, with at most `limit` divisions at a point and `looks` in all.
fn sweep(
    instance: &Instance,
    births: &[usize],
    known: u64,
    (limit, looks): (usize, &mut usize),
    control: &SearchControl<'_>,
) -> Swept {
    let mut steps: Vec<Step> = Vec::new();
    let mut divisions = vec![Division { banks: Vec::new(), step: usize::MAX }];
    let mut slots: Vec<Option<usize>> = vec![None; MAX_ALIVE];
    for (done, &tensor) in births.iter().enumerate() {
        control.report(Progress::new("divisions into banks", done as u64, births.len() as u64));
        for (at, slot) in slots.iter_mut().enumerate() {
            if let Some(old) = slot.filter(|&old| instance.spans[old].1 <= instance.spans[tensor].0) {
                *slot = None;
                divisions.iter_mut().for_each(|division| division.expire(at, instance.sizes[old]));
            }
        }
        let Some(slot) = slots.iter().position(Option::is_none) else { return Swept::GaveUp };
        slots[slot] = Some(tensor);
        let conflicts = |at: &usize| slots[*at].is_some_and(|other| instance.conflicts.between(tensor, other));
        let conflicts = (0..MAX_ALIVE).filter(conflicts).fold(0u128, |set, at| set | 1 << at);
        let mut next = Vec::new();
        for division in &divisions {
            division.enter((slot, conflicts), instance.sizes[tensor], known, &mut steps, &mut next);
        }
        divisions = undominated(next, control);
        *looks = looks.saturating_sub(divisions.len());
        if divisions.len() > limit || *looks == 0 || control.should_stop() {
            return Swept::GaveUp;
        }
    }
    let Some(least) = divisions.iter().min_by_key(|division| division.total()) else { return Swept::Nothing };
    let mut bank_of = vec![0; births.len()];
    let mut at = least.step;
    for &tensor in births.iter().rev() {
        bank_of[tensor] = steps[at].bank;
        at = steps[at].before;
    }
    Swept::Least(least.total(), bank_of)
}

impl Division {
    fn total(&self) -> u64 {
        self.banks.iter().map(|bank| bank.peak).sum()
    }

    /// Takes out the tensor of `size` in `slot`, which has died.
    fn expire(&mut self, slot: usize, size: u64) {
        for bank in self.banks.iter_mut().filter(|bank| bank.alive >> slot & 1 == 1) {
            bank.alive &= !(1 << slot);
            bank.load -= size;
        }
    }

    /// Puts a tensor of `size` into `slot`, once for each bank that it may enter, none of `conflicts` in it, or open.
    fn enter(
        &self,
        (slot, conflicts): (usize, u128),
        size: u64,
        known: u64,
        steps: &mut Vec<Step>,
        next: &mut Vec<Division>,
    ) {
        let total = self.total();
        let opened = Bank { alive: 0, load: 0, peak: 0, id: self.banks.len() };
        for (at, &bank) in self.banks.iter().chain([&opened]).enumerate() {
            let again = |other: &Bank| (other.alive, other.peak) == (bank.alive, bank.peak);
            let load = bank.load + size;
            let peak = load.max(bank.peak);
            let smaller = (total - bank.peak).checked_add(peak).is_some_and(|total| total < known);
            if bank.alive & conflicts != 0 || !smaller || self.banks[..at.min(self.banks.len())].iter().any(again) {
                continue;
            }
            let mut banks = self.banks.clone();
            banks.truncate(at);
            banks.push(Bank { alive: bank.alive | 1 << slot, load, peak, ..bank });
            banks.extend(self.banks.iter().skip(at + 1));
            banks.sort_unstable_by_key(|bank| (bank.alive == 0, bank.alive, Reverse(bank.peak), bank.id));
            next.push(Division { banks, step: steps.len() });
            steps.push(Step { before: self.step, bank: bank.id });
        }
    }

    /// The banks with tensors alive.
    fn alive(&self) -> impl Iterator<Item = u128> {
        self.banks.iter().map(|bank| bank.alive).take_while(|&alive| alive != 0)
    }

    /// Whether no bank has been fuller than that of `other`, where both are divided alike.
    fn dominates(&self, other: &Self) -> bool {
        let peaks = other.banks.iter().map(|bank| bank.peak).chain(std::iter::repeat(0));
        self.banks.iter().zip(peaks).all(|(bank, peak)| bank.peak <= peak)
    }
}

/// Of divisions that are alike, those that no other is as good as; of some where `control` stops it.
fn undominated(mut divisions: Vec<Division>, control: &SearchControl<'_>) -> Vec<Division> {
    divisions.sort_by(|a, b| a.alive().cmp(b.alive()).then(a.total().cmp(&b.total())));
    let mut kept: Vec<Division> = Vec::new();
    let mut alike = 0;
    for division in divisions {
        if control.should_stop() {
            break;
        }
        if kept.get(alike).is_some_and(|first| !first.alive().eq(division.alive())) {
            alike = kept.len();
        }
        if !kept[alike..].iter().any(|other| other.dominates(&division)) {
            kept.push(division);
        }
    }
    kept
}
