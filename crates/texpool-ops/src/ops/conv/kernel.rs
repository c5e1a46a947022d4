//! Kernels of 2-D convolutions: a pointwise one, and a general one with windows, strides, dilation, padding and
//! groups.

use std::ops::Range;

use super::{
    Conv2d,
    weights::{ConvGeometry, Groups, WeightLayout},
};
use crate::{
    graph::{BlockSize, Blocks, DeviceClass, Graph, LayerKind, Node, Padding, Shape},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        WeightSections,
        block::{Block, BlockKind, Layer},
        common,
        loops::loops,
        shader::helpers::{BLOCK, WEIGHTS},
        wgsl::shader_params,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, around, one_dispatch, pairs, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Conv2d {
    const SHADERS: &'static [Shader] = &[CONV, CONV_THIN, POINTWISE];
}

impl Operator for Conv2d {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        properties(self, channel_weights(graph, node, self, WeightLayout::Full))
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        input_rows(map, self, 1)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        work(graph, node, self, WeightLayout::Full)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node, self, WeightLayout::Full)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        Some(sections(graph, node, self, WeightLayout::Full))
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        dispatches(step, self, WeightLayout::Full)
    }
}

/// Returns the properties of a convolution, depthwise or not.
pub(crate) fn properties(conv: &Conv2d, weights: ChannelWeights) -> Properties {
    let attributes =
        [&pairs("stride", conv.stride)[..], &pairs("dilation", conv.dilation), &around(conv.padding)].concat();
    Properties { attributes, weights: Some(weights), ..plain(ConstantOperands::AfterFirst) }
}

/// Returns the rows under the window of a convolution, depthwise or not, whose weights are operand `weights`.
pub(crate) fn input_rows(map: &RowMap<'_>, conv: &Conv2d, weights: usize) -> Vec<Range<u32>> {
    let taps = map.shape(weights).map_or(1, |weights| weights.h);
    map.window(taps, [conv.stride[0], conv.dilation[0], conv.padding.top])
}

/// Returns the work of a convolution that runs in the general kernels, for any weight layout.
pub(crate) fn work(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> Work {
    let tiling = tiling(graph, node, conv, kind);
    let block = tiling.block;
    // Each kind of block has classes of its own, because its kernel has a speed of its own.
    let class = match (block.kind, tiling.pointwise) {
        (BlockKind::FewPixels, _) => CostClass::Dense,
        (BlockKind::OneSlice, _) => CostClass::Narrow,
        (BlockKind::LongSums, true) => CostClass::PointwiseDeep,
        (BlockKind::LongSums, false) => CostClass::WindowDeep,
        (BlockKind::Usual, true) => CostClass::Pointwise,
        (BlockKind::Usual, false) => CostClass::Window,
    };
    // Each lane of the result needs four products and four sums per tap and slice of the operand.
    Work::new(graph, node, class, 8 * tiling.taps * tiling.span, block.pixels * block.slices)
}

pub(crate) const POINTWISE: Shader = Shader::new("pointwise", texpool_shaders::POINTWISE)
    .chosen_if("the product is over the channels of single pixels: a window of one pixel, stride 1, no padding")
    .params::<PointwiseParams>()
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![k])
    .any_packing();
pub(crate) const CONV_THIN: Shader = Shader::new("conv_thin", texpool_shaders::CONV_THIN)
    .chosen_if("the input has at most four channels, as a picture has, and the window is at least five columns wide")
    .params::<ThinParams>()
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![ky[kx]])
    .any_packing();
pub(crate) const CONV: Shader = Shader::new("conv", texpool_shaders::CONV)
    .chosen_if("the window, stride or padding need more than the kernels `pointwise` and `depthwise` do")
    .params::<ConvParams>()
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![ky[kx[k]]])
    .any_packing();

shader_params! {
    struct PointwiseParams {
        span: usize,
        out_group: usize,
        in_group: usize,
    }
}

shader_params! {
    struct ThinParams {
        blocks: usize,
        window: [usize; 2],
        stride_y: usize,
        dilation_y: usize,
        padding: [usize; 2],
    }
}

shader_params! {
    struct ConvParams {
        span: usize,
        window: [usize; 2],
        stride: [usize; 2],
        dilation: [usize; 2],
        padding: [usize; 2],
        out_group: usize,
        in_group: usize,
    }
}

/// Returns whether each pixel of the result is computed from that of the operand alone.
pub(crate) fn is_pointwise(window: Shape, conv: &Conv2d) -> bool {
    (window.h, window.w) == (1, 1) && conv.stride == [1, 1] && conv.padding == Padding::default()
}

/// Width of a window from which the kernel for inputs of one slice is faster. Measured on lavapipe: ResNet-18's first
/// layer, 7 by 7, takes 0.64 of the time of the general kernel, BlazeFace's, 5 by 5, 0.85, and windows of 3 by 3 as long.
const WIDE_WINDOW: usize = 5;

/// Returns whether a convolution reads few channels through wide windows that overlap, so that it pays off to load each
/// column once for all windows of a block.
fn is_thin(geometry: &ConvGeometry, conv: &Conv2d, (blocks, block): (Blocks, Block), width: usize) -> bool {
    // What was measured on a software device decides nothing on others.
    blocks.class() == DeviceClass::Software
        && geometry.in_slices == 1
        && matches!(conv.stride[1], 1 | 2)
        && conv.dilation[1] == 1
        && geometry.weights.w >= WIDE_WINDOW
        && width >= block.pixels
        && block.kind == BlockKind::Usual
}

