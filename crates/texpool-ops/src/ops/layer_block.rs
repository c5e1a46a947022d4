//! Block of a convolution or fully connected layer, for measurements.

use super::{conv, fully_connected};
use crate::graph::{BlockSize, Graph, LayerKind, Node, Op};

/// Returns the kind of a layer, and the block that its kernel computes. `None` for other nodes, and for layers whose
/// kernels have no blocks of pixels and slices.
///
/// ```
/// use texpool_ops::graph::{Act, Blocks, BlockSize, Conv2d, DeviceClass, GraphBuilder, LayerKind, NodeId, Padding};
/// use texpool_ops::ops::layer_block;
///
/// let mut b = GraphBuilder::new("layer");
/// let (x, weights) = (b.input("x", &[1, 56, 56, 64])?, b.constant("weights", &[64, 1, 1, 64], &[0.1; 64 * 64])?);
/// let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
/// let y = b.conv2d("y", conv, x, weights, None, Act::None)?;
/// let mut graph = b.finish(&[y])?;
/// let mut block = |class| {
///     graph.blocks = Blocks::of(class);
///     layer_block(&graph, &graph.nodes[NodeId::new(0)])
/// };
/// let expected = |pixels, slices| BlockSize::new(pixels, slices).map(|block| (LayerKind::Pointwise, block));
/// assert_eq!(block(DeviceClass::Software), expected(8, 2));
/// assert_eq!(block(DeviceClass::Unknown), expected(1, 4));
/// # Ok::<(), texpool_ops::graph::BuildError>(())
/// ```
pub fn layer_block(graph: &Graph, node: &Node) -> Option<(LayerKind, BlockSize)> {
    match &node.op {
        Op::Conv2d(conv) => Some(conv::kernel::layer_block(graph, node, conv, conv::weights::WeightLayout::Full)),
        Op::FullyConnected => {
            let conv = fully_connected::kernel::as_pointwise(graph, node)?;
            Some(conv::kernel::layer_block(graph, node, &conv, conv::weights::WeightLayout::FullyConnected))
        }
        _ => None,
    }
}
