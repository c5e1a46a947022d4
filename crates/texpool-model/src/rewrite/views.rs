//! Finds views: nodes that need no step because the texels of their result are already in the right place. Uses only
//! shapes, not placements.

use super::{
    context::RewriteContext,
    report::{Location, Report, Skipped},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{DepthToSpace, IdVec, Node, NodeSet, Op, SpaceToDepth, TensorId, keeps_texels};

/// Name by which `--rules` switches the search on and off.
pub(super) const NAME: &str = "views";

/// Finds the nodes that need no step: the texels of operand and result agree, and no two graph inputs or outputs
/// would share texels.
pub(super) fn find(ctx: &RewriteContext, report: &mut Report) -> NodeSet {
    let graph = &ctx.graph;
    // `head` is the first tensor of each chain of views. `external` is, for each head, the input or output in its
    // chain.
    let mut head: IdVec<_, TensorId> = graph.tensors.ids().collect();
    let mut external: IdVec<_, Option<TensorId>> = IdVec::from_elem(None, &graph.tensors);
    for &tensor in graph.inputs.iter().chain(&graph.outputs) {
        external[tensor] = Some(tensor);
    }
    let mut views = Vec::new();
    for (id, node) in graph.nodes.iter_enumerated() {
        let (&[from, ..], to) = (&node.inputs[..], node.output) else { continue };
        match node.op {
            Op::Reshape
            | Op::DepthToSpace(DepthToSpace { block: [_, 1], .. })
            | Op::SpaceToDepth(SpaceToDepth { block: [_, 1] }) => {}
            _ => continue,
        }
        match check(ctx, node, (from, to), external[head[from]]) {
            Ok(()) => {
                views.push(id);
                head[to] = head[from];
                external[head[from]] = external[head[from]].or(external[to]);
            }
            Err(why) => report.missed.push(Skipped { rule: NAME, location: Location::new(graph, node), why }),
        }
    }
    views.into_iter().collect()
}

fn check(
    ctx: &RewriteContext,
    node: &Node,
    (from, to): (TensorId, TensorId),
    shared: Option<TensorId>,
) -> Result<(), SkipReason> {
    let (from_shape, to_shape) = (ctx.graph.shape(from), ctx.graph.shape(to));
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    // Constants are stored among the weights, and tensors of the pool cannot be views of them.
    if ctx.graph.is_constant(from) {
        return Err(SkipReason::IsConstant { tensor: ctx.name(from) });
    }
    if !keeps_texels(&node.op, from_shape, to_shape) {
        let (from, to) = (from_shape.to_string(), to_shape.to_string());
        return Err(SkipReason::TexelsMove { op: node.op.name(), from, to });
    }
    match shared {
        Some(other) if ctx.is_output(to) => Err(SkipReason::MustCopy { first: ctx.name(other), second: ctx.name(to) }),
        _ => Ok(()),
    }
}
