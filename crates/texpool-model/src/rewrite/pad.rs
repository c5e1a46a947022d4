//! Moves zero padding of an image into the convolutions that read it.

use super::{
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::Numerics,
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::values,
};
use texpool_ops::graph::{
    Act, Conv2d, DepthwiseConv2d, Node, NodeId, Op, Pad, PadMode, Padding, Pool2d, PoolKind, TensorId, Unary,
};

pub(super) const RULE: Rule = Rule {
    name: "pad",
    about: "adds zeros around an image to the padding of the convolutions that read it, and of max pools if no value \
            is negative",
    numerics: Numerics::SignedZero,
    // Backward: once the pad next to a convolution is merged, the pad before it is next to the convolution.
    order: Order::Backward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let (Op::Pad(Pad { before, after, mode }), &[from, ..]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let to = node.output;
    // The pattern also matches -0.0; the rule may change the sign of zeros.
    let (Some([top, left]), Some([bottom, right]), PadMode::Constant(0.0)) = (around(*before), around(*after), mode)
    else {
        return Err(SkipReason::NotZeroPadding);
    };
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if ctx.is_output(to) {
        return Err(SkipReason::IsOutput { tensor: ctx.name(to) });
    }
    let around = Padding { top, bottom, left, right };
    let mut edit = Edit::default().remove(id);
    // All readers or none: as long as one of them needs the padded image, changing the others saves nothing.
    for &reader in ctx.readers(to) {
        edit = edit.replace(reader, padded(ctx, ctx.node(reader), (from, to), around)?);
    }
    Ok((!ctx.readers(to).is_empty()).then_some(edit))
}

/// Returns rows and columns, if the pad does not crop and does not extend batches or channels.
fn around(amounts: [isize; 4]) -> Option<[usize; 2]> {
    let [0, rows, columns, 0] = amounts else { return None };
    Some([usize::try_from(rows).ok()?, usize::try_from(columns).ok()?])
}

/// Returns a reader of the padded image `to`, changed to read `from` and to add the padding itself.
fn padded(
    ctx: &RewriteContext,
    node: &Node,
    (from, to): (TensorId, TensorId),
    around: Padding,
) -> Result<Node, SkipReason> {
    let neighbour = || SkipReason::UnsupportedNode { op: node.op.name() };
    let op = match &node.op {
        Op::Conv2d(conv) => Op::Conv2d(Conv2d { padding: sum(conv.padding, around), ..*conv }),
        Op::DepthwiseConv2d(DepthwiseConv2d(conv)) => {
            Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { padding: sum(conv.padding, around), ..*conv }))
        }
        Op::Pool2d(pool) if pool.kind == PoolKind::Max => {
            let pool = Pool2d { padding: sum(pool.padding, around), ..*pool };
            if !never_negative(ctx, from) || !windows_meet(pool) {
                return Err(SkipReason::ZeroMayWin);
            }
            Op::Pool2d(pool)
        }
        _ => return Err(neighbour()),
    };
    // An infinite weight times a zero of the pad is NaN, but a convolution's own padding contributes nothing by
    // definition.
    for &weights in node.inputs.iter().skip(1) {
        if !values(ctx, weights)?.iter().all(|value| value.is_finite()) {
            return Err(SkipReason::NotFinite { tensor: ctx.name(weights) });
        }
    }
    let mut inputs = node.inputs.clone();
    match inputs.split_first_mut() {
        Some((image, rest)) if *image == to && !rest.contains(&to) && node.epilogue.add != Some(to) => *image = from,
        _ => return Err(neighbour()),
    }
    Ok(Node { op, inputs, ..node.clone() })
}

fn sum(a: Padding, b: Padding) -> Padding {
    Padding { top: a.top + b.top, bottom: a.bottom + b.bottom, left: a.left + b.left, right: a.right + b.right }
}

/// Returns whether a tensor is computed by a node that ends with a nonnegative function.
fn never_negative(ctx: &RewriteContext, tensor: TensorId) -> bool {
    let Some(producer) = ctx.producer(tensor) else { return false };
    let node = ctx.node(producer);
    let last = match (node.epilogue.then, node.epilogue.first) {
        (Act::None, first) if node.epilogue.add.is_none() => first,
        (then, _) => then,
    };
    let last = match (last, &node.op) {
        (Act::None, Op::Unary(unary)) if node.epilogue.is_empty() => Act::Unary(*unary),
        _ => last,
    };
    use Unary::{Abs, Clip, Exp, FakeQuant, FakeQuantEven, Logistic, Relu, Relu6, Sqrt, Square};
    match last {
        Act::Unary(Relu | Relu6 | Logistic | Exp | Sqrt | Square | Abs) => true,
        Act::Unary(Clip { min, .. }) => min >= 0.0,
        Act::Unary(FakeQuant { least, .. } | FakeQuantEven { least, .. }) => least >= 0,
        _ => false,
    }
}

/// Returns whether every window of a pool contains a pixel of the image. This holds if every border is narrower than
/// the window. The maximum of padding alone would be minus infinity instead of zero.
fn windows_meet(pool: Pool2d) -> bool {
    let Padding { top, bottom, left, right } = pool.padding;
    pool.dilation == [1, 1] && top.max(bottom) < pool.window[0] && left.max(right) < pool.window[1]
}
