//! Replaces 3 by 3 convolutions by Winograd's algorithm: a transform of the input, a product for each tile, and a
//! transform of the result. It multiplies less and needs more memory, for weights and for the tensors in between.
//!
//! This is not a rule, because it makes the graph larger and must run after the rules, which know convolutions. It is
//! on only by its name, because it takes memory for speed. The transforms add large values before they subtract them, so
//! results differ by more than a different order of addition, and infinities of a pixel become NaN in its whole tile.

use super::{
    report::{Fired, Location, Report, Skipped},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{
    Act, Constant, Conv2d, Epilogue, Graph, IdVec, Node, Op, Padding, Shape, Tensor, TensorId, WinogradInput,
    WinogradOutput, WinogradTile, infer,
};

/// Name of the pass in the list of rules.
pub(super) const NAME: &str = "winograd";

/// Number of channels, of the input and of the result, from which the transforms are worth their time. The GPU delegate
/// of TensorFlow Lite has the same limit (LiteRT, `operation_selector.cc`). On lavapipe SqueezeNet's layers of 16 to 48
/// input channels took up to twice as long with transforms.
const MIN_CHANNELS: usize = 64;

/// Number of pixels of the result from which tiles are of four by four. Layers of smaller images have many channels,
/// so that four times their weights would be most of a network's memory, and their last tiles would be mostly empty.
const LARGE_IMAGE: usize = 28 * 28;

/// Replaces every convolution for which it pays off.
pub(super) fn apply(mut graph: Graph, report: &mut Report) -> Graph {
    let nodes = std::mem::take(&mut graph.nodes);
    for node in nodes {
        match tile(&graph, &node) {
            None => {
                graph.nodes.push(node);
            }
            Some(Ok((conv, tile))) => {
                report.fired.push(Fired { rule: NAME, location: Location::new(&graph, &node) });
                push(&mut graph, node, conv, tile);
            }
            Some(Err(why)) => {
                report.missed.push(Skipped { rule: NAME, location: Location::new(&graph, &node), why });
                graph.nodes.push(node);
            }
        }
    }
    drop_unread_constants(&mut graph);
    graph
}

/// Returns the convolution and the size of its tiles, or the reason for keeping it. `None` for other operators.
fn tile(graph: &Graph, node: &Node) -> Option<Result<(Conv2d, WinogradTile), SkipReason>> {
    let (&Op::Conv2d(conv), &[x, weights, ..]) = (&node.op, &node.inputs[..]) else { return None };
    let window = graph.shape(weights);
    if (window.h, window.w) != (3, 3) || (conv.stride, conv.dilation, conv.groups) != ([1, 1], [1, 1], 1) {
        return None;
    }
    if matches!(node.epilogue.first, Act::Requantize(_)) {
        return Some(Err(SkipReason::ExactSums));
    }
    let (input, output) = (graph.shape(x).c, graph.shape(node.output));
    // Groups of products begin at a texel, and a block of four slices lies in one of them.
    let aligned = input.is_multiple_of(4) && output.c.is_multiple_of(16);
    if !aligned || input < MIN_CHANNELS || output.c < MIN_CHANNELS {
        return Some(Err(SkipReason::NotWorthTransforming { channels: [input, output.c] }));
    }
    if !graph.is_constant(weights) {
        return Some(Err(SkipReason::NotConstant { tensor: graph.tensors[weights].name.clone() }));
    }
    let large = output.h * output.w >= LARGE_IMAGE;
    Some(Ok((conv, if large { WinogradTile::Four } else { WinogradTile::Two })))
}

/// Adds the nodes that replace a convolution.
fn push(graph: &mut Graph, node: Node, conv: Conv2d, tile: WinogradTile) {
    let name = graph.tensors[node.output].name.clone();
    let (x, out) = (node.inputs[0], graph.shape(node.output));
    let transform = Op::WinogradInput(WinogradInput { tile, padding: conv.padding });
    let tiles = add(graph, &node, transform, vec![x], format!("{name}/tiles"), graph.shape(x));
    let mut operands = vec![tiles, transformed_weights(graph, node.inputs[1], tile)];
    operands.extend(node.inputs.get(2).map(|&bias| spread_bias(graph, bias, out.c, tile)));
    let product = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: tile.products() };
    let products = add(graph, &node, product.into(), operands, format!("{name}/products"), out);
    graph.nodes.push(Node { op: WinogradOutput { tile }.into(), inputs: vec![products], ..node });
}

/// Adds a node with the number of `node`, and returns its result.
fn add(graph: &mut Graph, node: &Node, op: Op, inputs: Vec<TensorId>, name: String, stated: Shape) -> TensorId {
    let shapes: Vec<Shape> = inputs.iter().map(|&tensor| graph.shape(tensor)).collect();
    // `tile` checked all conditions of both operators.
    let shape = infer(&op, &shapes, stated).unwrap_or(stated);
    let output = graph.tensors.push(Tensor::new(name, shape));
    let (op_index, integers) = (node.op_index, node.integers);
    graph.nodes.push(Node { op, inputs, output, epilogue: Epilogue::default(), op_index, integers });
    output
}

/// Adds the transformed weights: `[products * O, 1, 1, I]`, all output channels of the first product first.
fn transformed_weights(graph: &mut Graph, weights: TensorId, tile: WinogradTile) -> TensorId {
    let Tensor { name, shape, constant, .. } = &graph.tensors[weights];
    let (shape, name) = (*shape, format!("{name}/transformed"));
    let values = constant.as_ref().map(Constant::to_f32).unwrap_or_default();
    let pairs = shape.b * shape.c;
    let mut result = vec![0.0; tile.products() * pairs];
    for pair in 0..pairs {
        let (o, i) = (pair / shape.c, pair % shape.c);
        let window = std::array::from_fn(|tap| values[shape.index(o, tap / 3, tap % 3, i)]);
        for (product, value) in tile.weights(window).into_iter().enumerate() {
            result[product * pairs + pair] = value;
        }
    }
    add_constant(graph, name, Shape::new(tile.products() * shape.b, 1, 1, shape.c), &result)
}

/// Adds the biases of the products: those of the convolution for the product that each pixel of a tile contains once,
/// and zeros for all others.
fn spread_bias(graph: &mut Graph, bias: TensorId, channels: usize, tile: WinogradTile) -> TensorId {
    let Tensor { name, constant, .. } = &graph.tensors[bias];
    let name = format!("{name}/transformed");
    let values = constant.as_ref().map(Constant::to_f32).unwrap_or_default();
    let mut result = vec![0.0; tile.products() * channels];
    let first = tile.bias_product() * channels;
    result[first..first + values.len()].copy_from_slice(&values);
    let shape = Shape::new(1, 1, 1, result.len());
    add_constant(graph, name, shape, &result)
}

fn add_constant(graph: &mut Graph, name: String, shape: Shape, values: &[f32]) -> TensorId {
    graph.tensors.push(Tensor { constant: Some(Constant::from_f32(values)), ..Tensor::new(name, shape) })
}

/// Frees the weights that only replaced convolutions read.
fn drop_unread_constants(graph: &mut Graph) {
    let mut read = IdVec::from_elem(false, &graph.tensors);
    let tensors = graph.nodes.iter().flat_map(Node::operands).chain(graph.outputs.iter().copied());
    tensors.for_each(|tensor| read[tensor] = true);
    for tensor in read.ids().filter(|&tensor| !read[tensor]) {
        graph.tensors[tensor].constant = None;
    }
}
