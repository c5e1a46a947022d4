//! Records from and to text: the CSV of minimalloc, the CSV of usage records, and JSON. Knows strings, not files.
//!
//! Whatever is wrong with a text is said with its line and column, both counted from 1.

mod csv;
#[cfg(feature = "serde")]
mod json;
mod names;

pub use csv::{from_csv, to_csv, to_minimalloc};
#[cfg(feature = "serde")]
pub use json::{from_json, to_json};

use super::{PlanError, UsageRecord};

/// Records with the names that a text gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// One name a record; no two are the same.
    pub names: Vec<String>,
    /// The records.
    pub records: Vec<UsageRecord>,
    /// Offsets, where the text had any: somebody's plan of one arena.
    pub offsets: Option<Vec<u64>>,
}

/// Records in the text that starts with `{` or `[` for JSON, with a header for CSV.
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of what is wrong.
pub fn from_text(text: &str) -> Result<RecordSet, PlanError> {
    #[cfg(feature = "serde")]
    if text.trim_start().starts_with(['{', '[']) {
        return from_json(text);
    }
    from_csv(text)
}

fn wrong<T>(line: usize, column: usize, why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Parse { line, column, why: why.into() })
}
