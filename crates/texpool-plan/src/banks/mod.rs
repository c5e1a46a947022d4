//! Banks: several textures, several live tensors in each, and no step that reads and writes the same texture.
//!
//! Banks are a compromise between Shared Objects and one arena. A plan of shared objects is also a plan of banks, so
//! the search starts from one and never ends above it. First, a dynamic program over all assignments proves the least
//! sum of the banks' peaks, if it has few states. Then late acceptance hill climbing improves the bank of each
//! tensor; it is deterministic and bounded by a number of moves. If no step reads one tensor and writes another, all
//! tensors may share one bank, and the smallest arena is the result.

mod dynamic_program;
mod loads;
mod pack;
mod search;

use super::{
    assignment::assign,
    bounds::{Bounds, bounds},
    control::{SearchControl, StopReason},
    error::{InputError, PlanError},
    layout::{Layout, LayoutKind},
    offsets,
    random::Random,
    record::UsageRecord,
    uses::Uses,
};
use dynamic_program::{LeastPeaks, least_peaks};
use loads::{BankInstance, BankLoads};
use search::BankSearch;

/// Upper limit on sections times tensors, and on banks times sections, for a search: each entry takes some 32 bytes.
const MAX_ENTRIES: usize = 1 << 22;

/// Upper limit on the states of the dynamic program in any section; above it [`place_banks`] continues without the
/// program. A guess: all 23 networks of the tests need fewer.
const MAX_STATES: usize = 1000;

/// Numbers of banks from which hill climbing starts, after the seed. A guess; larger numbers were not tried.
const BANK_COUNTS: std::ops::RangeInclusive<usize> = 2..=6;

/// Returns a lower bound on the total of any plan of banks. The bound is the least sum of the banks' peaks, if a
/// dynamic program with at most `max_states` states in any section can prove it before `control` stops the search;
/// otherwise it is lower. It never exceeds `known`, the total of an existing plan.
///
/// If it equals `known`, that plan is optimal.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold,
/// or a step that names a record that is not there.
///
/// ```
/// use texpool_plan::{SearchControl, UsageRecord, Uses, bank_bound};
///
/// // Step 1 reads the first tensor and writes the second, so they need two banks; the third may share with the first.
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// assert_eq!(bank_bound(&records, Uses::FirstAndLast, 20, 1000, &SearchControl::new())?, 12);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn bank_bound<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    best_known: u64,
    max_states: usize,
    control: &SearchControl<'_>,
) -> Result<u64, PlanError> {
    let (bounds, uses) = (bounds(records)?, uses.into());
    uses.check_records(records)?;
    if bounds.positional_maximums.len().saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok(bounds.offsets.min(best_known));
    }
    let instance = BankInstance::new(records, uses);
    Ok(least_peaks(&instance, &order_of_birth(records), bounds.offsets, best_known, max_states, control).bound)
}

/// Searches for banks no larger than `seed`, a layout of shared objects or banks. Makes at most `moves` moves of a
/// tensor to another bank; `control` can stop it earlier.
///
/// # Errors
/// The errors of [`bank_bound`], and [`PlanError::Input`] if the number of places in the seed differs from the number
/// of records.
///
/// ```
/// use texpool_plan::{SearchControl, Strategy, UsageRecord, Uses, check_layout, place_banks};
///
/// // Two tensors of 4 are read together, and one of 8 comes after them: a bank of 8 holds them all, no object can.
/// let [a, b] = [UsageRecord::new(0, 1, 4); 2];
/// let records = [a, b, UsageRecord::new(1, 2, 1), UsageRecord::new(2, 3, 8)];
/// let objects = Strategy::GreedyBySize.place(&records)?;
/// let banks = place_banks(&records, Uses::FirstAndLast, &objects, 1000, &SearchControl::new())?;
/// assert_eq!((objects.total(), banks.total()), (13, 9));
/// check_layout(&records, Uses::FirstAndLast, &banks)?;
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn place_banks<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    seed: &Layout,
    moves: u64,
    control: &SearchControl<'_>,
) -> Result<Layout, PlanError> {
    let uses = uses.into();
    uses.check_records(records)?;
    Ok(search_banks(records, uses, Prior { seed, arena: None, bounds: &bounds(records)? }, moves, control)?.0)
}

/// Information available before the search for banks.
#[derive(Clone, Copy)]
pub(super) struct Prior<'a> {
    /// Initial plan: a layout of shared objects or banks.
    pub(super) seed: &'a Layout,
    /// The smallest arena found, if one was searched for.
    pub(super) arena: Option<&'a Layout>,
    /// The bounds of the records.
    pub(super) bounds: &'a Bounds,
}

