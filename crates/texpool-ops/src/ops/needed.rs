//! Places of tensors that a run needs if its inputs have less than their greatest extents.
//!
//! The extents of a run are known before it starts, and so are the extents of results that follow from them. Places behind
//! these are read by no one, and masks hide places from their readers (`ZeroUnless`). Operators that compute each place
//! from a few need fewer places of their operands then. A step that computes only needed places takes time in proportion
//! to the extents of the run instead of the greatest ones.

use super::{binary::Binary, conv::Conv2d, op::Op, reference, transpose::Transpose};
use crate::graph::{Graph, IdVec, Node, Shape, TensorId};

/// Numbers of places along `[B, H, W, C]`, from the first ones on.
type Places = [usize; 4];

/// Most elements of a tensor that is computed from extents before a run. Masks along an axis have as many as its extent.
const MAX_KNOWN: usize = 1 << 14;

/// Places that a resize reads behind the one that a place of its result lies at.
const RESIZE_REACH: usize = 3;

/// The part of a step's result that a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededPart {
    /// End of the needed rows, counted over all batches.
    pub end_row: u32,
    /// Number of needed columns.
    pub width: usize,
}

/// The places that a run with certain extents needs, by tensor.
#[derive(Clone, Debug)]
pub struct Needed {
    places: IdVec<TensorId, Places>,
    values: IdVec<TensorId, Option<Vec<f32>>>,
}

impl Needed {
    /// Finds out which places a run needs. `extents` gives the value of an input, by index, that holds an extent.
    pub fn new(graph: &Graph, extents: impl Fn(usize) -> Option<f32>) -> Self {
        let mut values = IdVec::from_elem(None, &graph.tensors);
        for (input, &tensor) in graph.inputs.iter().enumerate() {
            values[tensor] = extents(input).map(|extent| vec![extent]);
        }
        let mut masks = IdVec::from_elem(None, &graph.tensors);
        for node in &graph.nodes {
            values[node.output] = known(graph, node, &values);
            masks[node.output] = mask(graph, node, &values, &masks);
        }
        let mut needed = Self { places: IdVec::from_elem([0; 4], &graph.tensors), values };
        for (output, &tensor) in graph.outputs.iter().enumerate() {
            let places = needed.of_output(graph, output);
            needed.ask(graph, tensor, places);
        }
        for node in graph.nodes.iter().rev() {
            needed.ask_operands(graph, node, &masks);
        }
        needed
    }

    /// Returns the extent of a run that an output holds, if it follows from those of the inputs.
    pub fn count(&self, graph: &Graph, output: usize) -> Option<f32> {
        self.values[*graph.outputs.get(output)?].as_ref()?.first().copied()
    }

    /// Returns the part of a node's result that a run needs. `None` if it is all of it, or if the kernel computes whole
    /// results only.
    pub fn part(&self, graph: &Graph, node: &Node) -> Option<NeededPart> {
        let shape = graph.shape(node.output);
        let [b, h, w, _] = self.places[node.output];
        let end_row = match () {
            () if shape.b == 1 => h,
            () if h == shape.h => b * shape.h,
            () => shape.rows(),
        };
        let width = match narrows(&node.op)? {
            // The layer may count the pixels of an operand of another width.
            Narrows::RowsAndColumns
                if !matches!(node.op, Op::FullyConnected) || graph.shape(node.inputs[0]).w == shape.w =>
            {
                w
            }
            Narrows::Rows | Narrows::RowsAndColumns => shape.w,
        };
        let is_part = end_row < shape.rows() || width < shape.w;
        is_part.then_some(NeededPart { end_row: end_row as u32, width })
    }

    /// Returns the places of an output that the caller sees.
    fn of_output(&self, graph: &Graph, output: usize) -> Places {
        let tensor = &graph.tensors[graph.outputs[output]];
        let mut places = tensor.shape.dims();
        for bounded in graph.bounded_axes_of_output(output) {
            let count = self.count(graph, bounded.count);
            let slot = tensor.host_permutation.axis_of(&tensor.dims, bounded.axis, tensor.shape.dims());
            if let (Some(count), Some(slot)) = (count, slot) {
                places[slot] = places[slot].min(count.max(0.0) as usize);
            }
        }
        places
    }

    /// Adds places to those of a tensor. Repeated axes are read at their only place.
    fn ask(&mut self, graph: &Graph, tensor: TensorId, places: Places) {
        let shape = graph.shape(tensor).dims();
        for ((own, asked), extent) in self.places[tensor].iter_mut().zip(places).zip(shape) {
            *own = (*own).max(asked).min(extent);
        }
    }

