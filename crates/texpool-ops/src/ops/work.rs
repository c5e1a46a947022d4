//! Work of an operator, for predicting its cost: a cost class, arithmetic, and texels.

use crate::graph::{Graph, Node};

/// Class of operators whose cost depends on arithmetic and texels in the same way.
///
/// ```
/// use texpool_ops::graph::{Act, Conv2d, GraphBuilder, NodeId, Padding};
/// use texpool_ops::ops::{CostClass, work};
///
/// let mut b = GraphBuilder::new("layer");
/// let (x, weights) = (b.input("x", &[1, 56, 56, 64])?, b.constant("weights", &[64, 3, 3, 64], &[0.1; 64 * 9 * 64])?);
/// let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
/// let y = b.conv2d("y", conv, x, weights, None, Act::None)?;
/// let graph = b.finish(&[y])?;
/// let work = work(&graph, &graph.nodes[NodeId::new(0)]);
/// assert!(matches!(work.class, CostClass::Window | CostClass::WindowDeep));
/// assert_eq!(work.texels, 54.0 * 54.0 * 16.0);
/// # Ok::<(), texpool_ops::graph::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CostClass {
    /// Convolutions of single pixels.
    Pointwise,
    /// Pointwise convolutions with sums long enough for larger blocks.
    PointwiseDeep,
    /// Convolutions with windows, strides or padding.
    Window,
    /// Window convolutions with sums long enough for larger blocks.
    WindowDeep,
    /// Convolutions to at most four channels.
    Narrow,
    /// Convolutions and fully connected layers with one or two result pixels.
    Dense,
    /// Matrix products, and fully connected layers with more pixels that differ from the pixels of their operand.
    Rows,
    /// Depthwise convolutions.
    Depthwise,
    /// Transposed convolutions.
    Transposed,
    /// Pooling, and other operators that read a window or a row without weights.
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

impl CostClass {
    /// All classes.
    pub const ALL: [Self; 16] = [
        Self::Pointwise,
        Self::PointwiseDeep,
        Self::Window,
        Self::WindowDeep,
        Self::Narrow,
        Self::Dense,
        Self::Rows,
        Self::Depthwise,
        Self::Transposed,
        Self::Pool,
        Self::Reduce,
        Self::Elementwise,
        Self::Softmax,
        Self::Resize,
        Self::Move,
        Self::Concat,
    ];
}

/// Work of an operator for all rows of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Cost class.
    pub class: CostClass,
    /// Floating point operations without epilogues. Includes the unused lanes past the last channel, because they are
    /// computed.
    pub flops: f64,
    /// Texels of the result.
    pub texels: f64,
    /// Texels per invocation in the kernel.
    pub block: f64,
}

impl Work {
    /// Estimates the elementary operations: floating point operations, and a write for each channel of the result.
    pub fn operations(&self) -> u64 {
        (self.flops + 4.0 * self.texels) as u64
    }

    /// Returns the work of a node with `a_texel` operations per lane of a result texel, and `block` texels per
    /// invocation.
    pub(super) fn new(graph: &Graph, node: &Node, class: CostClass, a_texel: usize, block: usize) -> Self {
        let texels = graph.shape(node.output).texels();
        Self { class, flops: (texels * a_texel * 4) as f64, texels: texels as f64, block: block as f64 }
    }

    /// Returns the work of a node that reads each texel of its first operand once.
    pub(super) fn of_all_texels(graph: &Graph, node: &Node, class: CostClass) -> Self {
        let read = node.inputs.first().map_or(0, |&tensor| graph.shape(tensor).texels());
        let a_texel = read.div_ceil(graph.shape(node.output).texels().max(1));
        Self::new(graph, node, class, a_texel, 1)
    }
}
