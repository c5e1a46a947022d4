//! The choice: every strategy is run, the smallest plan that textures can hold is kept, and the reason is recorded.

use super::{Bounds, Layout, PlanError, Problem, StepUse, Strategy, UsageRecord, bounds, check_layout};

/// How far to search beyond the portfolio. Never counted in time, so that the same input gives the same plan on every
/// machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Budget {
    /// Units of work for the searches; the portfolio always runs whole.
    pub work: u64,
}

/// What one strategy came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// Name of the strategy.
    pub name: String,
    /// The problem it solves.
    pub problem: Problem,
    /// Its cost in the records' unit.
    pub total: u64,
    /// Regions it uses.
    pub regions: usize,
}

/// The chosen layout, with what it was chosen from and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Best {
    /// The chosen layout: Shared Objects or banks, never one arena.
    pub layout: Layout,
    /// Name of the strategy that found it.
    pub strategy: String,
    /// Why it was chosen, in a sentence.
    pub reason: String,
    /// Naïve total and lower bounds.
    pub bounds: Bounds,
    /// Every strategy that was tried.
    pub candidates: Vec<Candidate>,
}

/// The smallest layout that textures can hold; ties go to fewer regions, then to the shorter reuse distance, then to
/// the order of [`Strategy::ALL`].
///
/// Records are planned in a canonical order, so their order in the list changes no total.
///
/// # Errors
/// [`PlanError::ReversedInterval`], [`PlanError::Overflow`], or what the checker finds wrong with `uses`.
pub fn best(records: &[UsageRecord], uses: &[StepUse], budget: Budget) -> Result<Best, PlanError> {
    let Budget { work: _ } = budget;
    let bounds = bounds(records)?;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size, i));
    let sorted: Vec<UsageRecord> = order.iter().map(|&i| records[i]).collect();

    let mut candidates = Vec::new();
    let mut chosen: Option<(u64, usize, u128, Layout, &'static str)> = None;
    for &strategy in Strategy::ALL {
        let layout = strategy.place(&sorted)?;
        let (total, regions) = (layout.total(), layout.regions.len());
        candidates.push(Candidate { name: strategy.name().to_owned(), problem: layout.problem, total, regions });
        let reuse = reuse_distance(&sorted, &layout);
        if chosen.as_ref().is_none_or(|c| (total, regions, reuse) < (c.0, c.1, c.2)) {
            chosen = Some((total, regions, reuse, layout, strategy.name()));
        }
    }
    let Some((total, _, _, mut layout, name)) = chosen else {
        return Err(PlanError::Count { what: "strategies", expected: records.len(), found: 0 });
    };
    let mut places = layout.places.clone();
    for (sorted, &original) in order.iter().enumerate() {
        places[original] = layout.places[sorted];
    }
    layout.places = places;
    check_layout(records, uses, &layout)?;
    let reason = if total == bounds.shared_objects {
        format!("{name} reaches the Shared Objects bound, so no other Shared Objects plan is smaller")
    } else {
        format!("{name} is the smallest of {} candidates", candidates.len())
    };
    Ok(Best { layout, strategy: name.to_owned(), reason, bounds, candidates })
}

/// Steps that regions lie idle between one tensor and the next, summed: the shorter, the warmer the cache.
fn reuse_distance(records: &[UsageRecord], layout: &Layout) -> u128 {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (layout.places[i].region, records[i].first));
    let mut idle = 0u128;
    let mut previous: Option<(usize, usize)> = None;
    for i in order {
        let (region, r) = (layout.places[i].region, &records[i]);
        previous = match previous {
            Some((same, until)) if same == region => {
                idle += r.first.saturating_sub(until) as u128;
                Some((region, until.max(r.last)))
            }
            _ => Some((region, r.last)),
        };
    }
    idle
}
