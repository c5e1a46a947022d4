//! Represents arithmetic with a constant as a scale and a shift per channel. Shared by several rules.

use super::{context::RewriteContext, skip_reason::SkipReason};
use texpool_ops::graph::{
    Binary::{self, Add, Div, Mul, Sub},
    Node, Op, TensorId,
};

/// Arithmetic of a computed operand with a constant that has one value for all channels or one for each.
pub(super) struct WithConstant {
    pub(super) binary: Binary,
    /// The computed operand.
    pub(super) from: TensorId,
    pub(super) constant: TensorId,
    /// True if the constant is the first operand.
    pub(super) constant_first: bool,
    /// Its value of each channel.
    pub(super) values: Vec<f32>,
}

impl WithConstant {
    /// Returns the arithmetic of a node. Ignores the node's epilogue.
    pub(super) fn of(ctx: &RewriteContext, node: &Node) -> Result<Option<Self>, SkipReason> {
        let (&Op::Binary(binary @ (Add | Sub | Mul | Div)), &[a, b]) = (&node.op, &node.inputs[..]) else {
            return Ok(None);
        };
        let to = ctx.graph.shape(node.output);
        let (from, constant, constant_first) = match (ctx.graph.is_constant(a), ctx.graph.is_constant(b)) {
            (false, true) => (a, b, false),
            (true, false) => (b, a, true),
            _ => return Ok(None),
        };
        // The constant may be broadcast. The computed operand may not, because arithmetic folded into other nodes
        // cannot change extents.
        if ctx.graph.shape(from) != to {
            return Err(SkipReason::ShapeMismatch { tensor: ctx.name(from) });
        }
        let values = ctx.per_channel(constant, to.c)?;
        Ok(Some(Self { binary, from, constant, constant_first, values }))
    }
}

/// `scale * x + shift` per channel. If `divide` is set, it is `x / scale` instead: reciprocals would be rounded, so
/// weights are divided by the constant itself, like in the file's node.
pub(super) struct Affine {
    pub(super) channels: usize,
    pub(super) scale: Option<Vec<f32>>,
    pub(super) shift: Option<Vec<f32>>,
    divide: bool,
}

impl Affine {
    /// Returns the computed operand of a node and the arithmetic on it, if the other operand is a constant. Ignores
    /// the node's epilogue.
    pub(super) fn of(ctx: &RewriteContext, node: &Node) -> Result<Option<(TensorId, Self)>, SkipReason> {
        let Some(WithConstant { binary, from, constant_first, values, .. }) = WithConstant::of(ctx, node)? else {
            return Ok(None);
        };
        Self::new(binary, constant_first, values).map(|affine| Some((from, affine))).ok_or(SkipReason::ConstantDividend)
    }

    /// Returns the function of the computed operand, if it is affine.
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

    /// Returns the same function of `channels` channels, if all channels have the same numbers.
    pub(super) fn repeated(&self, channels: usize) -> Option<Self> {
        let repeated = |list: &Option<Vec<f32>>| match list {
            Some(list) => {
                let (first, rest) = list.split_first()?;
                rest.iter().all(|value| value.to_bits() == first.to_bits()).then(|| Some(vec![*first; channels]))
            }
            None => Some(None),
        };
        Some(Self { channels, scale: repeated(&self.scale)?, shift: repeated(&self.shift)?, divide: self.divide })
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
