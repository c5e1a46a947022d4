//! What is read from a text, and the error if it cannot be read.

use crate::plan::{error::PlanError, record::UsageRecord};

/// Records with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// A name for each record; no two are the same.
    pub names: Vec<String>,
    /// The records.
    pub records: Vec<UsageRecord>,
    /// Offsets in one arena, if the text has them.
    pub offsets: Option<Vec<u64>>,
}

/// The error at a line and column.
pub(super) fn wrong<T>(line: usize, column: usize, why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Parse { line, column, why: why.into() })
}
