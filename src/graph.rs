//! The model in memory: tensors, operators and their attributes. Independent of file formats and devices.
//!
//! Build a graph with [`GraphBuilder`], or read one from a file with [`import::open`](crate::import::open). Run it with
//! [`Model::from_graph`](crate::Model::from_graph).

#[doc(inline)]
pub use texpool_ops::graph::{
    Act, Binary, BoundedInput, BoundedOutput, BuildError, Bytes, Cell, CellFunction, CheckError, Concat, Constant,
    Conv2d, CoordMode, CumSum, DepthOrder, DepthToSpace, DepthwiseConv2d, DynamicQuantize, DynamicScale, ElementType,
    Epilogue, ExtentError, ExtentLimit, Extremes, FixedPoint, FullyConnected, Gather, GatherElements, Graph,
    GraphBuilder, GridSample, Id, IdVec, InputValues, LayoutPermutation, Locate, Lrn, MAX_ELEMENTS, MatMul, Node,
    NodeId, NodeSet, NonMaxSuppression, Normalize, NotFinite, OPERATORS, Op, Pad, PadAxis, PadMode, Padding, Pool2d,
    PoolKind, Prelu, QuantParams, Quantization, QuantizedAdd, QuantizedSum, Reals, Rearrange, Recurrent, Reduce,
    ReduceKind, Requantization, Requantize, Reshape, Resize, ResizeAxis, ResizeMode, Rounding, SegmentKind,
    SegmentReduce, SeparableConv2d, Shape, ShapeError, Softmax, SpaceToDepth, Statistic, StridedAxis, StridedSlice,
    SubtensorError, Taps, Tensor, TensorId, TexelStorage, Threshold, Tile, TopK, Transpose, TransposeConv, Unary,
    Variable, WinogradInput, WinogradOutput, WinogradTile, check, infer, keeps_texels, texels_agree,
};
