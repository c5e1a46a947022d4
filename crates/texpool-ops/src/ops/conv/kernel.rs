//! Kernels of 2-D convolutions: a pointwise one, and a general one with windows, strides, dilation, padding and
//! groups.

use std::ops::Range;

use super::{
    Conv2d,
    weights::{ConvGeometry, WeightLayout},
};
use crate::{
    graph::{Graph, Node, Padding},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        WeightSections,
        block::{Block, BlockKind},
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
    const SHADERS: &'static [Shader] = &[CONV, POINTWISE];
}

impl Operator for Conv2d {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        properties(self, channel_weights(graph, node, self, WeightLayout::Full))
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        input_rows(map, self)
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

/// Returns the rows under the window of a convolution, depthwise or not.
pub(crate) fn input_rows(map: &RowMap<'_>, conv: &Conv2d) -> Vec<Range<u32>> {
    let taps = map.shape(1).map_or(1, |weights| weights.h);
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
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![k])
    .any_packing();
pub(crate) const CONV: Shader = Shader::new("conv", texpool_shaders::CONV)
    .chosen_if("the window, stride, padding or groups need more than the kernels `pointwise` and `depthwise` do")
    .params::<ConvParams>()
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![ky[kx[k]]])
    .any_packing();

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

fn is_pointwise(geometry: &ConvGeometry, conv: &Conv2d) -> bool {
    (geometry.weights.h, geometry.weights.w) == (1, 1)
        && conv.stride == [1, 1]
        && conv.padding == Padding::default()
        // Groups within a single slice do not matter, because weights outside of a group are zero.
        && geometry.groups.in_group.div_ceil(4) == geometry.in_slices
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
    let block = geometry.block(graph.shape(node.output).pixels());
    let taps = geometry.weights.h * geometry.weights.w;
    Tiling { pointwise: is_pointwise(&geometry, conv), block, taps, span: geometry.groups.span(block.slices) }
}

/// Returns the weights by output slice, tap and input slice, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &Conv2d, kind: WeightLayout) -> Vec<WeightSection> {
    let geometry = ConvGeometry::new(graph, node, conv.groups, kind);
    let block = geometry.block(graph.shape(node.output).pixels()).slices;
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
    ChannelWeights { axis, slice_texels: taps * span * 4 }
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
    let block = geometry.block(out.pixels());
    let span = geometry.groups.span(block.slices);
    let slices = step.slices.len();
    let epilogue = EpilogueParams::new(step);
    // The shaders number blocks like this; blocks continue across the ends of rows.
    let blocks = (step.rows.len() * out.w).div_ceil(block.pixels);
    let items = (blocks * slices.div_ceil(block.slices)) as u32;
    let params = KernelParams::new(step, &epilogue, items).biases(step).input(input);
    let extents = [("k", span), ("ky", geometry.weights.h), ("kx", geometry.weights.w)];
    let (shader, params, extents) = if is_pointwise(&geometry, conv) {
        (POINTWISE, params, &extents[..1])
    } else {
        let params = params.params(&ConvParams {
            span,
            window: [geometry.weights.h, geometry.weights.w],
            stride: conv.stride,
            dilation: conv.dilation,
            padding: [conv.padding.top, conv.padding.left],
            out_group: geometry.groups.out_group,
            in_group: geometry.groups.in_group,
        });
        (CONV, params, &extents[..])
    };
    let shader = shader.reading(step.weights.packing);
    let constants = vec![("PIXELS", block.pixels as f64), ("SLICES", block.slices as f64)];
    let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, extents);
    Ok(vec![dispatch.reading(input).reading_weights(step)])
}
