//! The reasons a rule has for leaving a place alone.

use crate::{graph::SubtensorError, plan::shown};

/// Why a rule that looked at a node left it as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The value in between has other readers.
    #[error("`{}` is read elsewhere too", shown(tensor))]
    ReadElsewhere {
        /// Name of the value.
        tensor: String,
    },
    /// The value in between is a graph output.
    #[error("`{}` is a graph output", shown(tensor))]
    GoesOut {
        /// Name of the value.
        tensor: String,
    },
    /// The operand is not computed by a node.
    #[error("`{}` is computed by no node", shown(tensor))]
    NotComputed {
        /// Name of the operand.
        tensor: String,
    },
    /// A graph input or output would have to share a texture with another.
    #[error("`{}` and `{}` come in or go out: one must be copied to the other", shown(first), shown(second))]
    MustCopy {
        /// Name of one.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// The node that would take the work over is of a kind that cannot.
    #[error("{op} cannot take it over")]
    Neighbour {
        /// Its operator.
        op: &'static str,
    },
    /// The node, or the one that would take it over, does something after its result already.
    #[error("{op} has no room left after its result")]
    EpilogueTaken {
        /// Its operator.
        op: &'static str,
    },
    /// An operand that would have to be part of the model is computed.
    #[error("`{}` is no constant", shown(tensor))]
    NotConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// An operand that would have to be computed is part of the model.
    #[error("`{}` is a constant", shown(tensor))]
    IsConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// A constant that is neither one value nor one a channel.
    #[error("`{}` is neither one value nor one a channel", shown(tensor))]
    NotPerChannel {
        /// Name of the constant.
        tensor: String,
    },
    /// The operand is broadcast.
    #[error("`{}` has other extents than the result", shown(tensor))]
    OtherExtents {
        /// Name of the operand.
        tensor: String,
    },
    /// The rules have looked at, or made, as many elements of constants as a graph of this size may have them do.
    #[error("{elements} more elements of constants would be gone through than a graph of this size may ask for")]
    TooMuch {
        /// How many elements it is about.
        elements: usize,
    },
    /// Folded values overflow.
    #[error("`{}` would not stay finite", shown(tensor))]
    NotFinite {
        /// Name of the constant that would be changed.
        tensor: String,
    },
    /// Constants that round a value by their size, or scale it out of range and back.
    #[error("the constants round `{tensor}` on the way, or scale it out of range and back")]
    Absorbs {
        /// Name of the value.
        tensor: String,
    },
    /// The constant is on the side where it cannot be folded.
    #[error("a constant divided by the result is no scaled result")]
    Dividend,
    /// The nodes would compute a known function if a number in them were another.
    #[error("{op} has {due} where {found} is")]
    OtherNumber {
        /// The function's operator.
        op: &'static str,
        /// The number that is there.
        found: String,
        /// The number of the function.
        due: String,
    },
    /// What is added before the border would have to be added to the border too.
    #[error("the border that {op} adds would be shifted too")]
    Border {
        /// The operator that adds zeros around its operand.
        op: &'static str,
    },
    /// Padding that is not zeros in height and width.
    #[error("it does not pad with zeros, in height and width alone")]
    NotZerosAround,
    /// Zeros could win, or be all there is, in a window.
    #[error("zeros could be the greatest of a window")]
    ZerosCount,
    /// A constant that would have to be zeros.
    #[error("`{}` holds something else than 0, or -0", shown(tensor))]
    NotZeros {
        /// Name of the constant.
        tensor: String,
    },
    /// Constants put together with several computed values.
    #[error("to put several values together and constants around them would be two steps")]
    SeveralParts,
    /// The view's texels would not lie right.
    #[error("the texels of {from} lie elsewhere as {to}")]
    TexelsElsewhere {
        /// Extents of the operand.
        from: String,
        /// Extents of the result.
        to: String,
    },
    /// A part in more pieces, or inside more others, than plans should look at.
    #[error("`{}` would lie in too many pieces, or too deep inside others", shown(tensor))]
    ManyPieces {
        /// Name of the part.
        tensor: String,
    },
    /// A layer of several rows of values.
    #[error("several rows of values are read faster where each is a pixel")]
    SeveralRows,
    /// A part that can be no part of the result's texels.
    #[error(transparent)]
    NotASubtensor(#[from] SubtensorError),
    /// A part that shares its texels with another tensor already.
    #[error("`{}` lies in the texels of another tensor", shown(tensor))]
    LiesElsewhere {
        /// Name of the part.
        tensor: String,
    },
    /// A node would read the texture that it writes.
    #[error("{op} reads `{}`, which would lie in the texture it writes", shown(tensor))]
    ReadsNeighbour {
        /// The operator that computes a part.
        op: &'static str,
        /// Name of the operand that would lie beside it.
        tensor: String,
    },
    /// More nodes lie around it than a search for what reads what may look at.
    #[error("too many nodes compute tensors that would lie around it")]
    ManyNeighbours,
    /// A reshape that needs no step now would need one.
    #[error("the reshape before it would no longer be a view")]
    SpoilsView,
}
