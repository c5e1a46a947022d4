//! Arithmetic of an operator, for costs that are predicted.

use crate::graph::{Graph, Node, Op, ResizeMode};

/// Floating point operations of a node, tails not counted.
pub fn flops(graph: &Graph, node: &Node) -> u64 {
    let Some(&result) = node.outputs.first() else { return 0 };
    let out = graph.shape(result).len() as u64;
    let kernel = node.inputs.get(1).map(|&weights| graph.shape(weights));
    let input = node.inputs.first().map_or(0, |&x| graph.shape(x).len() as u64);
    match (&node.op, kernel) {
        (Op::Conv2d(_), Some(k)) => 2 * out * (k.h * k.w * k.c) as u64,
        (Op::DepthwiseConv2d(_), Some(k)) => 2 * out * (k.h * k.w) as u64,
        (Op::TransposeConv(_), Some(k)) => 2 * input * (k.b * k.h * k.w) as u64,
        (Op::FullyConnected, Some(k)) => 2 * out * k.c as u64,
        (Op::Pool2d(pool), _) => out * (pool.window[0] * pool.window[1]) as u64,
        (Op::Resize { mode: ResizeMode::Cubic { .. }, .. }, _) => 40 * out,
        (Op::Reduce { .. }, _) => input,
        (Op::MatMul { .. }, _) => {
            let depth = node.inputs.first().map_or(0, |&a| graph.shape(a).c);
            2 * out * depth as u64
        }
        (Op::TopK { k, .. }, _) => input * *k as u64,
        (Op::Lrn { size, .. }, _) => 2 * out * *size as u64,
        (Op::Normalize { .. }, _) => 7 * out,
        _ => out,
    }
}
