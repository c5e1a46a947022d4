//! Operators and their attributes. Every extent is `[B, H, W, C]` ([`Shape`](super::Shape)); every padding is explicit.

use super::{Binary, CoordMode, PadMode, Reduce, ResizeMode, TensorId, Unary};

/// One step of a [`Epilogue`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Act {
    /// Nothing.
    #[default]
    None,
    /// A function of the value alone.
    Unary(Unary),
    /// `x < 0 ? alpha[c] * x : x` with a constant of one alpha per channel of the result.
    Prelu(TensorId),
}

/// What is done to a node's result before it is stored: `then(first(result) + add)`.
///
/// The file's fused activation is `first`; the rewriter fills the rest.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Epilogue {
    /// Applied to the result.
    pub first: Act,
    /// A tensor added then: same B, H, W as the result, and at most its channels (missing ones count as zero).
    pub add: Option<TensorId>,
    /// Applied last.
    pub then: Act,
}

impl Epilogue {
    /// An epilogue that is an activation alone.
    pub const fn of(first: Act) -> Self {
        Self { first, add: None, then: Act::None }
    }

    /// Whether the epilogue does nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Zeros (or nothing, for pools) around the image: rows and columns before and after.
///
/// `bottom` and `right` follow from the output's extents; they are kept because the file states them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Padding {
    /// Rows above.
    pub top: usize,
    /// Rows below.
    pub bottom: usize,
    /// Columns before.
    pub left: usize,
    /// Columns after.
    pub right: usize,
}

/// A 2-D convolution, depthwise or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`.
    pub dilation: [usize; 2],
    /// Zeros around the input.
    pub padding: Padding,
    /// Channel groups; of no meaning for a depthwise convolution.
    pub groups: usize,
}

/// A transposed 2-D convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposeConv {
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`.
    pub dilation: [usize; 2],
    /// What is cut off the full result (of extent `(in - 1) * stride + (kernel - 1) * dilation + 1`) above and to the
    /// left.
    pub padding: Padding,
    /// Channel groups.
    pub groups: usize,
}

impl TransposeConv {
    /// One without dilation and groups.
    pub const fn plain(stride: [usize; 2], padding: Padding) -> Self {
        Self { stride, dilation: [1, 1], padding, groups: 1 }
    }
}

/// Which pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The greatest of the window's pixels that lie in the image.
    Max,
    /// The mean of the window's pixels that count.
    Average,
    /// The norm of the window's pixels that lie in the image: the `p`-th root of the sum of their `p`-th powers.
    Lp {
        /// The power, at least 1.
        p: u32,
    },
}

/// A 2-D pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2d {
    /// Which.
    pub kind: PoolKind,
    /// Window `[y, x]`.
    pub window: [usize; 2],
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`: the distance between neighbouring pixels of a window.
    pub dilation: [usize; 2],
    /// Border of the image that windows may reach into, however far the last ones hang over.
    pub padding: Padding,
    /// The part of the border whose pixels count, as zeros, in a mean; where there is none, only pixels of the image
    /// count. Pixels beyond it never do.
    pub counted: Option<Padding>,
}

impl Pool2d {
    /// One without dilation, of which only pixels of the image count.
    pub const fn plain(kind: PoolKind, window: [usize; 2], stride: [usize; 2], padding: Padding) -> Self {
        Self { kind, window, stride, dilation: [1, 1], padding, counted: None }
    }

    /// Whether its one window is the whole image of an operand of shape `x`, and its kind the mean.
    pub fn is_mean_of(&self, x: super::Shape) -> bool {
        let none = Padding::default();
        self.kind == PoolKind::Average
            && self.window == [x.h, x.w]
            && self.padding == none
            && self.counted.unwrap_or(none) == none
    }
}

/// How the places that a grid names are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSample {
    /// Whether between pixels their mean by distance is taken; else the nearest pixel, the even one of two as near.
    pub linear: bool,
    /// Whether what lies outside is the pixel of the border that is next to it; else it is zero.
    pub border: bool,
    /// Whether -1 and 1 are the centres of the outermost pixels; else their outer edges.
    pub align_corners: bool,
}

/// In which order the channels of a block of pixels lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepthOrder {
    /// The block's row, its column, then the channel (TensorFlow's order).
    Dcr,
    /// The channel, then the block's row and its column.
    Crd,
}

