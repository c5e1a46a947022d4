//! The entry to the planner: strategies, the proven optimum and banks are tried, the smallest plan that textures can
//! hold is kept, and the reason is recorded.

use std::{cmp::Ordering, fmt, str::FromStr};

use super::{
    banks::{Known, search_banks},
    bounds::{Bounds, bounds},
    budget::SearchBudget,
    check::check_layout,
    control::{SearchControl, StopReason},
    error::{InputError, PlanError, UnsupportedError},
    exact::{Certificate, Optimum},
    layout::{Layout, LayoutKind},
    portfolio::{self, Candidate, Chosen, NotTried, Table},
    record::UsageRecord,
    strategy::Strategy,
    uses::{StepUse, Uses},
};

/// What is asked to plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planner {
    /// The smallest of all.
    #[default]
    Best,
    /// The Shared Objects optimum.
    Optimum,
    /// Banks, searched from the optimum.
    Banks,
    /// One strategy, whatever it comes to.
    Strategy(Strategy),
}

impl fmt::Display for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Best => "best",
            Self::Optimum => "optimum",
            Self::Banks => "banks",
            Self::Strategy(strategy) => strategy.name(),
        })
    }
}

impl FromStr for Planner {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        match name {
            "best" => Ok(Self::Best),
            "optimum" => Ok(Self::Optimum),
            "banks" => Ok(Self::Banks),
            _ => name.parse().map(Self::Strategy),
        }
    }
}

/// The chosen layout, with what it was chosen from and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Solution {
    /// The chosen layout: Shared Objects or banks, never one arena.
    pub layout: Layout,
    /// Name of what found it.
    pub strategy: String,
    /// Why it was chosen, in a sentence.
    pub reason: String,
    /// Naïve total and lower bounds.
    pub bounds: Bounds,
    /// The best proven lower bound of Shared Objects; the positional one where the exact solver did not run.
    pub certificate: Certificate,
    /// Everything that was tried.
    pub candidates: Vec<Candidate>,
    /// What was left out or not followed to its end, and why.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub not_tried: Vec<NotTried>,
    /// Why the search ended early, where it did: then there may be smaller plans.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// The layout that `planner` finds: of [`Planner::Best`] the smallest that textures can hold; ties go to fewer regions,
/// then to the shorter reuse distance, then to what was tried first. Where `control` stops it, the smallest found by
/// then; a strategy that is stopped before its end shares less than it might.
///
/// Records are planned in a canonical order, so their order in the list changes no total; a strategy that was named
/// sees them as they are given.
///
/// # Errors
/// [`PlanError::Input`] for records that contradict themselves or `uses`, and what the checker finds wrong with `uses`;
/// of a named strategy [`PlanError::Unsupported`] if it answers one arena, or plans fewer records than these.
pub fn solve<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    planner: Planner,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<Solution, PlanError> {
    Ok(search(records, uses.into(), planner, budget, None, control)?.0)
}

