//! Recognises a reshape and a transpose that divide channels among rows, or join them again, as attention does with its
//! heads. Together they are a single depth to space, or space to depth, of one column. With a multiple of four channels
//! per row that moves no texel (`keeps_texels`), whereas each of the two nodes moves them all.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    identity::keeps_order,
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{
    DepthOrder, DepthToSpace, Node, NodeId, Op, Shape, SpaceToDepth, Tensor, TensorId, Transpose,
};

pub(super) const RULE: Rule = Rule {
    name: "heads",
    about: "turns a reshape and a transpose that divide channels among rows, or join them, into one DEPTH_TO_SPACE \
            or SPACE_TO_DEPTH, such as those of attention heads",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

/// Maximum number of rows for which the two nodes are compared, row by row, with a division of channels.
const MAX_ROWS: usize = 1 << 16;

const SWAPPED: [usize; 4] = [0, 1, 3, 2];

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let &[between, ..] = &node.inputs[..] else { return Ok(None) };
    let Some(first) = ctx.producer(between) else { return Ok(None) };
    let &[from, ..] = &ctx.node(first).inputs[..] else { return Ok(None) };
    let edit = match (&ctx.node(first).op, &node.op) {
        (Op::Reshape, &Op::Transpose(Transpose { perm })) => divided(ctx, first, id, perm),
        (&Op::Transpose(Transpose { perm }), Op::Reshape) => joined(ctx, first, id, perm),
        _ => return Ok(None),
    };
    if edit.is_none() || ctx.graph.is_constant(from) {
        return Ok(None);
    }
    if !ctx.node(first).epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: ctx.node(first).op.name() });
    }
    ctx.check_one_use(between)?;
    Ok(edit)
}

/// Returns the edit for a reshape and a transpose that divide channels among rows. If pixels and channels of the result
/// are exchanged as well, a transpose of those remains.
fn divided(ctx: &RewriteContext, reshape: NodeId, transpose: NodeId, perm: [usize; 4]) -> Option<Edit> {
    let (reshape_node, node) = (ctx.node(reshape), ctx.node(transpose));
    let from = ctx.graph.shape(reshape_node.inputs[0]);
    let middle = ctx.graph.shape(node.inputs[0]).dims();
    let heads = |perm| Some(Op::from(DepthToSpace { block: [parts(from, middle, perm)?, 1], order: DepthOrder::Dcr }));
    if let Some(op) = heads(perm) {
        let divided = Shape { h: from.h * from.c / ctx.graph.shape(node.output).c, ..ctx.graph.shape(node.output) };
        return Some(in_two(ctx, [reshape, transpose], op, Shape { b: from.b, ..divided }, Op::Reshape));
    }
    let swapped = SWAPPED.map(|axis| perm[axis]);
    let op = heads(swapped)?;
    let [b, h, w, c] = swapped.map(|axis| middle[axis]);
    let is_worth_it = c.is_multiple_of(4) && [b, h] == [from.b, from.h * from.c / c];
    let exchange = Op::from(Transpose { perm: SWAPPED });
    is_worth_it.then(|| in_two(ctx, [reshape, transpose], op, Shape::new(b, h, w, c), exchange))
}

/// Returns the edit for a transpose and a reshape that join the channels of several rows.
fn joined(ctx: &RewriteContext, transpose: NodeId, reshape: NodeId, perm: [usize; 4]) -> Option<Edit> {
    let (transpose_node, node) = (ctx.node(transpose), ctx.node(reshape));
    let from = ctx.graph.shape(transpose_node.inputs[0]);
    let mut back = [0; 4];
    perm.into_iter().enumerate().for_each(|(to, axis)| back[axis] = to);
    let to = ctx.graph.shape(node.output);
    let rows = parts(to, ctx.graph.shape(node.inputs[0]).dims(), back)?;
    let joined = Shape { b: from.b, h: from.h / rows, ..to };
    let op = Op::from(SpaceToDepth { block: [rows, 1] });
    from.h.is_multiple_of(rows).then(|| in_two(ctx, [transpose, reshape], op, joined, Op::Reshape))
}

/// Replaces two nodes by `op`, with a result of extents `between`, and by `then`, unless the extents are already those of
/// the second node's result.
fn in_two(ctx: &RewriteContext, [first, second]: [NodeId; 2], op: Op, between: Shape, then: Op) -> Edit {
    let (first_node, node) = (ctx.node(first), ctx.node(second));
    let from: TensorId = first_node.inputs[0];
    if then == Op::Reshape && between == ctx.graph.shape(node.output) {
        let whole = Node { op, inputs: vec![from], op_index: first_node.op_index, ..node.clone() };
        return Edit::default().remove(first).replace(second, whole);
    }
    let mut edit = Edit::default();
    let tensor = &ctx.graph.tensors[first_node.output];
    let output = edit.add(&ctx.graph, Tensor { dims: between.dims().to_vec(), shape: between, ..tensor.clone() });
    let moved = Node { op, output, ..first_node.clone() };
    edit.replace(first, moved).replace(second, Node { op: then, inputs: vec![output], ..node.clone() })
}

/// Returns the number of rows among which the channels of a tensor of shape `whole` are divided, if a reshape to
/// `middle` and a transpose do that and nothing else: channel `c` of row `r * rows + i` is channel `i * channels + c` of
/// row `r`.
fn parts(whole: Shape, middle: [usize; 4], perm: [usize; 4]) -> Option<usize> {
    let mut distance = [1; 4];
    for axis in (0..3).rev() {
        distance[axis] = distance[axis + 1] * middle[axis + 1];
    }
    let [b, h, w, c] = perm.map(|axis| middle[axis]);
    let [batch_distance, row_distance, pixel_distance, channel_distance] = perm.map(|axis| distance[axis]);
    let rows = whole.c.checked_div(c).filter(|rows| rows * c == whole.c && *rows > 1)?;
    let pixels_stay = w == whole.w && pixel_distance == whole.c && (channel_distance == 1 || c == 1);
    // A tensor of one column is a matter of reshapes.
    if !pixels_stay || w == 1 || keeps_order(middle, perm) || b * h != whole.rows() * rows || b * h > MAX_ROWS {
        return None;
    }
    let begins = |row: usize| (row / h) * batch_distance + (row % h) * row_distance;
    let due = |row: usize| (row / rows) * w * whole.c + (row % rows) * c;
    (0..b * h).all(|row| begins(row) == due(row)).then_some(rows)
}
