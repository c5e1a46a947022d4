//! Kernel of transposed 2-D convolutions.

use std::ops::Range;

use super::TransposeConv;
use crate::{
    graph::{Graph, Node},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        block::{Block, Layer},
        common,
        loops::loops,
        shader::helpers::{BLOCK, WEIGHTS},
        wgsl::shader_params,
    },
    ops::{
        conv::weights::{ConvGeometry, WeightLayout},
        operator::{ConstantOperands, Kernels, Operator, Properties, around, category, pairs, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for TransposeConv {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for TransposeConv {
    category!(undivided_weights);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let conv = self;
        let window = node.inputs.get(1).map_or([1; 2], |&weights| [graph.shape(weights).h, graph.shape(weights).w]);
        // The kernel multiplies taps by the dilation in 32 bits, so the product of the two is limited.
        let reach = [0, 1].map(|axis| window[axis].saturating_mul(conv.dilation[axis]));
        let attributes =
            [&pairs("stride", conv.stride)[..], &pairs("dilated window", reach), &around(conv.padding)].concat();
        let weights = Some(channel_weights(graph, node, conv));
        Properties { attributes, weights, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Input row `i` contributes to the output rows from `i * stride - top` over the height of the window.
        let conv = self;
        let reach = map.shape(1).map_or(1, |weights| weights.h).saturating_sub(1) * conv.dilation[0] + 1;
        let (stride, top) = (conv.stride[0].max(1) as isize, conv.padding.top as isize);
        map.each(|y| {
            let y = y as isize + top;
            let first = (y - reach as isize + 1).max(0);
            (first + stride - 1) / stride..y / stride + 1
        })
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let [y, x] = self.stride;
        let k = graph.shape(node.inputs[1]);
        // Each pixel of the result uses only one tap per stride.
        let taps = (k.h * k.w).div_ceil(y.max(1) * x.max(1));
        let Block { pixels, slices, .. } = block(graph, node, self);
        Work::new(graph, node, CostClass::Transposed, 8 * taps * k.slices(), pixels * slices)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node, self)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        common::constant(step, 1)?;
        if step.node.inputs.len() > 2 {
            common::constant(step, 2)?;
        }
        let geometry = ConvGeometry::new(step.graph, step.node, self.groups, WeightLayout::Full);
        let epilogue = EpilogueParams::new(step);
        let out = step.output.shape;
        let Block { pixels, slices, .. } = block(step.graph, step.node, self);
        // Pixels of a block are a stride apart, so blocks of as many pixels as the stride lie within one another.
        let blocks = out.w.div_ceil(pixels * self.stride[1]) * self.stride[1];
        let items = (blocks * step.rows.len() * out.slices().div_ceil(slices)) as u32;
        let params = KernelParams::new(step, &epilogue, items).biases(step).input(input).params(&Params {
            blocks,
            window: [geometry.weights.h, geometry.weights.w],
            stride: self.stride,
            cut: [self.padding.top, self.padding.left],
            span: geometry.groups.span(slices),
            dilation: self.dilation,
            out_group: geometry.groups.out_group,
            in_group: geometry.groups.in_group,
        });
        let extents = [("ky", geometry.weights.h), ("kx", geometry.weights.w), ("k", geometry.groups.span(slices))];
        let three = common::flag(input.shape.c == 3);
        let constants = vec![("PIXELS", pixels as f64), ("SLICES", slices as f64), ("THREE", three)];
        let shader = SHADER.reading(step.weights.packing);
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(input).reading_weights(step)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("transpose_conv", texpool_shaders::TRANSPOSE_CONV)
    .params::<Params>()
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![ky[kx[k]]])
    .any_packing();

shader_params! {
    struct Params {
        blocks: usize,
        window: [usize; 2],
        stride: [usize; 2],
        cut: [usize; 2],
        span: usize,
        dilation: [usize; 2],
        out_group: usize,
        in_group: usize,
    }
}

/// Returns the pixels and slices per invocation.
fn block(graph: &Graph, node: &Node, conv: &TransposeConv) -> Block {
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    let out = graph.shape(node.output);
    // Pixels that the same taps reach.
    let width = out.w.div_ceil(conv.stride[1].max(1));
    let depth = geometry.groups.in_group.div_ceil(4);
    let layer = Layer { pixels: out.b * out.h * width, slices: geometry.slices(), depth, is_pointwise: false };
    let block = Block::for_convolution(graph.blocks, &layer);
    // Blocks lie in one row. Slices of several groups would read more of the input than each needs.
    let pixels = block.pixels.min(width.next_power_of_two());
    Block { pixels, slices: if conv.groups > 1 { 1 } else { block.slices }, ..block }
}

/// Returns the layout of the weights per channel of the result.
pub(super) fn channel_weights(graph: &Graph, node: &Node, conv: &TransposeConv) -> ChannelWeights {
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    let Block { slices, .. } = block(graph, node, conv);
    let slice_texels = geometry.weights.h * geometry.weights.w * geometry.groups.span(slices) * 4;
    ChannelWeights { operand: 1, axis: 0, slice_texels }
}

/// Returns the weights by output slice, tap and input slice of the output slice's span, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &TransposeConv) -> Vec<WeightSection> {
    let geometry = ConvGeometry::new(graph, node, conv.groups, WeightLayout::Full);
    let Block { slices, .. } = block(graph, node, conv);
    geometry.sections(graph, node, slices)
}
