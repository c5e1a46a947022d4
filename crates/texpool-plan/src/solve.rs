//! The planner's entry point for textures: tries the strategies, the proven optimum and banks, and returns the
//! smallest plan, with the reason.

use std::{cmp::Ordering, fmt, str::FromStr};

use super::{
    banks::{Prior, search_banks},
    bounds::{Bounds, bounds},
    budget::SearchBudget,
    check::check_layout,
    control::{SearchControl, StopReason},
    error::{InputError, PlanError, UnsupportedError},
    exact::{Certificate, Optimum},
    layout::{Layout, LayoutKind},
    portfolio::{self, Candidate, Candidates, Chosen, NotTried},
    record::UsageRecord,
    strategy::Strategy,
    uses::{StepUse, Uses},
};

/// Selects a planner. It is parsed from, and displayed as, its name on the command line:
///
/// ```
/// use texpool_plan::{Planner, Strategy};
///
/// assert_eq!("optimum".parse(), Ok(Planner::Optimum));
/// assert_eq!("greedy_by_size".parse(), Ok(Planner::Strategy(Strategy::GreedyBySize)));
/// assert_eq!(Planner::Best.to_string(), "best");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Planner {
    /// The smallest plan of all searches.
    #[default]
    Best,
    /// The Shared Objects optimum.
    Optimum,
    /// Banks, by a search that starts from the optimum.
    Banks,
    /// A single strategy, regardless of its total.
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

/// The chosen layout, with the candidates and the reason.
///
/// ```
/// use texpool_plan::{Candidate, NotTried, Planner, SearchBudget, SearchControl, Solution, UsageRecord, Uses, solve};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let (budget, control) = (SearchBudget::default(), SearchControl::new());
/// let found: Solution = solve(&records, Uses::FirstAndLast, Planner::Best, budget, &control)?;
/// println!("{}: {}", found.strategy, found.reason);
/// for Candidate { name, total, regions, .. } in &found.candidates {
///     println!("{name}: {total} in {regions} regions");
/// }
/// for NotTried { name, why } in &found.not_tried {
///     println!("{name}: {why}");
/// }
/// assert_eq!(found.certificate.bound, found.layout.total());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Solution {
    /// The chosen layout: Shared Objects or banks, never one arena.
    pub layout: Layout,
    /// Name of the strategy or search that found it.
    pub strategy: String,
    /// The reason for the choice, in a sentence.
    pub reason: String,
    /// Naïve total and lower bounds.
    pub bounds: Bounds,
    /// The best proven lower bound of Shared Objects; the positional bound if the exact solver did not run.
    pub certificate: Certificate,
    /// All candidates that were tried.
    pub candidates: Vec<Candidate>,
    /// Strategies and searches that were skipped or not completed, with the reason.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub not_tried: Vec<NotTried>,
    /// Reason why the search ended early, if it did. Smaller plans may then exist.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Finds a layout with `planner`. [`Planner::Best`] returns the smallest layout that textures can hold. Ties go to
/// fewer regions, then to the shorter reuse distance, then to the candidate tried first. If `control` stops the
/// search, the result is the smallest layout found by then. It is at most as large as the layout of the fastest
/// greedy strategy, even if another strategy was requested by name.
///
/// Records are planned in a canonical order, so their order in the list does not affect the total. A strategy
/// requested by name gets them in the given order, because some strategies break ties by index.
///
/// # Errors
/// [`PlanError::Input`] for records that contradict themselves or `uses`, and any error that the checker finds in
/// `uses`. For a named strategy, [`PlanError::Unsupported`] if it places everything in one arena, or if the records
/// are too many for it.
///
/// ```
/// use texpool_plan::{Planner, SearchBudget, SearchControl, UsageRecord, solve, uses_from_records};
///
/// // First step, last step, size: a chain of three operators.
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let uses = uses_from_records(&records)?;
/// let found = solve(&records, &uses, Planner::Best, SearchBudget::default(), &SearchControl::new())?;
/// assert_eq!((found.layout.total(), found.bounds.naive), (12, 20));
/// // The first tensor and the last are never alive together, so they share a region.
/// assert_eq!(found.layout.places[0].region, found.layout.places[2].region);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn solve<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    planner: Planner,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<Solution, PlanError> {
    Ok(solve_with_optimum(records, uses.into(), planner, budget, None, control)?.0)
}