    fn ask_operands(&mut self, graph: &Graph, node: &Node, masks: &IdVec<TensorId, Option<Places>>) {
        let places = self.places[node.output];
        let out = graph.shape(node.output).dims();
        if let Some(added) = node.epilogue.add {
            self.ask(graph, added, places);
        }
        for (position, &tensor) in node.inputs.iter().enumerate() {
            let whole = graph.shape(tensor).dims();
            let read = match &node.op {
                Op::Binary(Binary::ZeroUnless) if position == 1 => {
                    let mask = node.inputs[0];
                    let shown = masks[mask].map_or(out, |shown| repeated(shown, graph.shape(mask).dims(), out));
                    std::array::from_fn(|axis| places[axis].min(shown[axis]))
                }
                Op::Binary(_) | Op::Unary(_) | Op::Prelu => places,
                // A layer may read several pixels as one, or count them in another order.
                Op::FullyConnected if position == 0 && whole[..3] == out[..3] => pixels(places, whole),
                Op::Softmax(_) => pixels(places, whole),
                Op::Normalize(normalize) if normalize.axes == [false, false, false, true] => pixels(places, whole),
                Op::MatMul(_) if position == 0 => pixels(places, whole),
                // Columns of the product are rows or columns of the second matrix.
                Op::MatMul(product) => {
                    let ([b, h, _, columns], [.., w, c]) = (places, whole);
                    if product.transpose_b { [b, h, columns, c] } else { [b, h, w, columns] }
                }
                Op::Conv2d(conv) if position == 0 => windows(places, conv, graph.shape(node.inputs[1]), whole),
                Op::DepthwiseConv2d(conv) if position == 0 => {
                    windows(places, &conv.0, graph.shape(node.inputs[1]), whole)
                }
                Op::Pool2d(pool) => {
                    let [h, w] = pool.window;
                    let slid =
                        Conv2d { stride: pool.stride, dilation: pool.dilation, padding: pool.padding, groups: 1 };
                    windows(places, &slid, Shape::new(1, h, w, 1), whole)
                }
                Op::Transpose(Transpose { perm }) => {
                    let mut read = whole;
                    perm.iter().zip(places).for_each(|(&from, places)| read[from] = places);
                    read
                }
                Op::Reshape => reshaped(places, out, whole),
                Op::Concat(concat) => with_whole(places, whole, |axis| axis == concat.axis),
                Op::Reduce(reduce) => with_whole(places, whole, |axis| reduce.axes[axis]),
                Op::Gather(gather) if position == 0 => with_whole(places, whole, |axis| axis == gather.axis),
                Op::Resize(_) => spread(places, out, whole, RESIZE_REACH),
                Op::DepthToSpace(_) | Op::SpaceToDepth(_) => spread(places, out, whole, 0),
                Op::TransposeConv(_) if position == 0 => {
                    let window = graph.shape(node.inputs[1]);
                    spread(places, out, whole, window.h.max(window.w))
                }
                _ => whole,
            };
            self.ask(graph, tensor, read);
        }
    }
}

/// Parts of results that a kernel may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Narrows {
    Rows,
    RowsAndColumns,
}

/// Returns the parts of an operator's result that its kernel may leave out. Kernels of rows and columns take the number of
/// columns from the shape of the step's result alone, and compute them independently.
const fn narrows(op: &Op) -> Option<Narrows> {
    match op {
        Op::Binary(_)
        | Op::Unary(_)
        | Op::Prelu
        | Op::Conv2d(_)
        | Op::DepthwiseConv2d(_)
        | Op::FullyConnected
        | Op::MatMul(_)
        | Op::Pool2d(_) => Some(Narrows::RowsAndColumns),
        Op::Softmax(_)
        | Op::Resize(_)
        | Op::Transpose(_)
        | Op::Reshape
        | Op::DepthToSpace(_)
        | Op::SpaceToDepth(_)
        | Op::Pad(_)
        | Op::Gather(_)
        | Op::TransposeConv(_) => Some(Narrows::Rows),
        _ => None,
    }
}

/// Returns the value of a node that follows from known ones.
fn known(graph: &Graph, node: &Node, values: &IdVec<TensorId, Option<Vec<f32>>>) -> Option<Vec<f32>> {
    let is_known = |&tensor: &TensorId| values[tensor].is_some() || graph.is_constant(tensor);
    let follows = node.inputs.iter().chain(&node.epilogue.add).all(is_known);
    let is_of_extents = node.inputs.iter().any(|&tensor| values[tensor].is_some());
    let is_few = graph.shape(node.output).len() <= MAX_KNOWN;
    (follows && is_of_extents && is_few).then(|| reference::node(graph, node, values).ok()).flatten()
}

