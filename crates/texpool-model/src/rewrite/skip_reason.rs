//! Reasons for which a rule leaves a node unchanged.

use texpool_ops::graph::SubtensorError;
use texpool_plan::printable;

/// Reason for which a rule left a node unchanged.
///
/// ```
/// use texpool::rewrite::SkipReason;
///
/// let why = SkipReason::ReadElsewhere { tensor: "features".to_owned() };
/// assert_eq!(why.to_string(), "`features` is read elsewhere too");
/// ```
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
    /// The operand is an input or a constant, not the result of a node.
    #[error("`{}` is computed by no node", printable(tensor))]
    NotComputed {
        /// Name of the operand.
        tensor: String,
    },
    /// Two graph inputs or outputs would have to share a texture.
    #[error("`{}` and `{}` come in or go out: one must be copied to the other", printable(first), printable(second))]
    MustCopy {
        /// Name of one tensor.
        first: String,
        /// Name of the other tensor.
        second: String,
    },
    /// The operator of the node that should take over the work does not support it.
    #[error("{op} cannot take it over")]
    UnsupportedNode {
        /// Its operator.
        op: &'static str,
    },
    /// The result is an angle: rounded otherwise, a large one is another angle.
    #[error("{op} of a large number would change with its rounding")]
    PeriodicReader {
        /// The sine, cosine or tangent.
        op: &'static str,
    },
    /// The node adds up integers, whose sums have to be exact.
    #[error("its sums of integers are exact")]
    ExactSums,
    /// The epilogue of the node, or of the node that should take over the work, is already in use.
    #[error("the epilogue of {op} has no room left")]
    EpilogueTaken {
        /// Its operator.
        op: &'static str,
    },
    /// An operand that must be constant is computed.
    #[error("`{}` is no constant", printable(tensor))]
    NotConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// An operand that must be computed is a constant.
    #[error("`{}` is a constant", printable(tensor))]
    IsConstant {
        /// Name of the operand.
        tensor: String,
    },
    /// A constant that has neither a single value nor one value per channel.
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
    /// The rules have read or created as many elements of constants as the budget for a graph of this size allows.
    #[error("{elements} more elements of constants are more than the budget of a graph of this size")]
    BudgetExceeded {
        /// Number of elements that the rule requested.
        elements: usize,
    },
    /// Folded values would overflow.
    #[error("`{}` would not stay finite", printable(tensor))]
    NotFinite {
        /// Name of the constant that would be changed.
        tensor: String,
    },
    /// Constants whose size rounds a value on purpose, or that scale a value out of range and back.
    #[error("the constants round `{tensor}` on the way, or scale it out of range and back")]
    RoundsOnPurpose {
        /// Name of the value.
        tensor: String,
    },
    /// The constant is the dividend, so it cannot be folded.
    #[error("a constant divided by the result is no multiple of the result")]
    ConstantDividend,
    /// The nodes match a known function except for one constant.
    #[error("{op} has the constant {due}, the nodes have {found}")]
    ConstantMismatch {
        /// The function's operator.
        op: &'static str,
        /// The file's constant.
        found: String,
        /// The function's constant.
        due: String,
    },
    /// A shift of the image would also have to apply to the zeros that the operator pads with.
    #[error("the zeros that {op} pads with would have to be shifted too")]
    PaddedBorder {
        /// The operator that adds zeros around its operand.
        op: &'static str,
    },
    /// The stride and the window have no common divisor by which the signal would be cheaper to read.
    #[error("no number of samples that divides the stride and the window of {op} makes it cheaper")]
    NoFrames {
        /// The operator.
        op: &'static str,
    },
    /// The padding is not limited to zeros in height and width.
    #[error("it does not pad with zeros in height and width alone")]
    NotZeroPadding,
    /// Padding zeros could become the maximum of a window.
    #[error("a zero could be the maximum of a window")]
    ZeroMayWin,
    /// A constant that would have to contain only zeros.
    #[error("`{}` holds something else than 0, or -0", printable(tensor))]
    NotZeros {
        /// Name of the constant.
        tensor: String,
    },
    /// The concatenation joins constants with several computed values.
    #[error("several computed parts with constants around them would take two steps")]
    SeveralParts,
    /// A node that has to move texels, so it cannot be a view.
    #[error("{op} from {from} to {to} moves texels")]
    TexelsMove {
        /// The operator.
        op: &'static str,
        /// Extents of the operand.
        from: String,
        /// Extents of the result.
        to: String,
    },
    /// A part with more runs of texels, or nested more deeply, than plans should examine.
    #[error("`{}` would have too many runs of texels a row, or lie too deep inside others", printable(tensor))]
    TooManyRuns {
        /// Name of the part.
        tensor: String,
    },
    /// A fully connected layer with several rows.
    #[error("several rows are computed faster as a convolution of pixels")]
    SeveralRows,
    /// A part that cannot lie in the result's texels.
    #[error(transparent)]
    NotASubtensor(#[from] SubtensorError),
    /// A part that already shares its texels with another tensor.
    #[error("`{}` lies in the texels of another tensor", printable(tensor))]
    StoredElsewhere {
        /// Name of the part.
        tensor: String,
    },
    /// A node would read the texture that it writes. WebGPU forbids this.
    #[error("{op} reads `{}`, which would lie in the texture it writes", printable(tensor))]
    ReadsWrittenTexture {
        /// The operator that computes a part.
        op: &'static str,
        /// Name of the operand that would be stored in the same texture.
        tensor: String,
    },
    /// Tensors of the same storage are computed by more nodes than the search may visit.
    #[error("too many nodes compute tensors of the same storage")]
    TooManyNeighbours,
    /// A convolution that would be slower as Winograd's algorithm.
    #[error("with {} input and {} output channels the transforms would take more time than they save", channels[0], channels[1])]
    NotWorthTransforming {
        /// Channels of the input and of the result.
        channels: [usize; 2],
    },
    /// A pair of convolutions that would be slower in one step.
    #[error("with {channels} output channels the depthwise convolution would be computed too often")]
    NotWorthJoining {
        /// Channels of the result.
        channels: usize,
    },
    /// A reshape that is a view now would need a step.
    #[error("the reshape before it would no longer be a view")]
    BreaksView,
}