/// Like [`place_banks`], for uses whose record indices are already checked. Also returns the reason if the search
/// ended early.
pub(super) fn search_banks(
    records: &[UsageRecord],
    uses: Uses<'_>,
    prior: Prior<'_>,
    moves: u64,
    control: &SearchControl<'_>,
) -> Result<(Layout, Option<StopReason>), PlanError> {
    let Prior { seed, arena, bounds } = prior;
    let widest = bounds.offsets;
    if seed.places.len() != records.len() {
        return Err(
            InputError::LengthMismatch { what: "places", expected: records.len(), found: seed.places.len() }.into()
        );
    }
    let best = Layout { problem: LayoutKind::Banks, ..seed.clone() };
    let best_total = best.total();
    if records.is_empty() || best_total == widest {
        return Ok((best, None));
    }
    if !has_conflicts(records, uses) {
        let (layout, stopped) = match arena {
            Some(arena) => (arena.clone(), None),
            None => {
                let smallest = offsets::smallest(records, moves, control)?;
                (smallest.layout, smallest.stopped)
            }
        };
        let smaller = layout.total() < best_total;
        return Ok((if smaller { Layout { problem: LayoutKind::Banks, ..layout } } else { best }, stopped));
    }
    if seed.regions.len().max(bounds.positional_maximums.len()).saturating_mul(records.len()) > MAX_ENTRIES {
        return Ok((best, None));
    }
    let instance = BankInstance::new(records, uses);
    let seed_banks: Vec<usize> = seed.places.iter().map(|p| p.region).collect();
    // A third of the time, because hill climbing finds good banks in much less than the rest.
    let first = control.share(1, 3);
    let by_birth = order_of_birth(records);
    let LeastPeaks { bound, bank_of } = least_peaks(&instance, &by_birth, widest, best_total, MAX_STATES, &first);
    let random = Random::new();
    let mut search =
        BankSearch { records, instance: &instance, bound, best, best_total, packed_with_gaps: None, random, control };
    // The assignment with the least sum of peaks. If it packs without gaps it is optimal, and the search ends here.
    if let Some(bank_of) = bank_of {
        let banks = bank_of.iter().max().map_or(0, |&bank| bank + 1);
        search.pack(&BankLoads::new(&instance, bank_of, banks))?;
    }
    let starts = std::iter::once(None).chain(BANK_COUNTS.map(Some));
    let moves_per_start = moves / (1 + BANK_COUNTS.count() as u64);
    for start in starts {
        if search.best_total == search.bound || control.should_stop() {
            break;
        }
        let loads = match start {
            None => BankLoads::new(&instance, seed_banks.clone(), seed.regions.len()),
            Some(banks) => match least_loaded(&instance, &by_birth, banks) {
                Some(bank_of) => BankLoads::new(&instance, bank_of, banks),
                None => continue,
            },
        };
        search.climb(loads, moves_per_start)?;
    }
    search.pack_by_search(moves)?;
    let stopped = control.stopped().or(first.stopped()).filter(|_| search.best_total > search.bound);
    Ok((search.best, stopped))
}

/// Returns whether any step reads one tensor and writes another.
fn has_conflicts(records: &[UsageRecord], uses: Uses<'_>) -> bool {
    let conflict = |_, reads: &[usize], writes: &[usize]| match (reads, writes) {
        ([], _) | (_, []) => Ok(()),
        ([read], [write]) if read == write => Ok(()),
        _ => Err(()),
    };
    uses.each(records, conflict).is_err()
}

/// Returns the records ordered by first step.
fn order_of_birth(records: &[UsageRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (records[i].first, i));
    order
}

/// Builds an assignment in which each tensor goes to the conflict-free bank with the least load at its birth. Returns
/// `None` if there are too few banks.
fn least_loaded(instance: &BankInstance, by_birth: &[usize], banks: usize) -> Option<Vec<usize>> {
    assign(&instance.conflicts, banks, by_birth.iter().copied(), |tensor, open, bank_of| {
        let load = |bank: usize| -> u64 {
            let alive = instance.alive[instance.sections[tensor].0].iter();
            alive.filter(|&&other| bank_of[other] == Some(bank)).map(|&other| instance.sizes[other]).sum()
        };
        open.iter().copied().min_by_key(|&bank| (load(bank), bank))
    })
}
