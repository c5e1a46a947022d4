//! What is done with the text of usage records: shared by the fuzz target and by the test that runs the committed texts.

use texpool::plan::{
    Budget, best,
    io::{from_text, to_csv},
    uses_from_records,
};

/// Most records that are planned, and most steps.
const MAX_RECORDS: usize = 32;
const MAX_STEPS: usize = 1 << 12;
/// A little of each search.
const BUDGET: Budget = Budget { nodes: 2, moves: 200 };

/// Reads usage records from text, writes them again, and plans a few.
pub(crate) fn drive(text: &str) {
    let Ok(set) = from_text(text) else { return };
    let again = from_text(&to_csv(&set));
    assert_eq!(again.map(|again| again.records).ok().as_ref(), Some(&set.records), "what is written reads the same");
    let steps = set.records.iter().map(|record| record.last).max().unwrap_or(0);
    if set.records.len() > MAX_RECORDS || steps > MAX_STEPS {
        return;
    }
    if let Ok(uses) = uses_from_records(&set.records) {
        let _ = best(&set.records, &uses, BUDGET);
    }
}
