//! What each step reads and writes: the checker and the banks need it, the other problems do not.

use super::{PlanError, UsageRecord};

/// Steps above which a list of steps is refused rather than built: no network has that many.
pub const MAX_STEPS: usize = 1 << 22;

/// The records one step reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepUse {
    /// Indices of the records it reads.
    pub reads: Vec<usize>,
    /// Indices of the records it writes.
    pub writes: Vec<usize>,
}

/// The plain assumption where only records are known: a tensor is written at its first step and read at its last.
///
/// A tensor of a single step is written there and read nowhere.
///
/// # Errors
/// [`PlanError::TooManySteps`] if a record ends at or above [`MAX_STEPS`].
pub fn uses_from_records(records: &[UsageRecord]) -> Result<Vec<StepUse>, PlanError> {
    let mut uses = Vec::new();
    for (record, r) in records.iter().enumerate() {
        if r.last >= MAX_STEPS || r.first > r.last {
            return Err(PlanError::TooManySteps { record, last: r.last.max(r.first), limit: MAX_STEPS });
        }
        if uses.len() <= r.last {
            uses.resize(r.last + 1, StepUse::default());
        }
        uses[r.first].writes.push(record);
        if r.last > r.first {
            uses[r.last].reads.push(record);
        }
    }
    Ok(uses)
}

/// An index outside the records must not reach the search; the rest is the checker's.
pub(super) fn records_exist(records: &[UsageRecord], uses: &[StepUse]) -> Result<(), PlanError> {
    for (step, touch) in uses.iter().enumerate() {
        if let Some(&record) = touch.reads.iter().chain(&touch.writes).find(|&&record| record >= records.len()) {
            return Err(PlanError::UseOutsideLife { step, record, first: 0, last: 0 });
        }
    }
    Ok(())
}
