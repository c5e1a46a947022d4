//! Compares all strategies on one set of records: every variant, the bounds, the proven optimum, banks, the smallest
//! arena, and the plan that would be chosen.

use std::fmt;

use super::{
    budget::SearchBudget,
    control::{Progress, SearchControl, StopReason},
    error::PlanError,
    exact::Optimum,
    layout::LayoutKind,
    offsets,
    portfolio::{Candidate, NotTried, skip_if_optimal, try_strategy},
    record::UsageRecord,
    solve::{Planner, Solution, solve_with_optimum},
    strategy::Strategy,
    uses::Uses,
};

/// The totals of all strategies on one set of records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StrategyComparison {
    /// The number of records.
    pub records: usize,
    /// One past the last step that touches a tensor.
    pub steps: usize,
    /// All variants of all strategies, the optimum, banks and the smallest arena.
    pub candidates: Vec<Candidate>,
    /// The exact Shared Objects optimum, or the best result of its search.
    pub optimum: Optimum,
    /// The plan that would be chosen, with bounds and reason.
    pub best: Solution,
    /// Strategies and searches that were skipped or not completed, with the reason.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub not_tried: Vec<NotTried>,
    /// Reason why a search ended early, if one did. Smaller plans may then exist.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Runs every strategy and every search, with `budget` for each search. If `control` has a deadline, strategies that
/// do not finish in their share of the time are left out.
///
/// # Errors
/// The errors of [`solve`](super::solve()).
///
/// ```
/// use texpool_plan::{SearchBudget, SearchControl, StrategyComparison, UsageRecord, Uses, compare_strategies};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4), UsageRecord::new(2, 3, 8)];
/// let (budget, control) = (SearchBudget::default(), SearchControl::new());
/// let all: StrategyComparison = compare_strategies(&records, Uses::FirstAndLast, budget, &control)?;
/// let total = |name| all.candidates.iter().find(|c| c.name == name).map(|c| c.total);
/// assert_eq!((total("naive"), total("optimum"), total("offsets_smallest")), (Some(20), Some(12), Some(12)));
/// // The table that `texpool plan --records FILE` prints.
/// println!("{all}");
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn compare_strategies<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<StrategyComparison, PlanError> {
    // Shares of the deadline, a guess. The arena search ends early on networks, so most of its fifth is left for the
    // others. The last fifth is for strategies that only appear in the comparison.
    let arena = offsets::smallest(records, budget.moves, &control.share(2, 10))?;
    let searched = control.share(8, 10);
    let (best, optimum) =
        solve_with_optimum(records, uses.into(), Planner::Best, budget, Some(&arena.layout), &searched)?;
    let mut not_tried = Vec::new();
    let mut candidates = Vec::new();
    let count = Strategy::ALL.len() as u32;
    for (done, &strategy) in (0u32..).zip(Strategy::ALL) {
        let total = Some(best.layout.total());
        control.report(Progress { stage: "all strategies", done: done.into(), total: count.into(), best: total });
        // A quarter of the remaining time, so that one slow strategy does not block all others.
        let control = control.share(1, 4);
        let skip = match strategy.problem() {
            // A strategy that did not finish in the portfolio's share of the time will not finish in this smaller
            // one.
            LayoutKind::SharedObjects => best.not_tried.iter().find(|other| other.name == strategy.name()).cloned(),
            _ => skip_if_optimal(strategy, records, arena.layout.total(), best.bounds.offsets),
        };
        if let Some(skip) = skip {
            not_tried.push(skip);
            continue;
        }
        match try_strategy(strategy, records, &control)? {
            Ok(layout) => candidates.push(Candidate::new(strategy.name(), &layout)),
            Err(other) => not_tried.push(other),
        }
    }
    candidates.push(Candidate::new("optimum", &optimum.layout));
    candidates.push(Candidate::new("offsets_smallest", &arena.layout));
    candidates.extend(best.candidates.iter().filter(|c| c.problem == LayoutKind::Banks).cloned());
    // The strategies are listed above already; the remaining entries are searches.
    let searches = best.not_tried.iter().filter(|other| other.name.parse::<Strategy>().is_err());
    not_tried.extend(searches.cloned());
    if let Some(reason) = arena.stopped {
        not_tried.push(NotTried::new("offsets_smallest", format!("not searched to its end: {reason}")));
    }
    let steps = records.iter().map(|r| r.last.saturating_add(1)).max().unwrap_or(0);
    let stopped = best.stopped.or(arena.stopped).or(control.stopped());
    Ok(StrategyComparison { records: records.len(), steps, candidates, optimum, best, not_tried, stopped })
}

impl fmt::Display for StrategyComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = &self.best.bounds;
        writeln!(f, "{} tensors over {} steps, {} in all", self.records, self.steps, bounds.naive)?;
        writeln!(f, "bounds: shared objects {}, any plan {}\n", bounds.shared_objects, bounds.offsets)?;
        let ratio = |total: u64| bounds.naive as f64 / total.max(1) as f64;
        for problem in [LayoutKind::SharedObjects, LayoutKind::Banks, LayoutKind::Offsets] {
            for c in self.candidates.iter().filter(|c| c.problem == problem) {
                let (total, share) = (c.total, ratio(c.total));
                writeln!(
                    f,
                    "{:<14} {:<46} {total:>14} {share:>7.2}x {:>4} regions",
                    problem.name(),
                    c.name,
                    c.regions
                )?;
            }
        }
        for NotTried { name, why } in &self.not_tried {
            writeln!(f, "{:<14} {name:<46} {why}", "not tried")?;
        }
        let Optimum { layout, certificate, proven, nodes, .. } = &self.optimum;
        let verdict = match (proven, self.optimum.stopped) {
            (true, _) => "proven optimal".to_owned(),
            (false, Some(reason)) => format!("not proven: {reason}"),
            (false, None) => "not proven".to_owned(),
        };
        writeln!(
            f,
            "\nshared objects: {} {verdict}; the certificate shows {}, {nodes} relaxations solved",
            layout.total(),
            certificate.bound
        )?;
        writeln!(f, "chosen: {}", self.best.reason)
    }
}
