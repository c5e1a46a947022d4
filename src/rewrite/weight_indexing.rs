//! What a convolution or fully connected node does with each channel of its first operand. Knows no rule.

use std::borrow::Cow;

use super::{
    site::Site,
    skip_reason::SkipReason,
    weights::{values, weights_and_bias},
};
use crate::graph::{DepthwiseConv2d, Node, Op, Padding, Shape};

/// The weights of a node, and which channel each reads and writes.
pub(super) struct WeightIndexing<'a> {
    pub(super) weights: Cow<'a, [f32]>,
    pub(super) shape: Shape,
    /// The bias, zeros where there is none.
    pub(super) bias: Vec<f64>,
    /// Whether not every weight meets a pixel of the operand at every pixel of the result.
    pub(super) has_border: bool,
    /// Channels of the operand.
    channels: usize,
    layout: WeightLayout,
}

/// In which order weights lie.
#[derive(Clone, Copy)]
enum WeightLayout {
    /// Output channel, window, channels of the group.
    Grouped { run: usize, outputs: usize, groups: usize },
    /// Window, output channel.
    Depthwise,
    /// Output channel, columns, of which each `channels` belong to a pixel.
    Rows,
}

impl<'a> WeightIndexing<'a> {
    pub(super) fn of(site: &'a Site, node: &Node, channels: usize) -> Result<Self, SkipReason> {
        let (weights, bias) = weights_and_bias(node)?;
        let shape = site.graph.shape(weights);
        let grouped = |groups| WeightLayout::Grouped { run: shape.h * shape.w * shape.c, outputs: shape.b, groups };
        let (layout, outputs, fits, has_border) = match &node.op {
            Op::Conv2d(conv) => {
                let fits = shape.c * conv.groups == channels && shape.b.is_multiple_of(conv.groups);
                (grouped(conv.groups), shape.b, fits, conv.padding != Padding::default())
            }
            // Its windows do not all lie inside, with padding or without.
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
            _ => return Err(SkipReason::Neighbour { op: node.op.name() }),
        };
        if !fits || shape.is_empty() {
            return Err(SkipReason::OtherExtents { tensor: site.name(weights) });
        }
        let bias = match bias {
            None => vec![0.0; outputs],
            Some(bias) => {
                let values = values(site, bias)?;
                if values.len() != outputs {
                    return Err(SkipReason::NotPerChannel { tensor: site.name(bias) });
                }
                values.iter().map(|&value| f64::from(value)).collect()
            }
        };
        Ok(Self { weights: values(site, weights)?, shape, bias, has_border, channels, layout })
    }

    /// The operand's channel that weight `i` is multiplied with.
    pub(super) fn reads(&self, i: usize) -> usize {
        match self.layout {
            WeightLayout::Grouped { outputs, groups, .. } => {
                self.writes(i) / (outputs / groups) * self.shape.c + i % self.shape.c
            }
            WeightLayout::Depthwise => i % self.shape.c / (self.shape.c / self.channels),
            WeightLayout::Rows => i % self.shape.c % self.channels,
        }
    }

    /// The result's channel that weight `i` adds to.
    pub(super) fn writes(&self, i: usize) -> usize {
        match self.layout {
            WeightLayout::Grouped { run, .. } => i / run,
            WeightLayout::Depthwise => i % self.shape.c,
            WeightLayout::Rows => i / self.shape.c,
        }
    }
}
