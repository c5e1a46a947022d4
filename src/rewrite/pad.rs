//! Moves zeros around an image into the convolutions that read it.

use super::{
    edit::{Edit, Verdict},
    numerics::Numerics,
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
    weights::values,
};
use crate::graph::{
    Act, Conv2d, DepthwiseConv2d, Node, NodeId, Op, Pad, PadMode, Padding, Pool2d, PoolKind, TensorId, Unary,
};

pub(super) const RULE: Rule = Rule {
    name: "pad",
    about: "adds zeros put around an image to the padding of the convolutions that read it, and to that of greatest \
            value pools where no value is below zero",
    numerics: Numerics::SignedZero,
    order: Order::Backward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let (Op::Pad(Pad { before, after, mode }), &[from, ..]) = (&node.op, &node.inputs[..]) else { return Ok(None) };
    let to = node.output;
    let (Some([top, left]), Some([bottom, right]), PadMode::Constant(0.0)) = (around(*before), around(*after), mode)
    else {
        return Err(SkipReason::NotZerosAround);
    };
    if !node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: node.op.name() });
    }
    if site.goes_out(to) {
        return Err(SkipReason::GoesOut { tensor: site.name(to) });
    }
    let around = Padding { top, bottom, left, right };
    let mut edit = Edit::default().take_out(id);
    for &reader in site.readers(to) {
        edit = edit.put(reader, padded(site, site.node(reader), (from, to), around)?);
    }
    Ok((!site.readers(to).is_empty()).then_some(edit))
}

/// Rows and columns, if nothing is cut off and neither batches nor channels are added.
fn around(amounts: [isize; 4]) -> Option<[usize; 2]> {
    let [0, rows, columns, 0] = amounts else { return None };
    Some([usize::try_from(rows).ok()?, usize::try_from(columns).ok()?])
}

/// A reader of the padded image `to` that reads `from` instead and pads it by itself.
fn padded(site: &Site, node: &Node, (from, to): (TensorId, TensorId), around: Padding) -> Result<Node, SkipReason> {
    let neighbour = || SkipReason::Neighbour { op: node.op.name() };
    let op = match &node.op {
        Op::Conv2d(conv) => Op::Conv2d(Conv2d { padding: sum(conv.padding, around), ..*conv }),
        Op::DepthwiseConv2d(DepthwiseConv2d(conv)) => {
            Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { padding: sum(conv.padding, around), ..*conv }))
        }
        Op::Pool2d(pool) if pool.kind == PoolKind::Max => {
            let pool = Pool2d { padding: sum(pool.padding, around), ..*pool };
            if !never_negative(site, from) || !windows_meet(pool) {
                return Err(SkipReason::ZerosCount);
            }
            Op::Pool2d(pool)
        }
        _ => return Err(neighbour()),
    };
    // Zero times what is no number is none; a border of zeros that is not multiplied would hide it.
    for &weights in node.inputs.iter().skip(1) {
        if !values(site, weights)?.iter().all(|value| value.is_finite()) {
            return Err(SkipReason::NotFinite { tensor: site.name(weights) });
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

/// Whether a tensor is computed by a node that ends in a function without negative values.
fn never_negative(site: &Site, tensor: TensorId) -> bool {
    let Some(maker) = site.maker(tensor) else { return false };
    let node = site.node(maker);
    let last = match (node.epilogue.then, node.epilogue.first) {
        (Act::None, first) if node.epilogue.add.is_none() => first,
        (then, _) => then,
    };
    let last = match (last, &node.op) {
        (Act::None, Op::Unary(unary)) if node.epilogue.is_empty() => Act::Unary(*unary),
        _ => last,
    };
    use Unary::{Abs, Clip, Exp, FakeQuant, Logistic, Relu, Relu6, Sqrt, Square};
    match last {
        Act::Unary(Relu | Relu6 | Logistic | Exp | Sqrt | Square | Abs) => true,
        Act::Unary(Clip { min, .. }) => min >= 0.0,
        Act::Unary(FakeQuant { least, .. }) => least >= 0,
        _ => false,
    }
}

/// Whether every window of a pool holds a pixel of the image: no border is as wide as the window.
fn windows_meet(pool: Pool2d) -> bool {
    let Padding { top, bottom, left, right } = pool.padding;
    pool.dilation == [1, 1] && top.max(bottom) < pool.window[0] && left.max(right) < pool.window[1]
}
