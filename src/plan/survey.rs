//! Everything at once: every strategy, the bounds, the optimum with its proof, banks, one arena, and the choice.

use std::fmt;

use super::{
    Best, Budget, Candidate, Choice, Optimum, PlanError, Problem, Progress, StepUse, Strategy, UsageRecord,
    best::search, control::SearchControl, offsets, optimum,
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
    pub best: Best,
}

/// Runs everything, however slow; the budget is for the searches, and `progress` is told how far the exact one is.
///
/// # Errors
/// As [`best`](super::best()).
pub fn survey(
    records: &[UsageRecord],
    uses: &[StepUse],
    budget: Budget,
    progress: &mut dyn FnMut(Progress),
) -> Result<Survey, PlanError> {
    let (best, exact) = search(records, uses, Choice::Best, budget, progress)?;
    let optimum = match exact {
        Some(exact) => exact,
        // A greedy plan has reached the bound, or nothing may be solved.
        None => optimum(records, 0, progress)?,
    };
    let arena = offsets::smallest(records, budget.moves, &SearchControl::new())?.layout;
    let mut candidates = Vec::new();
    let mut add = |name: &str, problem, total, regions| {
        candidates.push(Candidate { name: name.to_owned(), problem, total, regions });
    };
    for &strategy in Strategy::ALL {
        let layout = strategy.place(records)?;
        add(strategy.name(), layout.problem, layout.total(), layout.regions.len());
    }
    let objects = &optimum.layout;
    add("optimum", objects.problem, objects.total(), objects.regions.len());
    add("offsets_smallest", arena.problem, arena.total(), arena.regions.len());
    candidates.extend(best.candidates.iter().filter(|c| c.problem == Problem::Banks).cloned());
    let steps = records.iter().map(|r| r.last.saturating_add(1)).max().unwrap_or(0);
    Ok(Survey { records: records.len(), steps, candidates, optimum, best })
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = &self.best.bounds;
        writeln!(f, "{} tensors over {} steps, {} in all", self.records, self.steps, bounds.naive)?;
        writeln!(f, "bounds: shared objects {}, any plan {}\n", bounds.shared_objects, bounds.offsets)?;
        let ratio = |total: u64| bounds.naive as f64 / total.max(1) as f64;
        for problem in [Problem::SharedObjects, Problem::Banks, Problem::Offsets] {
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
        let Optimum { layout, certificate, proven, nodes } = &self.optimum;
        let verdict = if *proven { "proven optimal" } else { "not proven" };
        writeln!(
            f,
            "\nshared objects: {} {verdict}; the certificate shows {}, {nodes} relaxations solved",
            layout.total(),
            certificate.bound
        )?;
        writeln!(f, "chosen: {}", self.best.reason)
    }
}
