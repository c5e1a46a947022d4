//! Maps each weight of a convolution or fully connected node to the channel of the operand that it reads and the
//! channel of the result that it writes.

use std::borrow::Cow;

use super::{
    context::RewriteContext,
    skip_reason::SkipReason,
    weights::{values, weights_and_bias},
};
use texpool_ops::graph::{DepthwiseConv2d, Node, Op, Padding, Shape};

/// Weights of a node, with the channels that each weight reads and writes.
pub(super) struct WeightIndexing<'a> {
    pub(super) weights: Cow<'a, [f32]>,
    pub(super) shape: Shape,
    /// Bias; all zeros if the node has no bias.
    pub(super) bias: Vec<f64>,
    /// True if some pixels of the result depend on padding. A shift of the operand cannot be folded in that case.
    pub(super) has_border: bool,
    /// Channels of the operand.
    channels: usize,
    layout: WeightLayout,
}

/// Order of the weights in memory.
#[derive(Clone, Copy)]
enum WeightLayout {
    /// Output channel, window, channels of the group.
    Grouped { run: usize, outputs: usize, groups: usize },
    /// Window, output channel.
    Depthwise,
    /// Output channel, columns; every `channels` columns belong to one pixel.
    Rows,
}

impl<'a> WeightIndexing<'a> {
    pub(super) fn of(ctx: &'a RewriteContext, node: &Node, channels: usize) -> Result<Self, SkipReason> {
        let (weights, bias) = weights_and_bias(node)?;
        let shape = ctx.graph.shape(weights);
        let grouped = |groups| WeightLayout::Grouped { run: shape.h * shape.w * shape.c, outputs: shape.b, groups };
        let (layout, outputs, fits, has_border) = match &node.op {
            Op::Conv2d(conv) => {
                let fits = shape.c * conv.groups == channels && shape.b.is_multiple_of(conv.groups);
                (grouped(conv.groups), shape.b, fits, conv.padding != Padding::default())
            }
            // Near the border fewer taps reach a pixel, even without padding.
            Op::TransposeConv(conv) => {
                let fits = shape.c * conv.groups == channels && shape.b.is_multiple_of(conv.groups);
                (grouped(conv.groups), shape.b, fits, true)
            }
            Op::DepthwiseConv2d(DepthwiseConv2d(conv)) => {
                let fits = channels > 0 && shape.c.is_multiple_of(channels);
                (WeightLayout::Depthwise, shape.c, fits, conv.padding != Padding::default())
            }
            Op::FullyConnected => {
                (WeightLayout::Rows, shape.w, channels > 0 && shape.c.is_multiple_of(channels), false)
            }
            _ => return Err(SkipReason::UnsupportedNode { op: node.op.name() }),
        };
        // `reads` and `writes` divide by these extents.
        if !fits || shape.is_empty() {
            return Err(SkipReason::ShapeMismatch { tensor: ctx.name(weights) });
        }
        let bias = match bias {
            None => vec![0.0; outputs],
            Some(bias) => {
                let values = values(ctx, bias)?;
                if values.len() != outputs {
                    return Err(SkipReason::NotPerChannel { tensor: ctx.name(bias) });
                }
                values.iter().map(|&value| f64::from(value)).collect()
            }
        };
        Ok(Self { weights: values(ctx, weights)?, shape, bias, has_border, channels, layout })
    }

    /// Channel of the operand that weight `i` multiplies.
    pub(super) fn reads(&self, i: usize) -> usize {
        match self.layout {
            WeightLayout::Grouped { outputs, groups, .. } => {
                self.writes(i) / (outputs / groups) * self.shape.c + i % self.shape.c
            }
            WeightLayout::Depthwise => i % self.shape.c / (self.shape.c / self.channels),
            WeightLayout::Rows => i % self.shape.c % self.channels,
        }
    }

    /// Channel of the result that weight `i` contributes to.
    pub(super) fn writes(&self, i: usize) -> usize {
        match self.layout {
            WeightLayout::Grouped { run, .. } => i / run,
            WeightLayout::Depthwise => i % self.shape.c,
            WeightLayout::Rows => i / self.shape.c,
        }
    }
}
