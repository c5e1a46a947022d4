//! What an operator has to do, for costs that are predicted: a class of cost, arithmetic, and texels.

use crate::graph::{Graph, Node};

/// Operators whose cost follows from arithmetic and texels in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CostClass {
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
    /// Its class of cost.
    pub class: CostClass,
    /// Floating point operations, epilogues not counted; those of lanes past the last channel are done, so they count.
    pub flops: f64,
    /// Texels of the result.
    pub texels: f64,
    /// Texels that one invocation computes, as its kernel says.
    pub block: f64,
}

impl Work {
    /// Work of a node whose every texel of the result takes `a_texel` operations a lane, `block` texels an invocation.
    pub(super) fn new(graph: &Graph, node: &Node, class: CostClass, a_texel: usize, block: usize) -> Self {
        let texels = graph.shape(node.output).texels();
        Self { class, flops: (texels * a_texel * 4) as f64, texels: texels as f64, block: block as f64 }
    }

    /// Work of a node that looks at all texels of its first operand once.
    pub(super) fn of_all_texels(graph: &Graph, node: &Node, class: CostClass) -> Self {
        let read = node.inputs.first().map_or(0, |&tensor| graph.shape(tensor).texels());
        let a_texel = read.div_ceil(graph.shape(node.output).texels().max(1));
        Self::new(graph, node, class, a_texel, 1)
    }
}
