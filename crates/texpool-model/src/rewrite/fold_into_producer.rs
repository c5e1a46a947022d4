//! Folds constants that are added to or multiplied with the result of a convolution into its weights and bias.

use super::{
    affine::Affine,
    context::RewriteContext,
    edit::{Edit, Proposal},
    numerics::{Absorbed, Numerics, differ_by_rounding},
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::{changed, list, values, weights_and_bias},
};
use texpool_ops::graph::{Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "arithmetic",
    about: "folds a constant (one value, or one per channel) that is added, subtracted, multiplied or divided by \
            into the weights and bias of the layer before it",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let node = ctx.node(id);
    let Some((from, affine)) = Affine::of(ctx, node)? else { return Ok(None) };
    let producer = ctx.one_use_producer(from)?;
    let producer_node = ctx.node(producer);
    if !producer_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: producer_node.op.name() });
    }
    if ctx.could_be_view(producer_node) {
        return fold_past_views(ctx, id, producer, &affine);
    }
    let mut edit = Edit::default();
    let inputs = fold(ctx, producer_node, &affine, &mut edit)?;
    let fused = Node { inputs, output: node.output, epilogue: node.epilogue, ..producer_node.clone() };
    // If the second node adds a tensor, that tensor may be computed between the two nodes, so the fused node takes
    // the place of the second.
    let (place, removed) = if node.epilogue.add.is_none() { (producer, id) } else { (id, producer) };
    Ok(Some(edit.replace(place, fused).remove(removed)))
}

/// Folds a number into the layer in front of one or several views, such as the scale of an attention's queries into the
/// layer whose result the heads divide. Views commute with functions that treat all elements alike.
fn fold_past_views(ctx: &RewriteContext, id: NodeId, last_view: NodeId, affine: &Affine) -> Proposal {
    let node = ctx.node(id);
    // The view would have to apply the epilogue, and then be no view.
    if !node.epilogue.is_empty() {
        return Err(SkipReason::BreaksView);
    }
    let mut layer = last_view;
    while ctx.could_be_view(ctx.node(layer)) {
        layer = ctx.one_use_producer(ctx.node(layer).inputs[0])?;
    }
    let layer_node = ctx.node(layer);
    if !layer_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: layer_node.op.name() });
    }
    let result = layer_node.output;
    let affine = affine.repeated(ctx.graph.shape(result).c);
    let affine = affine.ok_or_else(|| SkipReason::NotPerChannel { tensor: ctx.name(result) })?;
    let mut edit = Edit::default();
    let inputs = fold(ctx, layer_node, &affine, &mut edit)?;
    let view = Node { output: node.output, ..ctx.node(last_view).clone() };
    Ok(Some(edit.replace(layer, Node { inputs, ..layer_node.clone() }).replace(last_view, view).remove(id)))
}

/// Returns the operands of a node with a scale and a shift folded in. Creates new constants, because other nodes may
/// read the old ones.
fn fold(ctx: &RewriteContext, node: &Node, affine: &Affine, edit: &mut Edit) -> Result<Vec<TensorId>, SkipReason> {
    let (weights, bias) = weights_and_bias(node)?;
    let shape = ctx.graph.shape(weights);
    // The weights of an output channel are in runs of this many, one run per channel in turn.
    let (channels, run) = match node.op {
        Op::Conv2d(_) | Op::TransposeConv(_) => (shape.b, shape.h * shape.w * shape.c),
        Op::DepthwiseConv2d(_) => (shape.c, 1),
        Op::FullyConnected => (shape.w, shape.c),
        _ => return Err(SkipReason::UnsupportedNode { op: node.op.name() }),
    };
    if channels != affine.channels || run == 0 {
        return Err(SkipReason::ShapeMismatch { tensor: ctx.name(weights) });
    }
    let weights_are = values(ctx, weights)?;
    let biases = bias.map(|bias| values(ctx, bias)).transpose()?;
    if let (Some(bias), Some(values)) = (bias, &biases)
        && values.len() != channels
    {
        return Err(SkipReason::NotPerChannel { tensor: ctx.name(bias) });
    }
    if !rounds_alike(affine, &weights_are, run, biases.as_deref()) {
        return Err(SkipReason::RoundsOnPurpose { tensor: ctx.name(node.output) });
    }
    let mut inputs = node.inputs.clone();
    if affine.scale.is_some() {
        let mut scaled = weights_are.into_owned();
        for (channel, values) in (0..channels).cycle().zip(scaled.chunks_mut(run)) {
            values.iter_mut().for_each(|value| *value = affine.scaled(*value, channel));
        }
        inputs[1] = changed(ctx, weights, shape, &scaled, edit)?;
    }
    match bias.zip(biases) {
        Some((bias, values)) => {
            let shifted: Vec<f32> = values.iter().enumerate().map(|(i, &v)| affine.shifted(v, i)).collect();
            inputs[2] = changed(ctx, bias, ctx.graph.shape(bias), &shifted, edit)?;
        }
        // A scale needs no bias; only a shift requires one to be added.
        None => {
            if let Some(shift) = &affine.shift {
                inputs.push(changed(ctx, weights, list(channels), shift, edit)?);
            }
        }
    }
    Ok(inputs)
}

/// Returns whether folding changes the result only by rounding, and removes no rounding that the constants cause on
/// purpose. The weights are in runs of `run`, one run per output channel in turn. Returns true on overflow, because
/// `changed` then refuses the constant by name.
fn rounds_alike(affine: &Affine, weights: &[f32], run: usize, biases: Option<&[f32]>) -> bool {
    let mut reach = vec![0.0f64; affine.channels];
    let mut sums: Vec<Absorbed> = (0..affine.channels)
        .map(|channel| Absorbed::new(biases.map_or(0.0, |biases| f64::from(biases[channel]))))
        .collect();
    for (channel, values) in (0..affine.channels).cycle().zip(weights.chunks(run)) {
        reach[channel] = values.iter().fold(reach[channel], |sum, &weight| sum + f64::from(weight).abs());
    }
    sums.iter_mut().enumerate().for_each(|(channel, sum)| sum.then(affine.numbers(channel)));
    sums.iter().any(Absorbed::overflows) || differ_by_rounding(&sums, |channel| reach[channel])
}
