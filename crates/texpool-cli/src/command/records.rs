//! `texpool plan --records`: plans usage records with all strategies or with one, or fits them into a given capacity.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    arena::{self, ArenaArgs},
    args::StrategyArg,
    capacity::CapacityAnswer,
    error::CliError,
    memories::{self, MemoriesArgs},
    out,
    plan_files::PlanFiles,
    progress::{self, Deadline},
    stopped,
};
use crate::{
    io::{printable, read_text},
    report::grouped,
};
use texpool_plan::{
    Layout, LayoutError, Memory, PlanError, Planner, SearchBudget, SearchControl, StopReason, Strategy, Uses, bounds,
    check_layout, compare_strategies,
    io::{RecordSet, buffers_from_text, to_minimalloc},
    offsets::{Fit, fit},
    plan_svg, solve,
};

/// Default deadline for planning records.
const DEADLINE: Duration = Duration::from_secs(10);

/// Arguments for planning records.
pub(super) struct RecordsArgs<'a> {
    pub(super) strategy: StrategyArg,
    pub(super) capacity: Option<u64>,
    /// Place all records in one arena, also those that could share objects.
    pub(super) arena: bool,
    /// Memories among which the records are divided; empty without `--memory`.
    pub(super) memories: &'a [Memory],
    pub(super) deadline: Option<Deadline>,
    /// Maximum number of relaxations for the exact solver.
    pub(super) nodes: u64,
    pub(super) files: PlanFiles<'a>,
}

pub(super) fn run(path: &Path, args: &RecordsArgs<'_>, json: bool) -> Result<(), CliError> {
    let text = read_text(path)?;
    let deadline = args.deadline.map_or(Some(DEADLINE), |deadline| deadline.0);
    let &RecordsArgs { capacity, memories, ref files, .. } = args;
    if !memories.is_empty() {
        return memories::run(path, &text, &MemoriesArgs { memories, deadline, files }, json);
    }
    let wrong = |source| CliError::Records { path: path.into(), source };
    let mut buffers = buffers_from_text(&text).map_err(wrong)?;
    // Releases up to 256 MiB, which the search may need.
    drop(text);
    // A file in which every buffer has an offset is a plan, such as one written by `--write`. Its buffers are planned
    // again.
    if buffers.iter().all(|buffer| buffer.offset.is_some()) {
        buffers.iter_mut().for_each(|buffer| buffer.offset = None);
    }
    let Some(set) = RecordSet::from_buffers(&buffers).filter(|_| !args.arena) else {
        if args.strategy != StrategyArg::One(Planner::Best) {
            let why = "alignments, gaps and given places go with the strategy `best` only";
            return Err(CliError::Usage(format!("{}: {why}", printable(path))));
        }
        return arena::run(path, buffers, &ArenaArgs { capacity, deadline, files }, json);
    };
    drop(buffers);
    let begun = Instant::now();
    let (layout, stopped, code) = progress::with_progress(deadline, |control| match (capacity, args.strategy) {
        (Some(capacity), _) => fitted(&set, capacity, json, control),
        (None, StrategyArg::All | StrategyArg::One(Planner::Best)) => compared(&set, args.nodes, json, control),
        (None, StrategyArg::One(planner)) => chosen(&set, planner, args.nodes, json, control),
    })
    .map_err(|error| match error {
        // The planner rejected records of the file, so name the file.
        CliError::Plan(source) => wrong(source),
        other => other,
    })?;
    stopped::say(stopped, begun);
    if let Some(layout) = layout {
        let svg = || Ok(plan_svg(&printable(path).to_string(), &set.records, &layout)?);
        files.write(svg, || Ok(to_minimalloc(&set, Some(&layout))?))?;
    }
    stopped::exit(stopped, code)
}

/// The plan if one was found, the reason if the search ended early, and the exit code.
type Answer = (Option<Layout>, Option<StopReason>, u8);

/// Compares all strategies.
fn compared(set: &RecordSet, nodes: u64, json: bool, control: &SearchControl<'_>) -> Result<Answer, CliError> {
    let budget = SearchBudget { nodes, ..SearchBudget::default() };
    let comparison = compare_strategies(&set.records, Uses::FirstAndLast, budget, control)?;
    if json {
        out::json(&comparison)?
    } else {
        out::text(&comparison.to_string())?
    }
    Ok((Some(comparison.best.layout), comparison.stopped, 0))
}

/// Plans with the requested strategy. Also supports strategies for a single arena, which is valid for a buffer but not
/// for textures.
fn chosen(
    set: &RecordSet,
    planner: Planner,
    nodes: u64,
    json: bool,
    control: &SearchControl<'_>,
) -> Result<Answer, CliError> {
    let (layout, stopped) = match planner {
        Planner::Strategy(strategy) => {
            let layout = Strategy::place_until(strategy, &set.records, control)?;
            (layout, control.stopped())
        }
        other => {
            let budget = SearchBudget { nodes, ..SearchBudget::default() };
            let best = solve(&set.records, Uses::FirstAndLast, other, budget, control)?;
            (best.layout, best.stopped)
        }
    };
    if json {
        out::json(&layout)?;
    } else {
        out::text(&format!("{planner}: {} in {} regions\n", layout.total(), layout.regions.len()))?;
    }
    Ok((Some(layout), stopped, 0))
}

/// Answer to `--capacity`, as printed.
#[derive(Serialize)]
struct CapacityReport {
    /// The requested capacity.
    capacity: u64,
    /// `fits`, `impossible` or `undecided`.
    answer: &'static str,
    /// End of the last unit in use, if the records fit.
    height: Option<u64>,
    /// Size of the widest step, a lower bound for every plan.
    bound: u64,
    /// Duration of the search in seconds.
    seconds: f64,
    /// Reason for an early end of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<StopReason>,
}

/// Checks whether the records fit into an arena of `capacity`.
fn fitted(set: &RecordSet, capacity: u64, json: bool, control: &SearchControl<'_>) -> Result<Answer, CliError> {
    let begun = Instant::now();
    let bound = bounds(&set.records)?.offsets;
    let fit_result = fit(&set.records, capacity, u64::MAX, control)?;
    let (answer, layout) = match fit_result {
        Fit::Fits(layout) => (CapacityAnswer::Fits, Some(layout)),
        Fit::Infeasible => (CapacityAnswer::Impossible, None),
        Fit::BudgetExhausted => (CapacityAnswer::Undecided, None),
    };
    if let Some(layout) = &layout {
        // Checks again, so that `fits` is never printed for an invalid plan.
        check_layout(&set.records, &[], layout)?;
        if layout.total() > capacity {
            let (end, size) = (layout.total().into(), capacity);
            return Err(PlanError::Layout(LayoutError::OutOfRegion { record: 0, region: 0, end, size }).into());
        }
    }
    let height = layout.as_ref().map(Layout::total);
    // A deadline that passes after the answer is found has no effect.
    let stopped = control.stopped().filter(|_| answer == CapacityAnswer::Undecided);
    let seconds = begun.elapsed().as_secs_f64();
    let fitted = CapacityReport { capacity, answer: answer.word(), height, bound, seconds, stopped };
    if json {
        out::json(&fitted)?;
    } else {
        let verdict = answer.text(capacity, height.unwrap_or_default());
        out::text(&format!("{verdict}; the widest step is {}, {seconds:.3} s\n", grouped(bound)))?;
    }
    Ok((layout, stopped, answer.exit_code()))
}
