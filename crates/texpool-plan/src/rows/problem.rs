//! The problem of placing rows, and its solution.

use std::ops::Range;

use crate::realize::TensorRows;

/// Rows of a tensor that a step touches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RowUse {
    /// Index of the record.
    pub record: usize,
    /// The rows.
    pub rows: Range<u32>,
    /// The texels used in each of these rows: all, or a part if several steps write parts of a row.
    pub texels: Range<u32>,
}

/// The rows that one step reads and writes. A tensor that the step binds is listed even if the step reads none of its
/// rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RowStep {
    /// Rows it reads.
    pub reads: Vec<RowUse>,
    /// Rows it writes. Each texel of a row is written by one step.
    pub writes: Vec<RowUse>,
}

/// The first step that writes a row or a part of it, and the last step that reads it. If no step reads it, both are
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRange {
    /// The step that writes it.
    pub first: usize,
    /// The last step that reads it, inclusive.
    pub last: usize,
}

/// The step of a schedule at which the most texels are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivePeak {
    /// The step.
    pub step: usize,
    /// Texels of the rows that are alive at that step.
    pub texels: u64,
}

/// The input: tensors and steps.
#[derive(Clone, Copy, Debug)]
pub struct RowProblem<'a> {
    /// Rows of each record.
    pub tensors: &'a [TensorRows],
    /// Marks records whose rows must follow each other, because the tensor is also used in another shape.
    pub whole: &'a [bool],
    /// The steps.
    pub steps: &'a [RowStep],
}

/// The position of each row. Sizes and positions are in texels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Texels of each texture.
    pub textures: Vec<u64>,
    /// Texture of each record.
    pub texture_of: Vec<usize>,
    /// First texel of each row of each record. Meaningless for a row that no step writes.
    pub starts: Vec<Vec<u64>>,
}

impl RowLayout {
    /// Returns the cost: the sum of the textures.
    pub fn total(&self) -> u64 {
        self.textures.iter().sum()
    }
}
