//! Records from and to text: the CSV of minimalloc, the CSV of usage records, and JSON. Knows strings, not files.
//!
//! Whatever is wrong with a text is said with its line and column, both counted from 1.

mod csv;
#[cfg(feature = "serde")]
mod json;
mod names;
mod record_set;

pub use csv::{from_csv, to_csv, to_minimalloc};
#[cfg(feature = "serde")]
pub use json::{from_json, to_json};
pub use record_set::RecordSet;

use super::error::PlanError;

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