/// Returns the first places outside which a node's result is zero, if it is known or joins such masks.
fn mask(
    graph: &Graph,
    node: &Node,
    values: &IdVec<TensorId, Option<Vec<f32>>>,
    masks: &IdVec<TensorId, Option<Places>>,
) -> Option<Places> {
    let shape = graph.shape(node.output).dims();
    if let Some(values) = &values[node.output] {
        return Some(shown(values, graph.shape(node.output)));
    }
    if let (Op::Reshape, &[mask]) = (&node.op, &node.inputs[..]) {
        return Some(reshaped(masks[mask]?, graph.shape(mask).dims(), shape));
    }
    let (Op::Binary(Binary::ZeroUnless), &[a, b]) = (&node.op, &node.inputs[..]) else { return None };
    let shown = |mask: TensorId| Some(repeated(masks[mask]?, graph.shape(mask).dims(), shape));
    let [a, b] = [shown(a)?, shown(b)?];
    Some(std::array::from_fn(|axis| a[axis].min(b[axis])))
}

/// Returns the first places outside which values are zero.
fn shown(values: &[f32], shape: Shape) -> Places {
    let mut places = [0; 4];
    for (index, _) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
        let [w, h, c] = [shape.w, shape.h, shape.c];
        let at = [index / (h * w * c), index / (w * c) % h, index / c % w, index % c];
        places.iter_mut().zip(at).for_each(|(own, at)| *own = (*own).max(at + 1));
    }
    places
}

/// Returns the places that a mask of extents `own` shows of a tensor of extents `whole`. Repeated axes show all places.
fn repeated(shown: Places, own: [usize; 4], whole: [usize; 4]) -> Places {
    std::array::from_fn(|axis| if own[axis] == 1 { whole[axis] } else { shown[axis] })
}

/// Places of an operand whose pixels are those of the result, with all of its channels.
const fn pixels([b, h, w, _]: Places, [.., c]: Places) -> Places {
    [b, h, w, c]
}

/// Places of an operand that has those of the result, apart from axes that are read whole.
fn with_whole(places: Places, whole: Places, is_whole: impl Fn(usize) -> bool) -> Places {
    std::array::from_fn(|axis| if is_whole(axis) { whole[axis] } else { places[axis] })
}

/// Places of an operand whose height and width become those of the result, by any factor. A place of the result reads at
/// most `reach` places of the operand behind its own.
fn spread([b, h, w, _]: Places, [_, out_h, out_w, _]: Places, [_, own_h, own_w, c]: Places, reach: usize) -> Places {
    let read = |places: usize, out: usize, own: usize| (places * own).div_ceil(out.max(1)) + reach;
    [b, read(h, out_h, own_h), read(w, out_w, own_w), c]
}

/// Places that windows of a convolution read for places of its result.
fn windows([b, h, w, _]: Places, conv: &Conv2d, window: Shape, whole: Places) -> Places {
    let read = |places: usize, window: usize, axis: usize, before: usize| {
        let reach = (window - 1) * conv.dilation[axis];
        let end = (places.max(1) - 1) * conv.stride[axis] + reach + 1;
        end.saturating_sub(before).max(1)
    };
    let [_, _, _, c] = whole;
    [b, read(h, window.h, 0, conv.padding.top), read(w, window.w, 1, conv.padding.left), c]
}

/// Returns the places of a reshape's operand for places of its result. Axes with the same places in front of them and the
/// same extent are the same axis.
fn reshaped(places: Places, out: [usize; 4], whole: [usize; 4]) -> Places {
    let mut read = whole;
    for axis in (0..4).filter(|&axis| places[axis] < out[axis]) {
        let before: usize = out[..axis].iter().product();
        let same = (0..4).find(|&own| whole[own] == out[axis] && whole[..own].iter().product::<usize>() == before);
        if let Some(own) = same {
            read[own] = places[axis];
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Padding;

    #[test]
    fn reshapes_keep_axes_with_the_same_places_in_front() {
        let tokens = [1, 1, 20, 384];
        assert_eq!(reshaped(tokens, [1, 1, 64, 384], [1, 64, 12, 32]), [1, 20, 12, 32]);
        assert_eq!(reshaped([1, 20, 12, 32], [1, 64, 12, 32], [1, 1, 64, 384]), [1, 1, 20, 384]);
        // Rows and columns become one axis.
        assert_eq!(reshaped([1, 1, 20, 8], [1, 1, 64, 8], [1, 8, 8, 8]), [1, 8, 8, 8]);
    }

    #[test]
    fn windows_reach_behind_their_places() {
        let conv = Conv2d { stride: [2, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
        assert_eq!(windows([1, 4, 5, 8], &conv, Shape::new(8, 3, 3, 2), [1, 32, 32, 2]), [1, 9, 7, 2]);
    }
}
