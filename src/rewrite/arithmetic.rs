//! Folds constants added to, or multiplied with, a convolution's result into its weights and bias.

use super::{
    affine::Affine,
    edit::{Edit, Verdict},
    rules::{Order, Rule},
    site::Site,
    weights::{changed, list, values, weights_and_bias},
    why_not::WhyNot,
};
use crate::graph::{Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "arithmetic",
    about: "folds a constant (one value, or one a channel) that is added, subtracted, multiplied or divided by into \
            the weights and bias of the convolution or fully connected node before it",
    bits: "rounded at another place: weights are rounded once more, the result once less",
    order: Order::Forward,
    look,
};

fn look(site: &Site, id: NodeId) -> Verdict {
    let node = site.node(id);
    let &[to] = &node.outputs[..] else { return Ok(None) };
    let Some((from, affine)) = Affine::of(site, node)? else { return Ok(None) };
    let maker = site.private_maker(from)?;
    let maker_node = site.node(maker);
    if !maker_node.tail.is_empty() {
        return Err(WhyNot::TailTaken { op: maker_node.op.name() });
    }
    let mut edit = Edit::default();
    let inputs = fold(site, maker_node, &affine, &mut edit)?;
    let fused = Node { inputs, outputs: vec![to], tail: node.tail, ..maker_node.clone() };
    // The tail may add a tensor that is computed between the two.
    let (place, gone) = if node.tail.add.is_none() { (maker, id) } else { (id, maker) };
    Ok(Some(edit.put(place, fused).take_out(gone)))
}

/// The operands of a node whose result is scaled and shifted; constants may be shared, so changed ones are new.
fn fold(site: &Site, node: &Node, affine: &Affine, edit: &mut Edit) -> Result<Vec<TensorId>, WhyNot> {
    let (weights, bias) = weights_and_bias(node)?;
    let shape = site.graph.shape(weights);
    // Weight `i` belongs to output channel `i / run % channels`.
    let (channels, run) = match node.op {
        Op::Conv2d(_) | Op::TransposeConv(_) => (shape.b, shape.h * shape.w * shape.c),
        Op::DepthwiseConv2d(_) => (shape.c, 1),
        Op::FullyConnected => (shape.w, shape.c),
        _ => return Err(WhyNot::Neighbour { op: node.op.name() }),
    };
    if channels != affine.channels || run == 0 {
        return Err(WhyNot::OtherExtents { tensor: site.name(weights) });
    }
    let mut inputs = node.inputs.clone();
    if affine.scale.is_some() {
        let values = values(site, weights)?;
        let scaled: Vec<f32> = values.iter().enumerate().map(|(i, &v)| affine.scaled(v, i / run % channels)).collect();
        inputs[1] = changed(site, weights, shape, &scaled, edit)?;
    }
    match bias {
        Some(bias) => {
            let values = values(site, bias)?;
            if values.len() != channels {
                return Err(WhyNot::NotPerChannel { tensor: site.name(bias) });
            }
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
