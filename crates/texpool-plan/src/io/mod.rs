//! Reads usage records from text and writes them: minimalloc's CSV, a CSV of usage records, and JSON. Works on
//! strings, not files.
//!
//! Errors contain the line and column, both counted from 1. The output can be passed to `texpool plan --records
//! FILE`:
//!
//! ```
//! use texpool_plan::{UsageRecord, io::{RecordSet, from_text, to_csv}};
//!
//! let set = RecordSet {
//!     names: vec!["input".into(), "conv".into()],
//!     records: vec![UsageRecord::new(0, 0, 602_112), UsageRecord::new(0, 1, 1_605_632)],
//!     offsets: None,
//! };
//! let text = to_csv(&set);
//! assert_eq!(text, "tensor,first_op,last_op,size_bytes\ninput,0,0,602112\nconv,0,1,1605632\n");
//! assert_eq!(from_text(&text)?, set);
//! # Ok::<(), texpool_plan::PlanError>(())
//! ```

mod csv;
mod csv_rows;
mod csv_text;
mod csv_writer;
#[cfg(feature = "serde")]
mod json;
mod names;
mod record_set;

pub use csv::{buffers_from_csv, from_csv, memory_choices_from_csv};
pub use csv_writer::{buffers_to_csv, memories_to_csv, to_csv, to_minimalloc};
#[cfg(feature = "serde")]
pub use json::{from_json, to_json};
pub use record_set::RecordSet;

use super::{
    buffers::Buffer,
    error::PlanError,
    memories::{Memory, MemoryChoice},
};

/// Reads records from JSON if the text starts with `{` or `[`, and otherwise from CSV. The [module](self) has an
/// example.
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn from_text(text: &str) -> Result<RecordSet, PlanError> {
    #[cfg(feature = "serde")]
    if is_json(text) {
        return from_json(text);
    }
    from_csv(text)
}

/// Reads buffers with all their properties from minimalloc's CSV, like [`buffers_from_csv`], or the records of a JSON
/// text as buffers.
///
/// ```
/// use texpool_plan::{Buffer, io::buffers_from_text};
///
/// let read = buffers_from_text("id,lower,upper,size,alignment\na,0,3,4,2\n")?;
/// assert_eq!(read, [Buffer::new(0..3, 4).named("a").aligned(2)]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn buffers_from_text(text: &str) -> Result<Vec<Buffer>, PlanError> {
    #[cfg(feature = "serde")]
    if is_json(text) {
        let RecordSet { names, records, .. } = from_json(text)?;
        return Ok(names.into_iter().zip(records).map(|(name, record)| Buffer::from(record).named(name)).collect());
    }
    buffers_from_csv(text)
}

/// Reads buffers with the memories that each may be in, like [`memory_choices_from_csv`], or the records of a JSON text
/// as buffers that may be in every memory.
///
/// ```
/// use texpool_plan::{Memory, io::memory_choices_from_text};
///
/// let memories = [Memory::new().named("sram").capacity(10), Memory::new().named("dram")];
/// let read = memory_choices_from_text("id,lower,upper,size\na,0,3,4\n", &memories)?;
/// assert_eq!(read[0].1.iter().map(|choice| choice.cost).collect::<Vec<_>>(), [0, 4]);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Parse`] with the line and column of the error.
pub fn memory_choices_from_text(
    text: &str,
    memories: &[Memory],
) -> Result<Vec<(Buffer, Vec<MemoryChoice>)>, PlanError> {
    if is_json(text) {
        let with_choices = |buffer: Buffer| {
            let choices = csv::costs_by_size(&buffer, memories);
            (buffer, choices)
        };
        return Ok(buffers_from_text(text)?.into_iter().map(with_choices).collect());
    }
    memory_choices_from_csv(text, memories)
}

/// Returns whether a text is JSON, which only crates with the feature `serde` read.
fn is_json(text: &str) -> bool {
    cfg!(feature = "serde") && text.trim_start().starts_with(['{', '['])
}