/// What a node computes. Operands in brackets may be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `x, weights [O, KH, KW, I / groups], [bias [O]]`
    Conv2d(Conv2d),
    /// `x, weights [1, KH, KW, I * multiplier], [bias]`; output channel `o` reads input channel `o / multiplier`.
    DepthwiseConv2d(Conv2d),
    /// `x, weights [O, KH, KW, I / groups], [bias [O]]`
    TransposeConv(TransposeConv),
    /// `x, weights [O, I], [bias [O]]`; every `I` values of `x` in dense order make a row of the result.
    FullyConnected,
    /// `x`
    Pool2d(Pool2d),
    /// `x`; reduces the axes marked (exactly one where the result is an index).
    Reduce {
        /// Which.
        kind: Reduce,
        /// Axes reduced to one, in `B, H, W, C` order.
        axes: [bool; 4],
    },
    /// `a, b`, each extent equal or one.
    Binary(Binary),
    /// `x`
    Unary(Unary),
    /// `x, alpha`; alpha broadcasts.
    Prelu,
    /// `x`
    Pad {
        /// Elements added in front of each axis; a negative number cuts off as many.
        before: [isize; 4],
        /// Elements added behind each axis; a negative number cuts off as many.
        after: [isize; 4],
        /// What they hold.
        mode: PadMode,
    },
    /// `x`; repeated whole along each axis until the result's extent is filled.
    Tile,
    /// `x, indices [1, 1, 1, n]`; element `i` of the result along `axis` is the operand's element `indices[i]`. Negative
    /// indices count from the end, those outside are held inside.
    Gather {
        /// 0 to 3, in `B, H, W, C` order.
        axis: usize,
    },
    /// `x, indices`; each element of the result is the operand's at the same place but for `axis`, where the element of
    /// `indices` says which. Negative indices count from the end, those outside are held inside.
    GatherElements {
        /// 0 to 3, in `B, H, W, C` order.
        axis: usize,
    },
    /// One or more operands, alike but along `axis`.
    Concat {
        /// 0 to 3, in `B, H, W, C` order.
        axis: usize,
    },
    /// `x`; output index `i` of an axis reads `begin + i * stride`.
    StridedSlice {
        /// First index read of each axis.
        begin: [usize; 4],
        /// Distance between indices read; never zero.
        stride: [isize; 4],
    },
    /// `x`; the same elements in dense order under another shape.
    Reshape,
    /// `x`; output axis `i` is input axis `perm[i]`.
    Transpose {
        /// A permutation of 0 to 3.
        perm: [usize; 4],
    },
    /// `x`; channels to `block` by `block` pixels.
    DepthToSpace {
        /// Edge of the block in pixels.
        block: usize,
        /// How the channels of a block lie.
        order: DepthOrder,
    },
    /// `x`; the inverse, of the order [`Dcr`](DepthOrder::Dcr).
    SpaceToDepth {
        /// Edge of the block in pixels.
        block: usize,
    },
    /// `x`; height and width.
    Resize {
        /// How pixels in between are filled.
        mode: ResizeMode,
        /// Where an output pixel lies in the input.
        coords: CoordMode,
        /// Output by input of height and width; without it, the quotients of the extents.
        scale: Option<[f32; 2]>,
    },
    /// `x [B, H, W, C], grid [B, OH, OW, 2]`; the result is `[B, OH, OW, C]`. Each of its pixels is `x` at the place that
    /// the grid names there as `(x, y)`, from -1 to 1 across the image.
    GridSample(GridSample),
    /// `x`; over channels, of `beta * x`.
    Softmax {
        /// Factor of the exponent.
        beta: f32,
        /// Whether the result is the logarithm.
        log: bool,
    },
    /// `a [B, H, M, K], b [B, H, K, N]`; the result is `[B, H, M, N]`. B and H broadcast; either may be a constant.
    MatMul {
        /// Whether `b` is `[B, H, N, K]`.
        transpose_b: bool,
    },
    /// `x`; the `k` greatest or least channels of each pixel, sorted; of equal ones the lower channel comes first.
    TopK {
        /// How many.
        k: usize,
        /// Whether the greatest.
        largest: bool,
        /// Whether the result is their channels' numbers, not their values.
        indices: bool,
    },
    /// `x`; over channels, `x / (bias + alpha / size * sum)^beta` with the sum of the squares of the `size` channels from
    /// `c - floor((size - 1) / 2)` on, as many as there are.
    Lrn {
        /// Channels of the window.
        size: usize,
        /// Factor of the mean of the squares.
        alpha: f32,
        /// Exponent.
        beta: f32,
        /// What is added.
        bias: f32,
    },
    /// `x`; `(x - mean) / sqrt(variance + epsilon)` over the axes marked, the variance that of a whole population.
    Normalize {
        /// Axes of one mean and variance, in `B, H, W, C` order.
        axes: [bool; 4],
        /// What is added to the variance.
        epsilon: f32,
    },
    /// `x`; the sum of all elements up to each along an axis.
    CumSum {
        /// 0 to 3, in `B, H, W, C` order.
        axis: usize,
        /// Whether the element itself does not count.
        exclusive: bool,
        /// Whether from the end.
        reverse: bool,
    },
}

