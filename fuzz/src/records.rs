//! What is done with the text of usage records: shared by the fuzz target and by the test that runs the committed texts.

use std::time::Duration;

use texpool::plan::{
    ArenaPlanner, Planner, SearchBudget, SearchControl, Uses, check_layout,
    io::{buffers_from_text, buffers_to_csv, from_text, to_csv},
    solve,
};

/// Most records that are searched to the end.
const MAX_RECORDS: usize = 32;
/// A little of each search.
const BUDGET: SearchBudget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };
/// What more records may take.
const DEADLINE: Duration = Duration::from_millis(100);

/// Placements of buffers that are tried.
const EFFORT: u64 = 2000;

/// Reads usage records and buffers from text, writes them again, and plans them: whatever they are, a plan is checked.
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
