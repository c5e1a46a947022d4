//! Removes nodes whose result equals one of their operands.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{
    Binary, DepthToSpace, Node, NodeId, Op, Pad, Pool2d, PoolKind, Reduce, Resize, ResizeMode, SpaceToDepth,
    StridedSlice, TensorId, Transpose,
};

pub(super) const RULE: Rule = Rule {
    name: "identity",
    about: "removes nodes that change nothing: reshapes, nearest resizes, tiles, pads, slices, transposes and \
            concatenations without effect, pools of one pixel, + 0, * 1, and masks that keep everything",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let Some(from) = passed_through(ctx, node) else { return Ok(None) };
    bypass(ctx, id, from)
}

/// Removes a node and lets the readers of its result read the operand `from`, if the two have the same extents. If
/// the result is a graph output, the tensor stays and the node before writes it.
pub(super) fn bypass(ctx: &RewriteContext, id: NodeId, from: TensorId) -> Proposal {
    let node = ctx.node(id);
    let to = node.output;
    if ctx.graph.shape(from) != ctx.graph.shape(to) {
        return Ok(None);
    }
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if !ctx.is_output(to) {
        return Ok(Some(Edit::default().remove(id).replace_uses(to, from)));
    }
    match ctx.producer(from) {
        // Not possible if both are outputs, since two outputs need two tensors. Not possible for an input either,
        // since no node computes it.
        Some(producer) if !ctx.is_output(from) => {
            let producer_node = Node { output: to, ..ctx.node(producer).clone() };
            Ok(Some(Edit::default().remove(id).replace(producer, producer_node).replace_uses(from, to)))
        }
        _ => Err(SkipReason::MustCopy { first: ctx.name(from), second: ctx.name(to) }),
    }
}

/// Returns the operand that a node passes through unchanged, assuming that the result has the same extents.
fn passed_through(ctx: &RewriteContext, node: &Node) -> Option<TensorId> {
    let &first = node.inputs.first()?;
    let dims = ctx.graph.shape(first).dims();
    let all = |tensor: Option<&TensorId>, value| tensor.is_some_and(|&t| ctx.uniform_value(t) == Some(value));
    let second = node.inputs.get(1);
    let passes = match &node.op {
        // `bypass` compares extents. If those are equal, these operators change nothing.
        Op::Reshape
        | Op::Tile
        | Op::DepthToSpace(DepthToSpace { block: [1, 1], .. })
        | Op::SpaceToDepth(SpaceToDepth { block: [1, 1] }) => true,
        // With other coordinate conventions or an explicit scale, a resize may move the image even if the size stays
        // the same.
        Op::Resize(resize @ Resize { mode: ResizeMode::Nearest(_), .. }) => resize.follows_tensorflow(),
        Op::Pad(Pad { before, after, .. }) => before.iter().chain(after).all(|&n| n == 0),
        // A concatenation of a single constant must stay: `split` creates it to compute the constant for operators
        // that cannot read constants.
        Op::Concat(_) => node.inputs.len() == 1 && !ctx.graph.is_constant(first),
        Op::StridedSlice(StridedSlice { begin, stride }) => {
            (0..4).all(|axis| begin[axis] == 0 && (stride[axis] == 1 || dims[axis] == 1))
        }
        Op::Transpose(Transpose { perm }) => keeps_order(dims, *perm),
        Op::Pool2d(Pool2d { kind: PoolKind::Max | PoolKind::Average, window: [1, 1], stride: [1, 1], .. }) => true,
        Op::Reduce(Reduce { kind, axes }) => kind.keeps_one() && (0..4).all(|axis| !axes[axis] || dims[axis] == 1),
        Op::Prelu => all(second, 1.0),
        Op::Binary(Binary::Add | Binary::Sub) if all(second, 0.0) => true,
        Op::Binary(Binary::Mul | Binary::Div) if all(second, 1.0) => true,
        Op::Binary(Binary::Add) if all(Some(&first), 0.0) => return second.copied(),
        Op::Binary(Binary::Mul) if all(Some(&first), 1.0) => return second.copied(),
        Op::Binary(Binary::ZeroUnless) if ctx.is_nonzero(first) => return second.copied(),
        Op::Binary(Binary::ZeroIf) if all(Some(&first), 0.0) => return second.copied(),
        _ => false,
    };
    passes.then_some(first)
}

/// Returns whether a transpose keeps the dense order, because it only moves axes of one element past others.
pub(super) fn keeps_order(dims: [usize; 4], perm: [usize; 4]) -> bool {
    let long: Vec<usize> = perm.into_iter().filter(|&axis| dims[axis] > 1).collect();
    long.is_sorted()
}