/// Like [`solve`], but also returns the result of the exact solver, which is a greedy plan if the solver did not run.
/// `arena` is the smallest arena found, if one was searched for already.
pub(super) fn solve_with_optimum(
    records: &[UsageRecord],
    uses: Uses<'_>,
    planner: Planner,
    budget: SearchBudget,
    arena: Option<&Layout>,
    control: &SearchControl<'_>,
) -> Result<(Solution, Optimum), PlanError> {
    let bounds = bounds(records)?;
    uses.check_records(records)?;
    let order = CanonicalOrder::new(records);
    let sorted: Vec<UsageRecord> = order.0.iter().map(|&i| records[i]).collect();
    let mut candidates = Candidates::new(&sorted);
    let named = match planner {
        Planner::Strategy(strategy) => Some(strategy),
        _ => None,
    };
    // The greedy strategies get the largest share, because without them no plan exists. On networks they hardly use
    // it, and the searches get the rest.
    let start = portfolio::run(&sorted, named, bounds.offsets, &mut candidates, &control.share(6, 10))?;
    let mut exact = Optimum::greedy(&sorted, &bounds, start);
    if let Some(strategy) = named {
        if strategy.problem() == LayoutKind::Offsets {
            return Err(UnsupportedError::NotForTextures { strategy: strategy.name() }.into());
        }
        let layout = order.sort(strategy.place_until(records, control)?);
        match control.stopped() {
            None => candidates.choose(RANK_OPTIMUM, strategy.name(), layout),
            // A strategy that was stopped may share almost no memory. The fast strategies have finished, so one of
            // them may be smaller.
            stopped => {
                candidates.offer(RANK_OPTIMUM, strategy.name(), layout);
                candidates.note_stopped(strategy.name(), stopped);
            }
        }
    } else {
        let improvable = candidates.total() > bounds.shared_objects || planner != Planner::Best;
        if improvable && budget.nodes > 0 {
            let control = control.share(1, 2);
            let tolerated_gap = if planner == Planner::Best { bounds.shared_objects / TOLERATED_GAP } else { 0 };
            exact = exact.improve(&sorted, &bounds, budget.nodes, tolerated_gap, &control);
            match planner {
                Planner::Best => candidates.offer(RANK_OPTIMUM, "optimum", exact.layout.clone()),
                _ => candidates.choose(RANK_OPTIMUM, "optimum", exact.layout.clone()),
            }
            candidates.note_stopped("optimum", exact.stopped);
        }
        let improvable = candidates.total() > bounds.offsets || planner == Planner::Banks;
        let seed = candidates.chosen.as_ref().filter(|_| improvable && budget.moves > 0 && planner != Planner::Optimum);
        if let Some(seed) = seed {
            let steps = order.sort_uses(uses);
            let uses = steps.as_ref().map_or(Uses::FirstAndLast, Uses::from);
            let arena = arena.map(|arena| order.sort(arena.clone()));
            let prior = Prior { seed: &seed.layout, arena: arena.as_ref(), bounds: &bounds };
            let (layout, stopped) = search_banks(&sorted, uses, prior, budget.moves, control)?;
            match planner {
                Planner::Best => candidates.offer(RANK_BANKS, "banks", layout),
                _ => candidates.choose(RANK_BANKS, "banks", layout),
            }
            candidates.note_stopped("banks", stopped);
        }
    }
    let stopped = candidates.stopped.or(control.stopped());
    let not_tried = std::mem::take(&mut candidates.not_tried);
    let Some(Chosen { layout, name, .. }) = candidates.chosen.take() else {
        return Err(InputError::LengthMismatch { what: "candidates", expected: 1, found: 0 }.into());
    };
    let candidates = candidates.into_list();
    let layout = order.restore(layout);
    check_layout(records, uses, &layout)?;
    exact.certificate.proof.renumber(&order.0);
    exact.layout = order.restore(exact.layout);
    let certificate = exact.certificate.clone();
    // A plan that reaches the lower bound needs no further search.
    let stopped = stopped.filter(|_| layout.total() > bounds.offsets || planner != Planner::Best);
    let mut reason = reason(planner, name, layout.total(), &bounds, certificate.bound, candidates.len());
    if let Some(stopped) = stopped {
        reason += &format!("; not searched to its end: {stopped}");
    }
    let strategy = name.to_owned();
    Ok((Solution { layout, strategy, reason, bounds, certificate, candidates, not_tried, stopped }, exact))
}

/// [`Planner::Best`] does not solve the model of all tensors for a gap of at most one part in this many between its plan
/// and the proven bound. MIP solvers stop at this gap, too: it is the default of Gurobi's `MIPGap`.
const TOLERATED_GAP: u64 = 10_000;

/// Ranks among ties of the optimum or of a named strategy, and of banks: after those of the portfolio.
const RANK_OPTIMUM: usize = usize::MAX - 1;
const RANK_BANKS: usize = usize::MAX;

fn reason(planner: Planner, name: &str, total: u64, bounds: &Bounds, proven: u64, candidates: usize) -> String {
    let versus = match total.cmp(&proven) {
        Ordering::Less => format!("{} less than any Shared Objects plan can be ({proven})", proven - total),
        Ordering::Equal => format!("the proven Shared Objects optimum ({proven})"),
        Ordering::Greater => format!("{} above the Shared Objects bound ({proven})", total - proven),
    };
    if let Planner::Strategy(strategy) = planner
        && strategy.name() != name
    {
        format!("{strategy} did not end in time, and {name} is the smallest that did: {total}, {versus}")
    } else if planner != Planner::Best {
        format!("{name} was asked for: {total}, {versus}")
    } else if total == bounds.offsets {
        format!("{name} reaches the widest step ({total}), and no plan of any kind is smaller")
    } else {
        format!("{name} is the smallest of {candidates} candidates: {total}, {versus}")
    }
}

/// An order of records that does not depend on their order in the list. Each position holds the index of a record.
struct CanonicalOrder(Vec<usize>);

impl CanonicalOrder {
    fn new(records: &[UsageRecord]) -> Self {
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size, i));
        Self(order)
    }

    fn sort(&self, mut layout: Layout) -> Layout {
        layout.places = self.0.iter().map(|&i| layout.places[i]).collect();
        layout
    }

    /// Converts uses from record indices to positions in the canonical order.
    fn sort_uses(&self, uses: Uses<'_>) -> Option<Vec<StepUse>> {
        let Uses::Steps(uses) = uses else { return None };
        let mut position = vec![0; self.0.len()];
        self.0.iter().enumerate().for_each(|(at, &i)| position[i] = at);
        let map = |list: &Vec<usize>| list.iter().map(|&i| position[i]).collect();
        Some(uses.iter().map(|step| StepUse { reads: map(&step.reads), writes: map(&step.writes) }).collect())
    }

    fn restore(&self, mut layout: Layout) -> Layout {
        let sorted = layout.places.clone();
        self.0.iter().zip(sorted).for_each(|(&i, place)| layout.places[i] = place);
        layout
    }
}
