//! Marks graph nodes that compute integers. Compiling a model then checks that floats can hold those integers
//! exactly. Also wraps results around if their type has 8 or 16 bits.

use std::collections::HashSet;

use super::{
    lower::wrapped,
    node_lowering::NodeLowering,
    value::{Computed, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType, Graph, Node, NodeId, Op, ReduceKind, Unary};

/// Marks the graph's nodes from `first` on, if they compute integers from integers.
pub(super) fn mark(ctx: &mut NodeLowering<'_>, first: usize) -> Result<(), Problem> {
    let computed = |operand: &&Value| operand.known().is_none();
    if !ctx.operands.iter().flatten().filter(computed).any(|operand| operand.element_type().is_integer()) {
        return Ok(());
    }
    for position in 0..ctx.results.len() {
        let node_count = ctx.lowering.graph.nodes.len();
        let Some(Value::Computed(result)) = &ctx.results[position] else { continue };
        if node_count == first || !result.elem.is_integer() {
            continue;
        }
        let mut result = result.clone();
        if ctx.lowering.graph.nodes.iter().skip(first).any(may_exceed) {
            result = wrapped(ctx, result)?;
        }
        mark_nodes(&mut ctx.lowering.graph, first, &result);
        ctx.results[position] = Some(Value::Computed(result));
    }
    Ok(())
}

/// Marks those of the graph's nodes from `first` on that compute the integers of `result`.
pub(super) fn mark_nodes(graph: &mut Graph, first: usize, result: &Computed) {
    let mut needed = HashSet::from([result.tensor]);
    for index in (first..graph.nodes.len()).rev() {
        let node = &mut graph.nodes[NodeId::new(index)];
        if !needed.contains(&node.output) {
            continue;
        }
        needed.extend(&node.inputs);
        // Intermediate values need not be of the result's type, as long as they are exact.
        let before = node.output != result.tensor;
        node.integers = Some(if before { ElementType::I64 } else { result.elem });
    }
}

/// Returns whether a node's results may be greater than its operands.
fn may_exceed(node: &Node) -> bool {
    match &node.op {
        Op::Binary(binary) => {
            matches!(binary, Binary::Add | Binary::Sub | Binary::Mul | Binary::Pow | Binary::TruncDiv)
        }
        Op::Unary(unary) => matches!(unary, Unary::Abs | Unary::Neg | Unary::Square),
        Op::Reduce(reduce) => {
            matches!(reduce.kind, ReduceKind::Sum | ReduceKind::SumSquare | ReduceKind::Prod | ReduceKind::L1)
        }
        Op::CumSum(_) | Op::MatMul(_) | Op::FullyConnected => true,
        _ => false,
    }
}
