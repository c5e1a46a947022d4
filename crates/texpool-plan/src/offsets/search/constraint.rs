//! Constraints on the offsets and the needs of tensors.

use std::ops::Range;

/// Steps during which a tensor needs the same range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) steps: Range<usize>,
    /// Relative to the tensor's start; never empty.
    pub(crate) bytes: Range<u64>,
}

/// Constraints of one tensor of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    /// The offset is a multiple of this.
    pub(crate) align: u64,
    /// Fixed offset, if the tensor has one.
    pub(crate) fixed: Option<u64>,
    /// The bytes that it needs, in the order of steps; empty if it needs all of them at every step. One byte belongs
    /// to all pieces, see [`common_byte`].
    pub(crate) pieces: Vec<Piece>,
}

/// The constraint of a tensor that may have any offset and needs all of its bytes at every step.
static FREE: Constraint = Constraint { align: 1, fixed: None, pieces: Vec::new() };

/// Tensors that may begin at the same offset although they then share bytes. At every step they need one range of
/// bytes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joint {
    /// The tensors, as indices of records.
    pub(crate) members: Vec<usize>,
    /// Alignment and fixed offset hold for all members. The pieces are those of all members.
    pub(crate) constraint: Constraint,
}

/// Constraints of all tensors of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Constraints {
    /// The constraint of each record. Without one a record is free.
    pub(crate) of_each: Vec<Constraint>,
    /// All sets of tensors that may be placed as one.
    pub(crate) joints: Vec<Joint>,
}

impl Constraints {
    /// No constraint at all.
    pub(crate) const NONE: Self = Self { of_each: Vec::new(), joints: Vec::new() };

    /// Returns the constraint of a record.
    pub(crate) fn of(&self, record: usize) -> &Constraint {
        self.of_each.get(record).unwrap_or(&FREE)
    }
}

/// Returns the lowest byte that belongs to all pieces; `None` if there is no such byte.
pub(crate) fn common_byte(pieces: &[Piece]) -> Option<u64> {
    let start = pieces.iter().map(|piece| piece.bytes.start).max().unwrap_or(0);
    pieces.iter().all(|piece| start < piece.bytes.end).then_some(start)
}