/// As [`solve`], with the exact solver's answer, which is a greedy one where it was not asked. `arena` is the smallest
/// arena, where it was searched for before.
pub(super) fn search(
    records: &[UsageRecord],
    uses: Uses<'_>,
    planner: Planner,
    budget: SearchBudget,
    arena: Option<&Layout>,
    control: &SearchControl<'_>,
) -> Result<(Solution, Optimum), PlanError> {
    let bounds = bounds(records)?;
    uses.records_exist(records)?;
    let order = Order::canonical(records);
    let sorted: Vec<UsageRecord> = order.0.iter().map(|&i| records[i]).collect();
    let mut table = Table::new(&sorted);
    let named = match planner {
        Planner::Strategy(strategy) => Some(strategy),
        _ => None,
    };
    let start = portfolio::run(&sorted, named, bounds.offsets, &mut table, &control.share(6, 10))?;
    let mut exact = Optimum::greedy(&sorted, &bounds, start);
    if let Some(strategy) = named {
        if strategy.problem() == LayoutKind::Offsets {
            return Err(UnsupportedError::NotForTextures { strategy: strategy.name() }.into());
        }
        // Named strategies see the records as they are given.
        table.force(AFTER[0], strategy.name(), order.sort(strategy.place_until(records, control)?));
    } else {
        let open = table.total() > bounds.shared_objects || planner != Planner::Best;
        if open && budget.nodes > 0 {
            let control = control.share(1, 2);
            exact = exact.improve(&sorted, &bounds, budget.nodes, &control);
            match planner {
                Planner::Best => table.add(AFTER[0], "optimum", exact.layout.clone()),
                _ => table.force(AFTER[0], "optimum", exact.layout.clone()),
            }
            table.note_stopped("optimum", exact.stopped);
        }
        let open = table.total() > bounds.offsets || planner == Planner::Banks;
        let seed = table.chosen.as_ref().filter(|_| open && budget.moves > 0 && planner != Planner::Optimum);
        if let Some(seed) = seed {
            let steps = order.sort_uses(uses);
            let uses = steps.as_ref().map_or(Uses::FirstAndLast, Uses::from);
            let arena = arena.map(|arena| order.sort(arena.clone()));
            let known = Known { seed: &seed.layout, arena: arena.as_ref(), bounds: &bounds };
            let (found, stopped) = search_banks(&sorted, uses, known, budget.moves, control)?;
            match planner {
                Planner::Best => table.add(AFTER[1], "banks", found),
                _ => table.force(AFTER[1], "banks", found),
            }
            table.note_stopped("banks", stopped);
        }
    }
    let stopped = table.stopped.or(control.stopped());
    let not_tried = std::mem::take(&mut table.not_tried);
    let Some(Chosen { layout, name, .. }) = table.chosen.take() else {
        return Err(InputError::LengthMismatch { what: "candidates", expected: 1, found: 0 }.into());
    };
    let candidates = table.into_candidates();
    let layout = order.restore(layout);
    check_layout(records, uses, &layout)?;
    exact.certificate.proof.renumber(&order.0);
    exact.layout = order.restore(exact.layout);
    let certificate = exact.certificate.clone();
    // What no plan goes below needs no more search.
    let stopped = stopped.filter(|_| layout.total() > bounds.offsets || planner != Planner::Best);
    let mut reason = reason(planner, name, layout.total(), &bounds, certificate.bound, candidates.len());
    if let Some(stopped) = stopped {
        reason += &format!("; not searched to its end: {stopped}");
    }
    let strategy = name.to_owned();
    Ok((Solution { layout, strategy, reason, bounds, certificate, candidates, not_tried, stopped }, exact))
}

/// Places of the optimum and of a named strategy among ties, and of banks: after the portfolio.
const AFTER: [usize; 2] = [usize::MAX - 1, usize::MAX];

fn reason(planner: Planner, name: &str, total: u64, bounds: &Bounds, proven: u64, candidates: usize) -> String {
    let versus = match total.cmp(&proven) {
        Ordering::Less => format!("{} less than any Shared Objects plan can be ({proven})", proven - total),
        Ordering::Equal => format!("the proven Shared Objects optimum ({proven})"),
        Ordering::Greater => format!("{} above the Shared Objects bound ({proven})", total - proven),
    };
    if planner != Planner::Best {
        format!("{name} was asked for: {total}, {versus}")
    } else if total == bounds.offsets {
        format!("{name} reaches the widest step ({total}), which no plan of any kind can go below")
    } else {
        format!("{name} is the smallest of {candidates} candidates: {total}, {versus}")
    }
}

/// Records in an order that does not depend on their order in the list: for each place, the record that takes it.
struct Order(Vec<usize>);

impl Order {
    fn canonical(records: &[UsageRecord]) -> Self {
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size, i));
        Self(order)
    }

    fn sort(&self, mut layout: Layout) -> Layout {
        layout.places = self.0.iter().map(|&i| layout.places[i]).collect();
        layout
    }

    /// The uses by the places of the records.
    fn sort_uses(&self, uses: Uses<'_>) -> Option<Vec<StepUse>> {
        let Uses::Steps(uses) = uses else { return None };
        let mut place = vec![0; self.0.len()];
        self.0.iter().enumerate().for_each(|(at, &i)| place[i] = at);
        let map = |list: &Vec<usize>| list.iter().map(|&i| place[i]).collect();
        Some(uses.iter().map(|step| StepUse { reads: map(&step.reads), writes: map(&step.writes) }).collect())
    }

    fn restore(&self, mut layout: Layout) -> Layout {
        let sorted = layout.places.clone();
        self.0.iter().zip(sorted).for_each(|(&i, place)| layout.places[i] = place);
        layout
    }
}
