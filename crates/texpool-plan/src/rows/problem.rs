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
    /// The texels of each of these rows: all, or a part if several steps write parts of a row.
    pub texels: Range<u32>,
}

/// What one step reads and writes, row by row. A tensor that the step binds is listed even if it reads none of its
/// rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RowStep {
    /// Rows it reads.
    pub reads: Vec<RowUse>,
    /// Rows it writes; each texel of a row is written by one step.
    pub writes: Vec<RowUse>,
}

/// The first step that writes a row or a part of it, and the last that reads it; the same step if none does.
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
    /// Texels of the rows that are alive at it.
    pub texels: u64,
}

/// What is to be placed.
#[derive(Clone, Copy, Debug)]
pub struct RowProblem<'a> {
    /// Rows of each record.
    pub tensors: &'a [TensorRows],
    /// Whether the rows of each record must lie one after another, because the tensor is also used in another shape.
    pub whole: &'a [bool],
    /// The steps.
    pub steps: &'a [RowStep],
}

/// Where each row lies; sizes and places in texels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Texels of each texture.
    pub textures: Vec<u64>,
    /// Texture of each record.
    pub texture_of: Vec<usize>,
    /// First texel of each row of each record. Means nothing for a row that no step writes.
    pub starts: Vec<Vec<u64>>,
}

impl RowLayout {
    /// The cost: the sum of the textures.
    pub fn total(&self) -> u64 {
        self.textures.iter().sum()
    }
}
