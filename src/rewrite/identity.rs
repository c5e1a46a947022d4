//! Takes out nodes whose result is their operand, value by value.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{
    Binary, DepthToSpace, Node, NodeId, Op, Pad, Pool2d, PoolKind, Reduce, Resize, ResizeMode, SpaceToDepth,
    StridedSlice, TensorId, Transpose,
};

pub(super) const RULE: Rule = Rule {
    name: "identity",
    about: "takes out nodes that compute nothing: reshapes, resizes to the nearest, tiles, pads, slices, transposes and \
            concatenations that change nothing, pools of one pixel, + 0 and * 1, masks that keep all",
    numerics: Numerics::SignedZero,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let Some(from) = passed_on(site, node) else { return Ok(None) };
    passed(site, id, from)
}

/// Lets whoever reads a node's result read the operand `from` instead, if the two have the same extents.
pub(super) fn passed(site: &Site, id: NodeId, from: TensorId) -> Verdict {
    let node = site.node(id);
    let to = node.output;
    if site.graph.shape(from) != site.graph.shape(to) {
        return Ok(None);
    }
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if !site.goes_out(to) {
        return Ok(Some(Edit::default().take_out(id).read_instead(to, from)));
    }
    match site.maker(from) {
        Some(maker) if !site.goes_out(from) => {
            let maker_node = Node { output: to, ..site.node(maker).clone() };
            Ok(Some(Edit::default().take_out(id).put(maker, maker_node).read_instead(from, to)))
        }
        _ => Err(SkipReason::MustCopy { first: site.name(from), second: site.name(to) }),
    }
}

/// The operand whose values a node passes on, if its result has the same extents.
fn passed_on(site: &Site, node: &Node) -> Option<TensorId> {
    let &first = node.inputs.first()?;
    let dims = site.graph.shape(first).dims();
    let all = |tensor: Option<&TensorId>, value| tensor.is_some_and(|&t| site.one_value(t) == Some(value));
    let second = node.inputs.get(1);
    let passes = match &node.op {
        Op::Reshape
        | Op::Tile
        | Op::DepthToSpace(DepthToSpace { block: 1, .. })
        | Op::SpaceToDepth(SpaceToDepth { block: 1 }) => true,
        Op::Resize(resize @ Resize { mode: ResizeMode::Nearest(_), .. }) => resize.follows_tensorflow(),
        Op::Pad(Pad { before, after, .. }) => before.iter().chain(after).all(|&n| n == 0),
        // Of one constant it is how a constant becomes a tensor, for operators that read no constants.
        Op::Concat(_) => node.inputs.len() == 1 && !site.graph.is_constant(first),
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
        Op::Binary(Binary::ZeroUnless) if site.is_true(first) => return second.copied(),
        Op::Binary(Binary::ZeroIf) if all(Some(&first), 0.0) => return second.copied(),
        _ => false,
    };
    passes.then_some(first)
}

/// Whether a transpose moves no axis of more than one element past another, and so leaves the dense order as it is.
pub(super) fn keeps_order(dims: [usize; 4], perm: [usize; 4]) -> bool {
    let long: Vec<usize> = perm.into_iter().filter(|&axis| dims[axis] > 1).collect();
    long.is_sorted()
}
