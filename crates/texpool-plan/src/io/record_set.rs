//! What is read from a text, and the error if it cannot be read.

use crate::{buffers::Buffer, error::PlanError, record::UsageRecord};

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

impl RecordSet {
    /// The records of buffers that have lives and sizes, and if all have an offset, their offsets; `None` if there is
    /// more to one of them. Hints are left out.
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
        let simple = |b: &Buffer| b.align == 1 && b.gaps.is_empty() && b.offset.is_some() == offsets.is_some();
        if !buffers.iter().all(simple) {
            return None;
        }
        let record = |b: &Buffer| UsageRecord::new(b.live.start, b.live.end.saturating_sub(1), b.size);
        let offsets = offsets.filter(|offsets| !offsets.is_empty());
        let names = buffers.iter().map(|b| b.name.clone()).collect();
        Some(Self { names, records: buffers.iter().map(record).collect(), offsets })
    }
}

/// The error at a line and column.
pub(super) fn wrong<T>(line: usize, column: usize, why: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Parse { line, column, why: why.into() })
}
