//! Constraints on the offset and the needs of a tensor.

use std::ops::Range;

/// Constraints of one tensor of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    /// The offset is a multiple of this.
    pub(crate) align: u64,
    /// Fixed offset, if the tensor has one.
    pub(crate) given: Option<u64>,
    /// Steps within the live range at which it needs no memory. They do not overlap and end before the live range.
    pub(crate) gaps: Vec<Range<usize>>,
}

impl Default for Constraint {
    /// Creates the constraint of a tensor that may have any offset.
    fn default() -> Self {
        Self { align: 1, given: None, gaps: Vec::new() }
    }
}
