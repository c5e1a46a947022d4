//! Folds arithmetic with constants into the weights and bias of the node that reads its result.

use super::{
    affine::Affine,
    context::RewriteContext,
    edit::{Edit, Proposal},
    epilogue::plain,
    numerics::{Absorbed, Numerics, differ_by_rounding},
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weight_indexing::WeightIndexing,
    weights::{changed, list},
};
use texpool_ops::graph::{Binary, Node, NodeId, Op, Softmax, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "arithmetic-ahead",
    about: "folds a constant (one value, or one per channel) that is added, subtracted, multiplied or divided by \
            into the layer or softmax after it; sums only if the layer has no border, else they move in front of the \
            product before them",
    numerics: Numerics::Reassociates,
    // Backward: after folding the last of several operations, the one before it is next to the convolution and is
    // folded in the same sweep.
    order: Order::Backward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let to = node.output;
    let Some(&reader) = ctx.readers(to).iter().find(|&&reader| takes(ctx, reader, to)) else { return Ok(None) };
    let Some((from, affine)) = Affine::of(ctx, node)? else { return Ok(None) };
    plain(node)?;
    ctx.check_one_use(to)?;
    let reader_node = ctx.node(reader);
    let mut edit = Edit::default();
    if let Op::Softmax(Softmax { beta, log }) = reader_node.op {
        let beta = beta * even_scale(ctx, &affine, to)?;
        let read = Node { op: Op::Softmax(Softmax { beta, log }), inputs: vec![from], ..reader_node.clone() };
        return Ok(Some(edit.replace(reader, read).remove(id)));
    }
    let indexing = WeightIndexing::of(ctx, reader_node, affine.channels)?;
    if affine.shift.is_some() && indexing.has_border {
        return sum_first(ctx, id, (from, &affine), (reader, &indexing)).map(Some);
    }
    let inputs = fold(ctx, reader_node, from, &affine, &indexing, &mut edit)?;
    Ok(Some(edit.replace(reader, Node { inputs, ..reader_node.clone() }).remove(id)))
}

/// Returns whether this rule can fold arithmetic on `operand` into the node.
fn takes(ctx: &RewriteContext, reader: NodeId, operand: TensorId) -> bool {
    let node = ctx.node(reader);
    let kind = matches!(
        node.op,
        Op::Conv2d(_) | Op::DepthwiseConv2d(_) | Op::TransposeConv(_) | Op::FullyConnected | Op::Softmax(_)
    );
    // The factor of a softmax would apply to its addends as well.
    let has_addends = matches!(node.op, Op::Softmax(_)) && node.inputs.len() > 1;
    kind && !has_addends && node.inputs.first() == Some(&operand)
}

/// Returns the scale if it is a single positive number for all channels and the shift is absent. A softmax absorbs it
/// into `beta`.
fn even_scale(ctx: &RewriteContext, affine: &Affine, to: TensorId) -> Result<f32, SkipReason> {
    let scales: Vec<f32> = (0..affine.channels).map(|channel| affine.numbers(channel)[0] as f32).collect();
    match scales[..] {
        [scale, ref rest @ ..]
            // A softmax subtracts the maximum before it applies `beta`. With a negative `beta` the powers could
            // overflow.
            if affine.shift.is_none() && scale > 0.0 && scale.is_finite() && rest.iter().all(|&s| s == scale) =>
        {
            Ok(scale)
        }
        _ => Err(SkipReason::NotPerChannel { tensor: ctx.name(to) }),
    }
}

