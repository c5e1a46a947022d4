//! What is read from a text, and what is said of one that cannot be read.

use crate::plan::{error::PlanError, record::UsageRecord};

/// Records with the names that a text gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// One name a record; no two are the same.
    pub names: Vec<String>,
    /// The records.
    pub records: Vec<UsageRecord>,
    /// Offsets, where the text had any: a plan of one arena.
    pub offsets: Option<Vec<u64>>,
}

/// Refuses a text at a line and column.
pub(super) fn wrong<T>(line: usize, column: usize, why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Parse { line, column, why: why.into() })
}