/// Returns the layer that the choice of a block depends on.
fn layer(geometry: &ConvGeometry, conv: &Conv2d, pixels: usize) -> Layer {
    let depth = geometry.groups.in_group.div_ceil(4);
    Layer { pixels, slices: geometry.slices(), depth, is_pointwise: is_pointwise(geometry.weights, conv) }
}

/// Returns the pixels and slices per invocation.
fn block(graph: &Graph, node: &Node, geometry: &ConvGeometry, conv: &Conv2d) -> Block {
    Block::for_convolution(graph.blocks, &layer(geometry, conv, graph.shape(node.output).pixels()))
}

/// Returns the kind of the layer, and the block that its kernel computes.
pub(crate) fn layer_block(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> (LayerKind, BlockSize) {
    let geometry = ConvGeometry::new(graph, node, conv.groups, kind);
    let layer = layer(&geometry, conv, graph.shape(node.output).pixels());
    (layer.layer_kind(), Block::for_convolution(graph.blocks, &layer).size())
}

/// Division of a convolution among invocations, which determines its cost.
pub(crate) struct Tiling {
    /// True for the pointwise kernel.
    pub(crate) pointwise: bool,
    /// Pixels and slices per invocation.
    pub(crate) block: Block,
    /// Pixels of the window.
    pub(crate) taps: usize,
    /// Slices of the operand that are multiplied for each tap.
    pub(crate) span: usize,
}

/// Returns the division of a convolution among invocations.
pub(crate) fn tiling(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> Tiling {
    let geometry = ConvGeometry::new(graph, node, conv.groups, kind);
    let block = block(graph, node, &geometry, conv);
    let taps = geometry.weights.h * geometry.weights.w;
    Tiling { pointwise: is_pointwise(geometry.weights, conv), block, taps, span: geometry.groups.span(block.slices) }
}

/// Returns the weights by output slice, tap and input slice, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> Vec<WeightSection> {
    let geometry = ConvGeometry::new(graph, node, conv.groups, kind);
    let block = block(graph, node, &geometry, conv).slices;
    geometry.sections(graph, node, block)
}

/// Returns the layout of the weights per channel of the result.
pub(crate) fn channel_weights(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> ChannelWeights {
    let Tiling { taps, span, .. } = tiling(graph, node, conv, kind);
    let axis = match kind {
        WeightLayout::Full => 0,
        WeightLayout::Depthwise => 3,
        WeightLayout::FullyConnected => 2,
    };
    ChannelWeights { operand: 1, axis, slice_texels: taps * span * 4 }
}

/// Returns the division of the weights by slices of the result.
pub(crate) fn sections(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> WeightSections {
    let Tiling { block, taps, span, .. } = tiling(graph, node, conv, kind);
    let slices = graph.shape(node.output).slices();
    WeightSections::new(slices, block.slices, &[taps * span * 4, 1])
}

/// Returns one dispatch over the step's rows and slices.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    conv: &Conv2d,
    kind: WeightLayout,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    common::constant(step, 1)?;
    let geometry = ConvGeometry::new(step.graph, step.node, conv.groups, kind);
    let out = step.output.shape;
    let block = block(step.graph, step.node, &geometry, conv);
    let span = geometry.groups.span(block.slices);
    let slices = step.slices.len();
    let epilogue = EpilogueParams::new(step);
    let thin = is_thin(&geometry, conv, (step.graph.blocks, block), out.w);
    // The shaders number blocks like this; blocks of all but thin ones continue across the ends of rows.
    let blocks = if thin {
        step.rows.len() * out.w.div_ceil(block.pixels)
    } else {
        (step.rows.len() * out.w).div_ceil(block.pixels)
    };
    let items = (blocks * slices.div_ceil(block.slices)) as u32;
    let params = KernelParams::new(step, &epilogue, items).biases(step).input(input);
    let extents = [("k", span), ("ky", geometry.weights.h), ("kx", geometry.weights.w)];
    let three = input.shape.c == 3 && !is_pointwise(geometry.weights, conv);
    let mut constants =
        vec![("PIXELS", block.pixels as f64), ("SLICES", block.slices as f64), ("THREE", common::flag(three))];
    let Groups { out_group, in_group, .. } = geometry.groups;
    let (shader, params, extents) = if is_pointwise(geometry.weights, conv) {
        (POINTWISE, params.params(&PointwiseParams { span, out_group, in_group }), &extents[..1])
    } else if thin {
        constants.push(("STRIDE_X", conv.stride[1] as f64));
        let params = params.params(&ThinParams {
            blocks: out.w.div_ceil(block.pixels),
            window: [geometry.weights.h, geometry.weights.w],
            stride_y: conv.stride[0],
            dilation_y: conv.dilation[0],
            padding: [conv.padding.top, conv.padding.left],
        });
        (CONV_THIN, params, &extents[1..])
    } else {
        let params = params.params(&ConvParams {
            span,
            window: [geometry.weights.h, geometry.weights.w],
            stride: conv.stride,
            dilation: conv.dilation,
            padding: [conv.padding.top, conv.padding.left],
            out_group,
            in_group,
        });
        (CONV, params, &extents[..])
    };
    let shader = shader.reading(step.weights.packing);
    let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, extents);
    Ok(vec![dispatch.reading(input).reading_weights(step)])
}
