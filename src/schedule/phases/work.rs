//! What an operator has to do, for costs that are predicted: a family of kernels, arithmetic, and texels.

use crate::graph::{Graph, Groups, Node, Op, Shape};

/// Operators whose cost follows from arithmetic and texels in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Family {
    /// Convolutions of single pixels.
    Pointwise,
    /// The same with sums long enough for larger blocks.
    PointwiseDeep,
    /// Convolutions with windows, strides or padding.
    Window,
    /// The same with sums long enough for larger blocks.
    WindowDeep,
    /// Convolutions to at most four channels.
    Narrow,
    /// Convolutions to one or two pixels, and fully connected layers of as many.
    Dense,
    /// Matrix products, and fully connected layers of more pixels that are not those of their operand.
    Rows,
    /// Depthwise convolutions.
    Depthwise,
    /// Transposed convolutions.
    Transposed,
    /// Pooling, and whatever looks at a window or a row without weights.
    Pool,
    /// Reductions.
    Reduce,
    /// Functions of single values.
    Elementwise,
    /// Softmax.
    Softmax,
    /// Resizing.
    Resize,
    /// Operators that move values.
    Move,
    /// Concatenation.
    Concat,
}

/// What an operator has to do for all rows of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Its family.
    pub family: Family,
    /// Floating point operations, epilogues not counted; those of lanes past the last channel are done, so they count.
    pub flops: f64,
    /// Texels of the result.
    pub texels: f64,
    /// Texels that one invocation computes, about.
    pub block: f64,
}

/// Input slices from which on convolutions run in the larger blocks.
const DEEP: usize = 96;

/// What a node has to do.
pub fn work(graph: &Graph, node: &Node) -> Work {
    let shape = |index: usize| node.inputs.get(index).map(|&tensor| graph.shape(tensor));
    let Some(out) = node.outputs.first().map(|&tensor| graph.shape(tensor)) else {
        return Work { family: Family::Elementwise, flops: 0.0, texels: 0.0, block: 1.0 };
    };
    let texels = out.texels();
    let input = shape(0).map_or(0, |x| x.texels());
    let depth = shape(0).map_or(1, |x| x.slices());
    let of = |family, a_texel: usize, block| Work {
        family,
        flops: (texels * a_texel * 4) as f64,
        texels: texels as f64,
        block: f64::from(block),
    };
    // A convolution whose slices of the result take so many of the operand together, of which all are multiplied.
    let sum = |k: Shape, plain: bool, slices: usize| {
        let a_texel = 8 * k.h * k.w * slices;
        match (out.pixels(), out.slices(), plain) {
            (0..=2, ..) => of(Family::Dense, a_texel, 4),
            (_, 1, _) => of(Family::Narrow, a_texel, 8),
            (_, 4.., true) if depth >= DEEP => of(Family::PointwiseDeep, a_texel, 32),
            (_, 4.., false) if depth >= DEEP => of(Family::WindowDeep, a_texel, 32),
            (.., true) => of(Family::Pointwise, a_texel, 16),
            (.., false) => of(Family::Window, a_texel, 16),
        }
    };
    match (&node.op, shape(1)) {
        (Op::Conv2d(conv), Some(k)) => {
            let plain = k.h * k.w == 1 && conv.stride == [1, 1] && conv.groups == 1;
            let block = if depth >= DEEP { 4 } else { 2 };
            sum(k, plain, Groups::new(shape(0).map_or(k.c, |x| x.c), out.c, conv.groups).span(block))
        }
        // Each row of values is a pixel: a convolution of single pixels.
        (Op::FullyConnected, Some(k)) if shape(0).is_some_and(|x| x.c == k.c) => {
            sum(Shape { h: 1, w: 1, ..k }, true, k.slices())
        }
        (Op::DepthwiseConv2d(_), Some(k)) if shape(0).is_some_and(|x| x.c == k.c) => {
            of(Family::Depthwise, 2 * k.h * k.w, 4)
        }
        (Op::DepthwiseConv2d(_), Some(k)) => of(Family::Window, 8 * k.h * k.w, 16),
        (Op::TransposeConv(conv), Some(k)) => {
            let taps = (k.h * k.w).div_ceil(conv.stride[0].max(1) * conv.stride[1].max(1));
            of(Family::Transposed, 8 * taps * k.slices(), 1)
        }
        (Op::FullyConnected, Some(k)) if out.pixels() > 2 => of(Family::Rows, 8 * k.slices(), 4),
        (Op::FullyConnected, Some(k)) => of(Family::Dense, 8 * k.slices(), 4),
        (Op::Pool2d(pool), _) => of(Family::Pool, pool.window[0] * pool.window[1], 1),
        (Op::Reduce { .. }, _) => of(Family::Reduce, input.div_ceil(texels.max(1)), 1),
        (Op::MatMul { .. }, _) => of(Family::Rows, 8 * depth, 1),
        (Op::TopK { k, .. }, _) => of(Family::Pool, *k, 1),
        (Op::Lrn { size, .. }, _) => of(Family::Pool, 2 * size, 1),
        (Op::Normalize { .. }, _) => of(Family::Pool, 7, 1),
        (Op::CumSum { .. }, _) => of(Family::Reduce, input.div_ceil(texels.max(1)), 1),
        (Op::Softmax { .. }, _) => of(Family::Softmax, 1, 1),
        (Op::Resize { .. }, _) => of(Family::Resize, 1, 1),
        (Op::Concat { .. }, _) => of(Family::Concat, 1, 1),
        // What the other operands add is counted as arithmetic.
        (Op::Unary(_) | Op::Binary(_) | Op::Prelu, _) => {
            of(Family::Elementwise, node.inputs.len().saturating_sub(1), 1)
        }
        _ => of(Family::Move, 1, 1),
    }
}
