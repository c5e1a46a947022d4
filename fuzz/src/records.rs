//! Processes usage records as text, for the fuzz target and for the test that runs the committed texts.

use std::time::Duration;

use texpool_plan::{
    ArenaPlanner, Planner, SearchBudget, SearchControl, Uses, check_layout,
    io::{buffers_from_text, buffers_to_csv, from_text, to_csv},
    solve,
};

/// Maximum number of records for which searches run to the end.
const MAX_RECORDS: usize = 32;
/// A small budget for each search.
const BUDGET: SearchBudget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };
/// Time limit for more records.
const DEADLINE: Duration = Duration::from_millis(100);

/// Maximum number of buffer placements to try.
const EFFORT: u64 = 2000;

/// Reads usage records and buffers from text, checks that they survive writing and reading, and plans and checks
/// them.
pub(crate) fn drive(text: &str) {
    drive_buffers(text);
    let Ok(set) = from_text(text) else { return };
    let again = from_text(&to_csv(&set));
    assert_eq!(again.map(|again| again.records).ok().as_ref(), Some(&set.records), "what is written reads the same");
    let control = match set.records.len() {
        ..=MAX_RECORDS => SearchControl::new(),
        _ => SearchControl::new().timeout(DEADLINE),
    };
    if let Ok(found) = solve(&set.records, Uses::FirstAndLast, Planner::Best, BUDGET, &control) {
        assert_eq!(check_layout(&set.records, Uses::FirstAndLast, &found.layout), Ok(()));
    }
}

fn drive_buffers(text: &str) {
    let Ok(buffers) = buffers_from_text(text) else { return };
    let again = buffers_to_csv(&buffers, None).and_then(|text| buffers_from_text(&text));
    assert_eq!(again.map(|again| again.len()), Ok(buffers.len()), "what is written is read");
    let planner = ArenaPlanner::from_iter(buffers).effort(EFFORT).deadline(DEADLINE);
    if let Ok(plan) = planner.plan() {
        assert_eq!(planner.check(&plan), Ok(()));
    }
}
