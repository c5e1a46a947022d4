//! Arithmetic with a constant, channel by channel, as a scale and a shift. What several rules have in common.

use super::{context::RewriteContext, skip_reason::SkipReason};
use crate::graph::Binary::{self, Add, Div, Mul, Sub};
use crate::graph::{Node, Op, TensorId};

/// `scale * x + shift`, channel by channel. With `divide` it is `x / scale`: reciprocals are rounded, so weights are
/// divided by the constant itself as the file's node would.
pub(super) struct Affine {
    pub(super) channels: usize,
    pub(super) scale: Option<Vec<f32>>,
    pub(super) shift: Option<Vec<f32>>,
    divide: bool,
}

impl Affine {
    /// What a node does to its computed operand, if it is arithmetic with a constant one; its epilogue left out.
    pub(super) fn of(ctx: &RewriteContext, node: &Node) -> Result<Option<(TensorId, Self)>, SkipReason> {
        let (&Op::Binary(binary @ (Add | Sub | Mul | Div)), &[a, b]) = (&node.op, &node.inputs[..]) else {
            return Ok(None);
        };
        let to = ctx.graph.shape(node.output);
        let (from, constant, constant_first) = match (ctx.graph.is_constant(a), ctx.graph.is_constant(b)) {
            (false, true) => (a, b, false),
            (true, false) => (b, a, true),
            _ => return Ok(None),
        };
        // The constant may be repeated. The computed operand may not: arithmetic in other nodes leaves its extents as
        // they are.
        if ctx.graph.shape(from) != to {
            return Err(SkipReason::ShapeMismatch { tensor: ctx.name(from) });
        }
        let values = ctx.per_channel(constant, to.c)?;
        Self::new(binary, constant_first, values).map(|affine| Some((from, affine))).ok_or(SkipReason::ConstantDividend)
    }

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

    pub(super) fn scaled(&self, value: f32, channel: usize) -> f32 {
        match &self.scale {
            Some(scale) if self.divide => value / scale[channel],
            Some(scale) => value * scale[channel],
            None => value,
        }
    }

    pub(super) fn shifted(&self, value: f32, channel: usize) -> f32 {
        let value = self.scaled(value, channel);
        self.shift.as_ref().map_or(value, |shift| value + shift[channel])
    }

    /// Scale and shift of a channel.
    pub(super) fn numbers(&self, channel: usize) -> [f64; 2] {
        let number = |list: &Option<Vec<f32>>| list.as_ref().map(|list| f64::from(list[channel]));
        let scale = number(&self.scale).map_or(1.0, |scale| if self.divide { scale.recip() } else { scale });
        [scale, number(&self.shift).unwrap_or(0.0)]
    }
}
