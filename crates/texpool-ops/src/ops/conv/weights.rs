//! Weights of convolutions: their layout in the file, and the order in which kernels read them.

use crate::{
    graph::{Constant, Graph, Node, Reals, Shape},
    kernels::{SectionLayout, SectionRole, WeightPieces, WeightSection, pack},
};

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
    pub(crate) in_slices: usize,
}

impl ConvGeometry {
    /// Creates the geometry of a node.
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

    /// Returns the number of output slices.
    pub(crate) fn slices(&self) -> usize {
        self.groups.out.div_ceil(4)
    }

    /// Returns the first input slice that a block of output slices starting at `slice` reads; it reads `span` slices.
    pub(crate) fn start(&self, slice: usize, span: usize) -> usize {
        // All blocks use the span of the widest one. At the end of the operand the span starts earlier and covers
        // zero weights.
        self.groups.first(slice).min(self.in_slices - span)
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

/// Division of a convolution's input and output channels into groups, in terms of texels: whole texels are read and
/// multiplied, independent of the groups of their lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Number of output channels.
    pub(crate) out: usize,
    /// Output channels per group.
    pub(crate) out_group: usize,
    /// Input channels per group.
    pub(crate) in_group: usize,
}

impl Groups {
    /// Creates the groups of a convolution with `input` input channels and `out` output channels; at least one group.
    pub(crate) fn new(input: usize, out: usize, groups: usize) -> Self {
        let groups = groups.max(1);
        Self { out, out_group: (out / groups).max(1), in_group: input / groups }
    }

    /// Returns the first input slice that output slice `slice` needs.
    pub(crate) fn first(&self, slice: usize) -> usize {
        (slice * 4 / self.out_group) * self.in_group / 4
    }

    /// Returns the maximum number of input slices that a block of `block` output slices needs.
    pub(crate) fn span(&self, block: usize) -> usize {
        let needed = |slice: usize| {
            let last_channel = ((slice + block) * 4).min(self.out).saturating_sub(1);
            ((last_channel / self.out_group + 1) * self.in_group).div_ceil(4).saturating_sub(self.first(slice))
        };
        // All blocks use the same span, so that weight offsets can be computed by multiplication.
        (0..self.out.div_ceil(4)).step_by(block.max(1)).map(needed).max().unwrap_or(1)
    }
}
