//! Banks: several textures, several live tensors in each, and no step that reads and writes the same one.
//!
//! Between Shared Objects and one arena: a Shared Objects plan is a plan of banks, so the search starts there and never
//! ends above. First a sweep over all divisions into banks, where they are few: it ends with the least that banks can
//! come to. Then late acceptance hill climbing over which bank each tensor is in; deterministic, bounded by a count of
//! moves. Where no step reads and writes at all, one arena is a bank, and nothing is smaller than the smallest of
//! those.

mod pack;
mod search;
mod state;
mod sweep;

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
use search::Search;
use state::{Instance, State};
use sweep::{LeastPeaks, least_peaks};

/// Points times tensors above which no search is begun: they take some 32 bytes each.
const MAX_ENTRIES: usize = 1 << 22;

/// Divisions into banks that [`banks`] looks at, at any point of the timeline, before it searches instead.
const DIVISIONS: usize = 1000;

/// A lower bound of what banks come to: the least that the banks' fullest points can be together, as far as it can be
/// told with `divisions` divisions of the tensors alive at a time before `control` stops it, and at most `known`, the
/// total of a plan at hand.
///
/// No plan of banks is below it, and where it is `known`, no plan of banks is below that.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval, or sizes that add up to more than 64 bits hold,
/// or a step that names a record that is not there.
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
    Ok(least_peaks(&Instance::new(records, uses), &births(records), bounds.offsets, known, divisions, control).bound)
}

/// Banks no larger than `seed`, a layout of shared objects or banks, after at most `work` moves, or when `control`
/// stops the search.
///
/// # Errors
/// As [`bank_bound`], and [`PlanError::Input`] if the seed is another set's.
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
    /// The smallest arena found, where it was searched for.
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
        return Err(
            InputError::LengthMismatch { what: "places", expected: records.len(), found: seed.places.len() }.into()
        );
    }
    let best = Layout { problem: LayoutKind::Banks, ..seed.clone() };
    let best_total = best.total();
    if records.is_empty() || best_total == bound {
        return Ok((best, None));
    }
    if nothing_conflicts(records, uses) {
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
    let instance = Instance::new(records, uses);
    let bank_of: Vec<usize> = seed.places.iter().map(|p| p.region).collect();
    let random = Random::new();
    let mut search = Search { records, instance: &instance, bound, best, best_total, loose: None, random, control };
    let swept = control.share(1, 3);
    let LeastPeaks { bound, bank_of: division } =
        least_peaks(&instance, &births(records), bound, best_total, DIVISIONS, &swept);
    search.bound = bound;
    if let Some(division) = division {
        let banks = division.iter().max().map_or(0, |&bank| bank + 1);
        search.pack(&State::new(&instance, division, banks))?;
    }
    let starts: Vec<Option<usize>> = vec![None, Some(2), Some(3), Some(4), Some(5), Some(6)];
    let share = work / starts.len() as u64;
    for start in starts {
        if search.best_total == search.bound || control.should_stop() {
            break;
        }
        let state = match start {
            None => State::new(&instance, bank_of.clone(), seed.regions.len()),
            Some(banks) => match first_assignment(&instance, records, banks) {
                Some(bank_of) => State::new(&instance, bank_of, banks),
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
fn nothing_conflicts(records: &[UsageRecord], uses: Uses<'_>) -> bool {
    let conflict = |_, reads: &[usize], writes: &[usize]| match (reads, writes) {
        ([], _) | (_, []) => Ok(()),
        ([read], [write]) if read == write => Ok(()),
        _ => Err(()),
    };
    uses.each(records, conflict).is_ok()
}

/// The records by birth.
fn births(records: &[UsageRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (records[i].first, i));
    order
}

/// Tensors by birth, each to the bank that is then least loaded among those it may enter.
fn first_assignment(instance: &Instance, records: &[UsageRecord], banks: usize) -> Option<Vec<usize>> {
    assign(&instance.conflicts, banks, births(records).into_iter(), |tensor, open, bank_of| {
        let load = |bank: usize| -> u64 {
            let here = instance.alive[instance.spans[tensor].0].iter();
            here.filter(|&&other| bank_of[other] == Some(bank)).map(|&other| instance.sizes[other]).sum()
        };
        open.iter().copied().min_by_key(|&bank| (load(bank), bank))
    })
}
