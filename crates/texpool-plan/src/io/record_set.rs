//! The result of reading a text, and the error type for unreadable text.

use crate::{buffers::Buffer, error::PlanError, record::UsageRecord};

/// Records with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSet {
    /// A unique name for each record.
    pub names: Vec<String>,
    /// The records.
    pub records: Vec<UsageRecord>,
    /// Offsets in one arena, if the text has them.
    pub offsets: Option<Vec<u64>>,
}

impl RecordSet {
    /// Converts buffers that have only live ranges and sizes to records. If all buffers have fixed offsets, these are
    /// included. Returns `None` if any buffer has further constraints. Hints are ignored.
    ///
    /// ```
    /// use texpool_plan::{Buffer, UsageRecord, io::RecordSet};
    ///
    /// let set = RecordSet::from_buffers(&[Buffer::new(0..3, 4).named("a")]).expect("there is no more to it");
    /// assert_eq!(set.records, [UsageRecord::new(0, 2, 4)]);
    /// assert_eq!(RecordSet::from_buffers(&[Buffer::new(0..3, 4).aligned(2)]), None);
    /// ```
    pub fn from_buffers(buffers: &[Buffer]) -> Option<Self> {
        let offsets: Option<Vec<u64>> = buffers.iter().map(|b| b.offset).collect();
        let simple = |b: &Buffer| {
            b.align == 1 && b.gaps.is_empty() && b.in_place_of.is_none() && b.offset.is_some() == offsets.is_some()
        };
        if !buffers.iter().all(simple) {
            return None;
        }
        let record = |b: &Buffer| UsageRecord::new(b.live.start, b.live.end.saturating_sub(1), b.size);
        let offsets = offsets.filter(|offsets| !offsets.is_empty());
        let names = buffers.iter().map(|b| b.name.clone()).collect();
        Some(Self { names, records: buffers.iter().map(record).collect(), offsets })
    }
}

/// Returns an error at a line and column.
pub(super) fn wrong<T>(line: usize, column: usize, why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Parse { line, column, why: why.into() })
}
