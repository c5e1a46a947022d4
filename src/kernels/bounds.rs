//! Numbers that kernels can count in 32 bits. Shaders are compiled without run-time checks (`gpu/pipelines.rs`), so what
//! would wrap there, or become zero when it is cut to a word, is refused here.

use super::KernelError;
use crate::graph::{Act, Graph, Node, Op, PadMode, Padding};

/// Elements of a tensor must be fewer: sums of two element counts do not wrap, not even as signed params.
const ELEMENTS: usize = 1 << 30;

/// Strides, dilations, windows, paddings and the extents that pads mirror must be smaller: an extent with its padding on
/// both sides stays below 2^31, and so does twice the period of a mirrored one.
const ATTRIBUTES: usize = 1 << 29;

/// Checks every number of a graph that kernels count with: elements of tensors and attributes of operators. The graph must
/// be valid ([`crate::graph::check`]), which bounds all others by these.
///
/// # Errors
/// [`KernelError::TooLarge`], naming the first that is.
pub fn check(graph: &Graph) -> Result<(), KernelError> {
    graph.nodes.iter().try_for_each(|node| check_node(graph, node))
}

fn check_node(graph: &Graph, node: &Node) -> Result<(), KernelError> {
    let refuse = |what: String, found: usize, limit: usize| {
        let (op_index, op) = (node.op_index, node.op.name());
        Err(KernelError::TooLarge { op_index, op, what, found, limit })
    };
    let alpha = |act: Act| if let Act::Prelu(tensor) = act { Some(tensor) } else { None };
    let epilogue = [node.epilogue.add, alpha(node.epilogue.first), alpha(node.epilogue.then)];
    for &tensor in node.inputs.iter().chain(&node.outputs).chain(epilogue.iter().flatten()) {
        let tensor = &graph.tensors[tensor];
        match tensor.shape.checked_len() {
            Some(elements) if elements < ELEMENTS => {}
            elements => {
                let what = format!("elements of `{}`", tensor.name);
                return refuse(what, elements.unwrap_or(usize::MAX), ELEMENTS);
            }
        }
    }
    match attributes(graph, node).into_iter().find(|&(_, value)| value >= ATTRIBUTES) {
        Some((what, found)) => refuse(what.to_owned(), found, ATTRIBUTES),
        None => Ok(()),
    }
}

/// The numbers of an operator that a file may choose freely: no extent bounds them.
fn attributes(graph: &Graph, node: &Node) -> Vec<(&'static str, usize)> {
    let pairs = |what, values: [usize; 2]| values.map(|value| (what, value));
    let around = |p: Padding| [p.top, p.bottom, p.left, p.right].map(|value| ("padding", value));
    let operand = |index: usize| node.inputs.get(index).map(|&tensor| graph.shape(tensor));
    match &node.op {
        Op::Conv2d(op) | Op::DepthwiseConv2d(op) => {
            [&pairs("stride", op.stride)[..], &pairs("dilation", op.dilation), &around(op.padding)].concat()
        }
        Op::TransposeConv(op) => {
            let window = operand(1).map_or([1; 2], |weights| [weights.h, weights.w]);
            let reach = [0, 1].map(|axis| window[axis].saturating_mul(op.dilation[axis]));
            [&pairs("stride", op.stride)[..], &pairs("dilated window", reach), &around(op.padding)].concat()
        }
        Op::Pool2d(op) => [
            &pairs("window", op.window)[..],
            &pairs("stride", op.stride),
            &pairs("dilation", op.dilation),
            &around(op.padding),
            &around(op.counted.unwrap_or_default()),
        ]
        .concat(),
        Op::Pad { before, after, mode } => {
            let extents = operand(0).map_or([1; 4], |x| x.dims()).map(|extent| ("mirrored extent", extent));
            let mirrored = if matches!(mode, PadMode::Constant(_)) { &[][..] } else { &extents };
            let amounts = before.iter().chain(after).map(|amount| ("padding", amount.unsigned_abs()));
            mirrored.iter().copied().chain(amounts).collect()
        }
        _ => Vec::new(),
    }
}
