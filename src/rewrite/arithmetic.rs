//! Folds constants added to, or multiplied with, a convolution's result into its weights and bias.

use std::borrow::Cow;

use super::{
    edit::{Edit, Verdict},
    rules::{Order, Rule},
    site::Site,
    why_not::WhyNot,
};
use crate::graph::Binary::{self, Add, Div, Mul, Sub};
use crate::graph::{Constant, Node, NodeId, Op, Shape, Tensor, TensorId};

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
    let (&Op::Binary(binary @ (Add | Sub | Mul | Div)), &[a, b], &[to]) =
        (&node.op, &node.inputs[..], &node.outputs[..])
    else {
        return Ok(None);
    };
    let (from, constant, constant_first) = match (site.graph.is_constant(a), site.graph.is_constant(b)) {
        (false, true) => (a, b, false),
        (true, false) => (b, a, true),
        _ => return Ok(None),
    };
    if site.graph.shape(from) != site.graph.shape(to) {
        return Err(WhyNot::OtherExtents { tensor: site.name(from) });
    }
    let values = site.per_channel(constant, site.graph.shape(to).c)?;
    let Some(affine) = Affine::new(binary, constant_first, values) else { return Err(WhyNot::Dividend) };
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

/// `scale * x + shift`, channel by channel; `divide` says that the scale is divided by.
struct Affine {
    channels: usize,
    scale: Option<Vec<f32>>,
    shift: Option<Vec<f32>>,
    divide: bool,
}

impl Affine {
    /// What a binary node with one constant operand does to the other, if that is affine.
    fn new(binary: Binary, constant_first: bool, values: Vec<f32>) -> Option<Self> {
        let channels = values.len();
        let (scale, shift) = match (binary, constant_first) {
            (Add, _) => (None, Some(values)),
            (Sub, false) => (None, Some(values.iter().map(|v| -v).collect())),
            (Sub, true) => (Some(vec![-1.0; channels]), Some(values)),
            (Mul, _) | (Div, false) => (Some(values), None),
            _ => return None,
        };
        Some(Self { channels, scale, shift, divide: binary == Div })
    }

    fn scaled(&self, value: f32, channel: usize) -> f32 {
        match &self.scale {
            Some(scale) if self.divide => value / scale[channel],
            Some(scale) => value * scale[channel],
            None => value,
        }
    }

    fn shifted(&self, value: f32, channel: usize) -> f32 {
        let value = self.scaled(value, channel);
        self.shift.as_ref().map_or(value, |shift| value + shift[channel])
    }
}

/// The operands of a node whose result is scaled and shifted; constants may be shared, so changed ones are new.
fn fold(site: &Site, node: &Node, affine: &Affine, edit: &mut Edit) -> Result<Vec<TensorId>, WhyNot> {
    let neighbour = || WhyNot::Neighbour { op: node.op.name() };
    let (weights, bias) = match node.inputs[..] {
        [_, weights] => (weights, None),
        [_, weights, bias] => (weights, Some(bias)),
        _ => return Err(neighbour()),
    };
    let shape = site.graph.shape(weights);
    // Weight `i` belongs to output channel `i / run % channels`.
    let (channels, run) = match node.op {
        Op::Conv2d(_) | Op::TransposeConv(_) => (shape.b, shape.h * shape.w * shape.c),
        Op::DepthwiseConv2d(_) => (shape.c, 1),
        Op::FullyConnected => (shape.w, shape.c),
        _ => return Err(neighbour()),
    };
    if channels != affine.channels || run == 0 {
        return Err(WhyNot::OtherExtents { tensor: site.name(weights) });
    }
    let mut inputs = node.inputs.clone();
    if affine.scale.is_some() {
        let values = values(site, weights)?;
        let scaled = values.iter().enumerate().map(|(i, &v)| affine.scaled(v, i / run % channels)).collect();
        inputs[1] = changed(site, weights, shape, scaled, edit)?;
    }
    match bias {
        Some(bias) => {
            let values = values(site, bias)?;
            if values.len() != channels {
                return Err(WhyNot::NotPerChannel { tensor: site.name(bias) });
            }
            let shifted = values.iter().enumerate().map(|(i, &v)| affine.shifted(v, i)).collect();
            inputs[2] = changed(site, bias, site.graph.shape(bias), shifted, edit)?;
        }
        None => {
            if let Some(shift) = &affine.shift {
                inputs.push(changed(site, weights, Shape::new(1, 1, 1, channels), shift.clone(), edit)?);
            }
        }
    }
    Ok(inputs)
}

fn values(site: &Site, tensor: TensorId) -> Result<Cow<'_, [f32]>, WhyNot> {
    let constant = site.graph.tensors[tensor].constant.as_ref();
    constant.map(Constant::to_f32).ok_or_else(|| WhyNot::NotConstant { tensor: site.name(tensor) })
}

/// Adds a constant of other values in the place of `old`.
fn changed(site: &Site, old: TensorId, shape: Shape, values: Vec<f32>, edit: &mut Edit) -> Result<TensorId, WhyNot> {
    let name = site.name(old);
    if values.iter().any(|value| !value.is_finite()) {
        return Err(WhyNot::NotFinite { tensor: name });
    }
    let dims = match site.graph.shape(old) == shape {
        true => site.graph.tensors[old].dims.clone(),
        false => vec![values.len()],
    };
    let constant = Some(Constant::from_f32(&values));
    Ok(edit.add(&site.graph, Tensor { name, shape, dims, order: Default::default(), constant }))
}