/// Returns the operands of the reader after folding: it reads `from`, and its weights and bias do the arithmetic.
fn fold(
    ctx: &RewriteContext,
    reader: &Node,
    from: TensorId,
    affine: &Affine,
    indexing: &WeightIndexing,
    edit: &mut Edit,
) -> Result<Vec<TensorId>, SkipReason> {
    let mut inputs = reader.inputs.clone();
    inputs[0] = from;
    if affine.scale.is_some() {
        let scaled = indexing.weights.iter().enumerate();
        let scaled: Vec<f32> = scaled.map(|(i, &weight)| affine.scaled(weight, indexing.reads(i))).collect();
        inputs[1] = changed(ctx, inputs[1], indexing.shape, &scaled, edit)?;
    }
    if affine.shift.is_some() {
        // The shift is added after the scale, so it is multiplied by the weights as they were before folding the
        // scale.
        let mut sums = indexing.bias.clone();
        let (mut most, mut reach) = (vec![0.0; sums.len()], vec![0.0; sums.len()]);
        for (i, &weight) in indexing.weights.iter().enumerate() {
            let [by, plus] = affine.numbers(indexing.reads(i));
            let (writes, weight) = (indexing.writes(i), f64::from(weight));
            sums[writes] += weight * plus;
            most[writes] += (weight * plus).abs();
            reach[writes] += (weight * by).abs();
        }
        // `(x + 12582912)` followed by a bias of `-12582912 * weight` rounds `x` to whole numbers. Folding would lose
        // that, so constants that cancel each other are left alone.
        let shifted = |(&most, (&sum, &bias)): (&f64, (&f64, &f64))| Absorbed::shifted(most.max(bias.abs()), sum);
        let absorbed: Vec<Absorbed> = most.iter().zip(sums.iter().zip(&indexing.bias)).map(shifted).collect();
        if !absorbed.iter().any(Absorbed::overflows) && !differ_by_rounding(&absorbed, |channel| reach[channel]) {
            return Err(SkipReason::RoundsOnPurpose { tensor: ctx.name(from) });
        }
        let sums: Vec<f32> = sums.iter().map(|&sum| sum as f32).collect();
        let (old, shape) = match reader.inputs[..] {
            [_, _, bias] => (bias, ctx.graph.shape(bias)),
            _ => (reader.inputs[1], list(sums.len())),
        };
        inputs.truncate(2);
        inputs.push(changed(ctx, old, shape, &sums, edit)?);
    }
    Ok(inputs)
}

/// Rewrites `x * s + t` as `(x + t / s) * s`. A shift cannot be folded into a convolution with padding, because its
/// zeros would have to be shifted, too. The scale can be folded once the shift comes first.
fn sum_first(
    ctx: &RewriteContext,
    id: NodeId,
    (product, sum): (TensorId, &Affine),
    (reader, indexing): (NodeId, &WeightIndexing),
) -> Result<Edit, SkipReason> {
    let (node, reader_node) = (ctx.node(id), ctx.node(reader));
    let border = || SkipReason::PaddedBorder { op: reader_node.op.name() };
    let before = ctx.producer(product).ok_or_else(border)?;
    let Some((x, scale)) = Affine::of(ctx, ctx.node(before)).ok().flatten() else { return Err(border()) };
    if scale.shift.is_some() || sum.scale.is_some() {
        return Err(border());
    }
    plain(ctx.node(before))?;
    ctx.check_one_use(product)?;
    let shift = |channel| (sum.numbers(channel)[1] / scale.numbers(channel)[0]) as f32;
    let mut shifts: Vec<f32> = (0..sum.channels).map(shift).collect();
    if shifts.windows(2).all(|pair| pair[0] == pair[1]) {
        shifts.truncate(1);
    }
    let mut edit = Edit::default();
    let constant = node.inputs.iter().copied().find(|&tensor| tensor != product).ok_or_else(border)?;
    let constant = changed(ctx, constant, list(shifts.len()), &shifts, &mut edit)?;
    let inputs = fold(ctx, reader_node, node.output, &scale, indexing, &mut edit)?;
    let op_index = ctx.node(before).op_index;
    let op = Op::Binary(Binary::Add);
    let first = Node { op, inputs: vec![x, constant], op_index, ..node.clone() };
    Ok(edit.replace(id, first).replace(reader, Node { inputs, ..reader_node.clone() }).remove(before))
}
