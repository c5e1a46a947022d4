//! Kernels of 2-D convolutions: a pointwise one, and a general one with windows, strides, dilation, padding and
//! groups.

use super::Groups;
use crate::{
    graph::{Constant, Conv2d, Graph, Node, Padding, Reals, Shape},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, SectionLayout, SectionRole, Shader,
        StepContext, WeightPieces, WeightSection, WeightSections,
        block::Block,
        common,
        loops::loops,
        pack,
        shader::helpers::{BLOCK, WEIGHTS},
        wgsl::shader_params,
    },
};

pub(crate) const POINTWISE: Shader = Shader::new("pointwise", include_str!("../../../shaders/pointwise.wgsl"))
    .helpers(&[BLOCK, WEIGHTS])
    .loops(loops![k])
    .any_packing();
pub(crate) const CONV: Shader = Shader::new("conv", include_str!("../../../shaders/conv.wgsl"))
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

/// Layout of the weights in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightLayout {
    /// `[O, KH, KW, I / groups]`
    Full,
    /// `[1, KH, KW, O]`, one group per input channel.
    Depthwise,
    /// `[O, I]`
    FullyConnected,
}

/// A convolution in the form that kernels compute. A depthwise one with several outputs per input is a
/// convolution with many groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvGeometry {
    /// `[O, KH, KW, I / groups]`, or `[1, KH, KW, O]` for a depthwise convolution.
    pub(crate) weights: Shape,
    depthwise: bool,
    pub(crate) groups: Groups,
    in_slices: usize,
}

impl ConvGeometry {
    pub(crate) fn new(graph: &Graph, node: &Node, groups: usize, kind: WeightLayout) -> Self {
        let input = graph.shape(node.inputs[0]);
        let file = graph.shape(node.inputs[1]);
        match kind {
            WeightLayout::Full => Self::of(file, Groups::new(input.c, file.b, groups), input.slices()),
            WeightLayout::Depthwise => {
                let groups = Groups::new(input.c, file.c, input.c);
                Self { depthwise: true, ..Self::of(file, groups, input.slices()) }
            }
            WeightLayout::FullyConnected => Self::dense([file.c, file.w]),
        }
    }

    /// Returns the geometry of a dense layer with `[inputs, outputs]`.
    pub(crate) fn dense([inputs, outputs]: [usize; 2]) -> Self {
        Self::of(Shape::new(outputs, 1, 1, inputs), Groups::new(inputs, outputs, 1), inputs.div_ceil(4))
    }

    const fn of(weights: Shape, groups: Groups, in_slices: usize) -> Self {
        Self { weights, depthwise: false, groups, in_slices }
    }

    /// Returns the sections of a convolution whose invocations compute `block` output slices, which share a span.
    pub(crate) fn sections(self, graph: &Graph, node: &Node, block: usize) -> Vec<WeightSection> {
        let span = self.groups.span(block);
        // If a span is the whole operand, the block does not matter.
        let block = if span == self.in_slices { 1 } else { block };
        let biases = pack::biases(graph, node, self.groups.out);
        let matrices = Matrices { geometry: self, span, block };
        vec![WeightSection::new(SectionRole::Own, vec![node.inputs[1]], matrices), biases]
    }

    pub(crate) fn slices(&self) -> usize {
        self.groups.out.div_ceil(4)
    }

    /// Returns the first input slice that a block of output slices starting at `slice` reads; it reads `span` slices.
    pub(crate) fn start(&self, slice: usize, span: usize) -> usize {
        // All blocks use the span of the widest one. At the end of the operand the span starts earlier and covers
        // zero weights.
        self.groups.first(slice).min(self.in_slices - span)
    }

    fn block(&self, pixels: usize) -> Block {
        Block::for_convolution(pixels, self.slices(), self.in_slices)
    }

    /// Returns the weight of output channel `o` for input channel `i` of the whole input; zero outside its group.
    pub(crate) fn weight(&self, values: &Reals<'_>, o: usize, ky: usize, kx: usize, i: usize) -> f32 {
        let Groups { out, out_group, in_group } = self.groups;
        let first = o / out_group * in_group;
        if o >= out || !(first..first + in_group).contains(&i) {
            0.0
        } else if self.depthwise {
            values.get(self.weights.index(0, ky, kx, o))
        } else {
            values.get(self.weights.index(o, ky, kx, i - first))
        }
    }
}

/// Weights by output slice, tap and input slice.
#[derive(Clone, Copy, Debug)]
struct Matrices {
    geometry: ConvGeometry,
    /// Input slices of an output slice.
    span: usize,
    /// Output slices with the same input slices.
    block: usize,
}

impl Matrices {
    /// Packs an output slice.
    fn slice(self, values: &Reals<'_>, slice: usize) -> Vec<[f32; 4]> {
        let Self { geometry, span, block } = self;
        let mut texels = Vec::with_capacity(geometry.weights.h * geometry.weights.w * span * 4);
        // An invocation reads the operand once for all slices of its block, so they share the span of the first
        // slice.
        let start = geometry.start(slice / block * block, span);
        for ky in 0..geometry.weights.h {
            for kx in 0..geometry.weights.w {
                for k in start..start + span {
                    texels.extend(pack::matrix(|i, o| geometry.weight(values, slice * 4 + o, ky, kx, k * 4 + i)));
                }
            }
        }
        texels
    }
}

impl SectionLayout for Matrices {
    fn texels(&self) -> u64 {
        let ConvGeometry { weights, .. } = self.geometry;
        (self.geometry.slices() * weights.h * weights.w * self.span * 4) as u64
    }

    /// Returns one piece per output slice.
    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let matrices = *self;
        let of_constant = move |constant: &'a Constant| {
            let values = constant.reals();
            (0..matrices.geometry.slices()).map(move |slice| matrices.slice(&values, slice))
        };
        Box::new(constants.first().copied().into_iter().flat_map(of_constant))
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
