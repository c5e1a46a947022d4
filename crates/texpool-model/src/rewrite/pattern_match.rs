//! Replaces a function that is written out as several nodes by a single node.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    skip_reason::SkipReason,
    term::ValueRef,
};
use texpool_ops::graph::{Node, NodeId, Op, TensorId, Unary};

/// Relative tolerance for a constant: two roundings to 32 bits, as in a decimal with seven digits.
const ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// A function computed by several nodes together, provided that their constants match those of the function.
pub(super) struct PatternMatch {
    op: Op,
    x: ValueRef,
    /// Pairs of the number in the graph and the number required.
    numbers: Vec<[f64; 2]>,
}

impl PatternMatch {
    pub(super) fn new(op: Op, x: ValueRef, numbers: &[[f64; 2]]) -> Self {
        Self { op, x, numbers: numbers.to_vec() }
    }

    pub(super) fn unary(unary: Unary, x: ValueRef, numbers: &[[f64; 2]]) -> Self {
        Self::new(Op::Unary(unary), x, numbers)
    }
}

/// Proposal of a rule that recognises a function. Passes the value of the node without its epilogue to `find`.
pub(super) fn recognised(
    ctx: &RewriteContext,
    id: NodeId,
    find: impl Fn(&RewriteContext, ValueRef) -> Option<PatternMatch>,
) -> Proposal {
    replaced(ctx, id, find(ctx, ctx.without_epilogue(id)))
}

/// Replaces a node with the operator found, and removes the nodes between `x` and it.
pub(super) fn replaced(ctx: &RewriteContext, id: NodeId, pattern: Option<PatternMatch>) -> Proposal {
    let Some(PatternMatch { op, x, numbers }) = pattern else { return Ok(None) };
    let node = ctx.node(id);
    // Intermediate values of an epilogue are not stored, so no node can read them.
    if ctx.value(x.tensor) != x || ctx.graph.is_constant(x.tensor) {
        return Ok(None);
    }
    // NaN needs a separate check, because comparisons with it are false.
    let off = |[number, due]: &&[f64; 2]| (number - due).abs() > due.abs() * ROUNDING || number.is_nan();
    if let Some(&[number, due]) = numbers.iter().find(off) {
        return Err(SkipReason::ConstantMismatch {
            op: op.name(),
            found: (number as f32).to_string(),
            due: (due as f32).to_string(),
        });
    }
    if ctx.graph.shape(node.output) != ctx.graph.shape(x.tensor) {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(x.tensor) });
    }
    let between = between(ctx, id, x.tensor)?;
    let op_index = between.iter().map(|&inner| ctx.node(inner).op_index).fold(node.op_index, usize::min);
    let whole = Node { op, inputs: vec![x.tensor], op_index, ..node.clone() };
    Ok(Some(between.into_iter().fold(Edit::default().replace(id, whole), Edit::remove)))
}

/// Returns the nodes between `x` and a node's operands, if none of their results is used elsewhere.
pub(super) fn between(ctx: &RewriteContext, id: NodeId, x: TensorId) -> Result<Vec<NodeId>, SkipReason> {
    let node = ctx.node(id);
    let (mut nodes, mut open) = (Vec::new(), node.inputs.clone());
    while let Some(tensor) = open.pop() {
        if tensor == x || ctx.graph.is_constant(tensor) {
            continue;
        }
        let producer = ctx.producer(tensor).ok_or_else(|| SkipReason::NotComputed { tensor: ctx.name(tensor) })?;
        if ctx.is_output(tensor) {
            return Err(SkipReason::IsOutput { tensor: ctx.name(tensor) });
        }
        // The node stays and still adds this tensor, so the nodes that compute it must stay as well.
        if node.epilogue.add == Some(tensor) {
            return Err(SkipReason::ReadElsewhere { tensor: ctx.name(tensor) });
        }
        if !nodes.contains(&producer) {
            nodes.push(producer);
            open.extend(ctx.node(producer).operands());
        }
    }
    let inside = |reader: &NodeId| *reader == id || nodes.contains(reader);
    for tensor in nodes.iter().map(|&inner| ctx.node(inner).output) {
        if !ctx.readers(tensor).iter().all(inside) {
            return Err(SkipReason::ReadElsewhere { tensor: ctx.name(tensor) });
        }
    }
    Ok(nodes)
}
