//! Recognises concatenations that put slices of a tensor together again, in the same order: a state that is taken apart
//! for a recurrent layer, and put together behind it.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
};
use texpool_ops::graph::{Concat, Node, NodeId, Op, StridedSlice, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "concat-slices",
    about: "turns a concatenation of all slices of a tensor, in their order, into a reshape",
    numerics: Numerics::Exact,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (&Op::Concat(Concat { axis }), &[first, _, ..]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    // Parts follow each other in dense order only if nothing lies outside the axis.
    if ctx.graph.shape(first).dims()[..axis].iter().any(|&extent| extent != 1) {
        return Ok(None);
    }
    let mut whole = None;
    let mut end = 0;
    for &part in &node.inputs {
        let Some((from, range)) = dense_slice(ctx, part) else { return Ok(None) };
        if range.start != end || *whole.get_or_insert(from) != from {
            return Ok(None);
        }
        end = range.end;
    }
    let Some(whole) = whole.filter(|&whole| ctx.graph.shape(whole).len() == end) else { return Ok(None) };
    Ok(Some(Edit::default().replace(id, Node { op: Op::Reshape, inputs: vec![whole], ..node.clone() })))
}

/// Returns the tensor of which `part` is a slice, also behind reshapes, and the elements of the slice in dense order.
fn dense_slice(ctx: &RewriteContext, part: TensorId) -> Option<(TensorId, std::ops::Range<usize>)> {
    let mut node = ctx.node(ctx.producer(part)?);
    while node.op == Op::Reshape && node.epilogue.is_empty() {
        node = ctx.node(ctx.producer(node.inputs[0])?);
    }
    let &Op::StridedSlice(StridedSlice { begin, stride: [1, 1, 1, 1] }) = &node.op else { return None };
    let &[from] = &node.inputs[..] else { return None };
    let [whole, taken] = [from, node.output].map(|tensor| ctx.graph.shape(tensor).dims());
    let cut: Vec<usize> = (0..4).filter(|&axis| whole[axis] != taken[axis]).collect();
    // Along one axis, with nothing outside it.
    let &[axis] = &cut[..] else { return None };
    if !node.epilogue.is_empty() || ctx.graph.is_constant(from) || whole[..axis].iter().any(|&extent| extent != 1) {
        return None;
    }
    let run: usize = whole[axis + 1..].iter().product();
    Some((from, begin[axis] * run..(begin[axis] + taken[axis]) * run))
}
