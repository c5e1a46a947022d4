//! Everything at once: every strategy, the bounds, the optimum with its proof, banks, one arena, and the choice.

use std::fmt;

use super::{
    budget::SearchBudget,
    control::{Progress, SearchControl, StopReason},
    error::PlanError,
    exact::Optimum,
    layout::LayoutKind,
    offsets,
    portfolio::{Candidate, NotTried, attempt, pointless},
    record::UsageRecord,
    solve::{Planner, Solution, search},
    strategy::Strategy,
    uses::Uses,
};

/// What every way to plan comes to on one set of records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Survey {
    /// Records and steps.
    pub records: usize,
    /// One past the last step that touches a tensor.
    pub steps: usize,
    /// Every strategy with every reading, the optimum, banks and the smallest arena.
    pub candidates: Vec<Candidate>,
    /// The exact solver's answer.
    pub optimum: Optimum,
    /// What would be chosen, with bounds and reason.
    pub best: Solution,
    /// What was left out or not followed to its end, and why.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub not_tried: Vec<NotTried>,
    /// Why a search ended early, where one did: then there may be smaller plans.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stopped: Option<StopReason>,
}

/// Runs everything; the budget is for the searches. Where `control` has a deadline, strategies that do not end in their
/// part of the time are left out.
///
/// # Errors
/// As [`solve`](super::solve()).
pub fn survey<'a>(
    records: &[UsageRecord],
    uses: impl Into<Uses<'a>>,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<Survey, PlanError> {
    let arena = offsets::smallest(records, budget.moves, &control.share(2, 10))?;
    // What is left is for the strategies that are shown beside.
    let searched = control.share(8, 10);
    let (best, optimum) = search(records, uses.into(), Planner::Best, budget, Some(&arena.layout), &searched)?;
    let mut not_tried = Vec::new();
    let mut candidates = Vec::new();
    let count = Strategy::ALL.len() as u32;
    for (done, &strategy) in (0u32..).zip(Strategy::ALL) {
        let total = Some(best.layout.total());
        control.report(Progress { stage: "all strategies", done: done.into(), total: count.into(), best: total });
        let control = control.share(1, 4);
        let known = match strategy.problem() {
            // What the portfolio has not ended, this does not end in less time.
            LayoutKind::SharedObjects => best.not_tried.iter().find(|other| other.name == strategy.name()).cloned(),
            _ => pointless(strategy, records, arena.layout.total(), best.bounds.offsets),
        };
        if let Some(known) = known {
            not_tried.push(known);
            continue;
        }
        match attempt(strategy, records, &control)? {
            Ok(layout) => candidates.push(Candidate::new(strategy.name(), &layout)),
            Err(other) => not_tried.push(other),
        }
    }
    candidates.push(Candidate::new("optimum", &optimum.layout));
    candidates.push(Candidate::new("offsets_smallest", &arena.layout));
    candidates.extend(best.candidates.iter().filter(|c| c.problem == LayoutKind::Banks).cloned());
    // Of the portfolio it is told above.
    let searches = best.not_tried.iter().filter(|other| other.name.parse::<Strategy>().is_err());
    not_tried.extend(searches.cloned());
    if let Some(reason) = arena.stopped {
        not_tried.push(NotTried::new("offsets_smallest", format!("not searched to its end: {reason}")));
    }
    let steps = records.iter().map(|r| r.last.saturating_add(1)).max().unwrap_or(0);
    let stopped = best.stopped.or(arena.stopped).or(control.stopped());
    Ok(Survey { records: records.len(), steps, candidates, optimum, best, not_tried, stopped })
}

impl fmt::Display for Survey {
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