impl Op {
    /// Whether each value of the result is a value of an operand.
    pub const fn moves_only(&self) -> bool {
        match self {
            Self::Pad { .. }
            | Self::Tile
            | Self::Gather { .. }
            | Self::GatherElements { .. }
            | Self::Concat { .. }
            | Self::StridedSlice { .. }
            | Self::Reshape
            | Self::Transpose { .. }
            | Self::DepthToSpace { .. }
            | Self::SpaceToDepth { .. } => true,
            Self::Pool2d(pool) => matches!(pool.kind, PoolKind::Max),
            Self::Conv2d(_)
            | Self::DepthwiseConv2d(_)
            | Self::TransposeConv(_)
            | Self::FullyConnected
            | Self::Reduce { .. }
            | Self::Binary(_)
            | Self::Unary(_)
            | Self::Prelu
            | Self::Resize { .. }
            | Self::GridSample(_)
            | Self::Softmax { .. }
            | Self::MatMul { .. }
            | Self::TopK { .. }
            | Self::Lrn { .. }
            | Self::Normalize { .. }
            | Self::CumSum { .. } => false,
        }
    }

    /// Operands that must be part of the model, and what they are called: they are packed once, before any run.
    pub(super) const fn weights(&self) -> &'static [(usize, &'static str)] {
        match self {
            Self::Conv2d(_) | Self::DepthwiseConv2d(_) | Self::TransposeConv(_) | Self::FullyConnected => {
                &[(1, "weights"), (2, "bias")]
            }
            Self::Pool2d(_)
            | Self::Reduce { .. }
            | Self::Binary(_)
            | Self::Unary(_)
            | Self::Prelu
            | Self::Pad { .. }
            | Self::Tile
            | Self::Gather { .. }
            | Self::GatherElements { .. }
            | Self::Concat { .. }
            | Self::StridedSlice { .. }
            | Self::Reshape
            | Self::Transpose { .. }
            | Self::DepthToSpace { .. }
            | Self::SpaceToDepth { .. }
            | Self::Resize { .. }
            | Self::GridSample(_)
            | Self::Softmax { .. }
            | Self::MatMul { .. }
            | Self::TopK { .. }
            | Self::Lrn { .. }
            | Self::Normalize { .. }
            | Self::CumSum { .. } => &[],
        }
    }

    /// The operator's name as the TensorFlow Lite schema writes it or would, or as ONNX does where only it has one.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conv2d(_) => "CONV_2D",
            Self::DepthwiseConv2d(_) => "DEPTHWISE_CONV_2D",
            Self::TransposeConv(_) => "TRANSPOSE_CONV",
            Self::FullyConnected => "FULLY_CONNECTED",
            Self::Pool2d(Pool2d { kind: PoolKind::Max, .. }) => "MAX_POOL_2D",
            Self::Pool2d(Pool2d { kind: PoolKind::Average, .. }) => "AVERAGE_POOL_2D",
            Self::Pool2d(Pool2d { kind: PoolKind::Lp { p: 2 }, .. }) => "L2_POOL_2D",
            Self::Pool2d(Pool2d { kind: PoolKind::Lp { .. }, .. }) => "LP_POOL_2D",
            Self::Reduce { kind, .. } => kind.name(),
            Self::Binary(binary) => binary.name(),
            Self::Unary(unary) => unary.name(),
            Self::Prelu => "PRELU",
            Self::Pad { .. } => "PAD",
            Self::Tile => "TILE",
            Self::Gather { .. } => "GATHER",
            Self::GatherElements { .. } => "GATHER_ELEMENTS",
            Self::Concat { .. } => "CONCATENATION",
            Self::StridedSlice { .. } => "STRIDED_SLICE",
            Self::Reshape => "RESHAPE",
            Self::Transpose { .. } => "TRANSPOSE",
            Self::DepthToSpace { .. } => "DEPTH_TO_SPACE",
            Self::SpaceToDepth { .. } => "SPACE_TO_DEPTH",
            Self::Resize { mode: ResizeMode::Linear, .. } => "RESIZE_BILINEAR",
            Self::Resize { mode: ResizeMode::Nearest(_), .. } => "RESIZE_NEAREST_NEIGHBOR",
            Self::Resize { mode: ResizeMode::Cubic { .. }, .. } => "RESIZE_BICUBIC",
            Self::GridSample(_) => "GridSample",
            Self::Softmax { log: false, .. } => "SOFTMAX",
            Self::Softmax { log: true, .. } => "LOG_SOFTMAX",
            Self::MatMul { .. } => "BATCH_MATMUL",
            Self::TopK { .. } => "TOPK_V2",
            Self::Lrn { .. } => "LOCAL_RESPONSE_NORMALIZATION",
            Self::Normalize { .. } => "MeanVarianceNormalization",
            Self::CumSum { .. } => "CUMSUM",
        }
    }
}
