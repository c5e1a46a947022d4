//! Folds constants added to, or multiplied with, a convolution's result into its weights and bias.

use super::{
    affine::Affine,
    edit::{Edit, Verdict},
    numerics::{Absorbed, Numerics, is_rounding},
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
    weights::{changed, list, values, weights_and_bias},
};
use crate::graph::{Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "arithmetic",
    about: "folds a constant (one value, or one a channel) that is added, subtracted, multiplied or divided by into \
            the weights and bias of the convolution or fully connected node before it",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let Some((from, affine)) = Affine::of(site, node)? else { return Ok(None) };
    let maker = site.private_maker(from)?;
    let maker_node = site.node(maker);
    if !maker_node.epilogue.is_empty() {
        return Err(SkipReason::EpilogueTaken { op: maker_node.op.name() });
    }
    let mut edit = Edit::default();
    let inputs = fold(site, maker_node, &affine, &mut edit)?;
    let fused = Node { inputs, output: node.output, epilogue: node.epilogue, ..maker_node.clone() };
    // The epilogue may add a tensor that is computed between the two.
    let (place, gone) = if node.epilogue.add.is_none() { (maker, id) } else { (id, maker) };
    Ok(Some(edit.put(place, fused).take_out(gone)))
}

/// The operands of a node whose result is scaled and shifted; constants may be shared, so changed ones are new.
fn fold(site: &Site, node: &Node, affine: &Affine, edit: &mut Edit) -> Result<Vec<TensorId>, SkipReason> {
    let (weights, bias) = weights_and_bias(node)?;
    let shape = site.graph.shape(weights);
    // Weight `i` belongs to output channel `i / run % channels`.
    let (channels, run) = match node.op {
        Op::Conv2d(_) | Op::TransposeConv(_) => (shape.b, shape.h * shape.w * shape.c),
        Op::DepthwiseConv2d(_) => (shape.c, 1),
        Op::FullyConnected => (shape.w, shape.c),
        _ => return Err(SkipReason::Neighbour { op: node.op.name() }),
    };
    if channels != affine.channels || run == 0 {
        return Err(SkipReason::OtherExtents { tensor: site.name(weights) });
    }
    let weights_are = values(site, weights)?;
    let biases = bias.map(|bias| values(site, bias)).transpose()?;
    if let (Some(bias), Some(values)) = (bias, &biases)
        && values.len() != channels
    {
        return Err(SkipReason::NotPerChannel { tensor: site.name(bias) });
    }
    if !rounds_alike(affine, &weights_are, run, biases.as_deref()) {
        return Err(SkipReason::Absorbs { tensor: site.name(node.output) });
    }
    let mut inputs = node.inputs.clone();
    if affine.scale.is_some() {
        let values = &weights_are;
        let scaled: Vec<f32> = values.iter().enumerate().map(|(i, &v)| affine.scaled(v, i / run % channels)).collect();
        inputs[1] = changed(site, weights, shape, &scaled, edit)?;
    }
    match bias.zip(biases) {
        Some((bias, values)) => {
            let shifted: Vec<f32> = values.iter().enumerate().map(|(i, &v)| affine.shifted(v, i)).collect();
            inputs[2] = changed(site, bias, site.graph.shape(bias), &shifted, edit)?;
        }
        None => {
            if let Some(shift) = &affine.shift {
                inputs.push(changed(site, weights, list(channels), shift, edit)?);
            }
        }
    }
    Ok(inputs)
}

/// Whether the layer's result is rounded by no constant on the way; weight `i` belongs to channel `i / run` of all, in turn.
/// What overflows is refused where constants are made.
fn rounds_alike(affine: &Affine, weights: &[f32], run: usize, biases: Option<&[f32]>) -> bool {
    let mut reach = vec![0.0f64; affine.channels];
    let mut sums: Vec<Absorbed> = (0..affine.channels)
        .map(|channel| Absorbed::new(biases.map_or(0.0, |biases| f64::from(biases[channel]))))
        .collect();
    weights.iter().enumerate().for_each(|(i, &weight)| reach[i / run % affine.channels] += f64::from(weight).abs());
    sums.iter_mut().enumerate().for_each(|(channel, sum)| sum.then(affine.numbers(channel)));
    sums.iter().any(Absorbed::overflows) || is_rounding(&sums, |channel| reach[channel])
}
