//! Why a rule leaves a node as it is.

use crate::{graph::SubtensorError, plan::printable};

/// Why a rule that looked at a node left it as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The value in between has other readers.
    #[error("`{}` is read elsewhere too", printable(tensor))]
    ReadElsewhere {
        /// Name of the value.
        tensor: String,
    },
    /// The value in between is a graph output.
    #[error("`{}` is a graph output", printable(tensor))]
    IsOutput {
        /// Name of the value.
        tensor: String,
    },
    /// The operand is not computed by a node.
    #[error("`{}` is computed by no node", printable(tensor))]
    NotComputed {
        /// Name of the operand.
        tensor: String,
    },
    /// A graph input or output would have to share a texture with another.
    #[error("`{}` and `{}` come in or go out: one must be copied to the other", printable(first), printable(second))]
    MustCopy {
        /// Name of one.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// The node that would take the work over has an operator that cannot.
    #[error("{op} cannot take it over")]
    UnsupportedNode {
        /// Its operator.
        op: &'static str,
    },
    /// The epilogue of the node, or of the one that would take the work over, is in use.
    #[error("the epilogue of {op} has no room left")]
    EpilogueTaken {
        /// Its operator.
        op: &'static str,
    },
    /// An operand that would have to be part of the model is computed.
    #[error("`{}` is no constant", printable(tensor))]
    NotConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// An operand that would have to be computed is part of the model.
    #[error("`{}` is a constant", printable(tensor))]
    IsConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// A constant that is neither one value nor one a channel.
    #[error("`{}` is neither one value nor one a channel", printable(tensor))]
    NotPerChannel {
        /// Name of the constant.
        tensor: String,
    },
    /// The operand is broadcast.
    #[error("`{}` has another shape than the result", printable(tensor))]
    ShapeMismatch {
        /// Name of the operand.
        tensor: String,
    },
    /// The rules have read, or created, as many elements of constants as a graph of this size allows.
    #[error("{elements} more elements of constants are more than the budget of a graph of this size")]
    BudgetExceeded {
        /// How many elements the rule asked for.
        elements: usize,
    },
    /// Folded values overflow.
    #[error("`{}` would not stay finite", printable(tensor))]
    NotFinite {
        /// Name of the constant that would be changed.
        tensor: String,
    },
    /// Constants that round a value by their size, or scale it out of range and back.
    #[error("the constants round `{tensor}` on the way, or scale it out of range and back")]
    RoundsOnPurpose {
        /// Name of the value.
        tensor: String,
    },
    /// The constant is on the side where it cannot be folded.
    #[error("a constant divided by the result is no multiple of the result")]
    ConstantDividend,
    /// The nodes would compute a known function if one of their constants were another.
    #[error("{op} has the constant {due}, the nodes have {found}")]
    ConstantMismatch {
        /// The function's operator.
        op: &'static str,
        /// The number that is there.
        found: String,
        /// The number of the function.
        due: String,
    },
    /// What is added before the padding would have to be added to the padding too.
    #[error("the zeros that {op} pads with would have to be shifted too")]
    PaddedBorder {
        /// The operator that adds zeros around its operand.
        op: &'static str,
    },
    /// Padding that is not zeros in height and width.
    #[error("it does not pad with zeros in height and width alone")]
    NotZeroPadding,
    /// Zeros could win, or be all there is, in a window.
    #[error("a zero could be the maximum of a window")]
    ZeroMayWin,
    /// A constant that would have to be zeros.
    #[error("`{}` holds something else than 0, or -0", printable(tensor))]
    NotZeros {
        /// Name of the constant.
        tensor: String,
    },
    /// Constants put together with several computed values.
    #[error("several computed parts with constants around them would take two steps")]
    SeveralParts,
    /// A reshape that has to move texels, and so is no view.
    #[error("a reshape from {from} to {to} moves texels")]
    TexelsMove {
        /// Extents of the operand.
        from: String,
        /// Extents of the result.
        to: String,
    },
    /// A part of more runs of texels, or inside more others, than plans should look at.
    #[error("`{}` would have too many runs of texels a row, or lie too deep inside others", printable(tensor))]
    TooManyRuns {
        /// Name of the part.
        tensor: String,
    },
    /// A fully connected layer of several rows.
    #[error("several rows are computed faster as a convolution of pixels")]
    SeveralRows,
    /// A part that can be no part of the result's texels.
    #[error(transparent)]
    NotASubtensor(#[from] SubtensorError),
    /// A part that shares its texels with another tensor already.
    #[error("`{}` lies in the texels of another tensor", printable(tensor))]
    StoredElsewhere {
        /// Name of the part.
        tensor: String,
    },
    /// A node would read the texture that it writes.
    #[error("{op} reads `{}`, which would lie in the texture it writes", printable(tensor))]
    ReadsWrittenTexture {
        /// The operator that computes a part.
        op: &'static str,
        /// Name of the operand that would lie beside it.
        tensor: String,
    },
    /// More nodes than the search may visit compute tensors of the same storage.
    #[error("too many nodes compute tensors of the same storage")]
    TooManyNeighbours,
    /// A reshape that needs no step now would need one.
    #[error("the reshape before it would no longer be a view")]
    BreaksView,
}
