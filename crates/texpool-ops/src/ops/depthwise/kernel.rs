//! Kernel of depthwise convolutions with one output per input channel. Others run as convolutions with many groups
//! (`conv`).

use std::ops::Range;

use super::DepthwiseConv2d;
use crate::{
    graph::{Constant, Conv2d, DeviceClass, Graph, Node, Shape},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, SectionLayout, SectionRole, Shader,
        StepContext, WeightPieces, WeightSection, WeightSections, common,
        loops::loops,
        pack,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        conv::{kernel as conv, weights::WeightLayout},
        operator::{Kernels, Operator, Properties, one_dispatch},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for DepthwiseConv2d {
    const SHADERS: &'static [Shader] = &[SHADER, conv::CONV, conv::CONV_THIN, conv::POINTWISE];
}

impl Operator for DepthwiseConv2d {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        conv::properties(&self.0, channel_weights(graph, node, &self.0))
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        conv::input_rows(map, &self.0, 1)
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        match tiling(graph, node, &self.0) {
            Some(tiling) => Work::new(graph, node, CostClass::Depthwise, 2 * tiling.taps, tiling.pixels),
            // With several outputs per input, or with a wide window, it runs as a convolution with many groups.
            None => conv::work(graph, node, &self.0, WeightLayout::Depthwise),
        }
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node, &self.0)
    }

    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections> {
        sections(graph, node, &self.0)
    }

    /// Returns one dispatch over the step's rows.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let conv = &self.0;
        common::constant(step, 1)?;
        let window = step.graph.shape(step.node.inputs[1]);
        let out = step.output.shape;
        let Some(Tiling { pixels, .. }) = tiling(step.graph, step.node, conv) else {
            return conv::dispatches(step, conv, WeightLayout::Depthwise);
        };
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        // A block never spans two rows, because it saves time by loading the columns of one row only once.
        let blocks = out.w.div_ceil(pixels);
        let items = (blocks * step.rows.len() * out.slices()) as u32;
        let [stride_y, dilation_y] = [conv.stride[0], conv.dilation[0]];
        let params = Params { blocks, stride_y, dilation_y, padding: [conv.padding.top, conv.padding.left] };
        let params = KernelParams::new(step, &epilogue, items).biases(step).input(input).params(&params);
        let constants = vec![
            ("PIXELS", pixels as f64),
            ("WINDOW_Y", window.h as f64),
            ("WINDOW_X", window.w as f64),
            ("STRIDE_X", conv.stride[1] as f64),
            ("DILATION_X", conv.dilation[1] as f64),
            ("COLUMNS", columns(conv, window.w, pixels) as f64),
            // Measured on lavapipe: the first run of MobileNet v2 is 95 ms shorter, later ones 0.7 % longer.
            ("ROLLED", f64::from(step.graph.blocks.class() == DeviceClass::Software)),
        ];
        let shader = SHADER.reading(step.weights.packing);
        let extents = [("ky", window.h), ("c", columns(conv, window.w, pixels)), ("kx", window.w)];
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(input).reading_weights(step)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("depthwise", texpool_shaders::DEPTHWISE)
    .chosen_if("each channel depends on one channel, and a window spans at most 16 columns")
    .constants(&[LIMITS])
    .params::<Params>()
    .loops(loops![ky[c, kx]])
    .any_packing();

shared_constants! {
    /// Limits of the shader.
    LIMITS:
    /// Pixels of one row that an invocation computes.
    MAX_ROW_PIXELS = 4,
    /// Columns under the windows of these pixels.
    MAX_COLUMNS = 16,
}

shader_params! {
    struct Params {
        blocks: usize,
        stride_y: usize,
        dilation_y: usize,
        padding: [usize; 2],
    }
}

/// Returns the number of columns under `pixels` neighbouring windows of width `window`.
pub(crate) fn columns(conv: &Conv2d, window: usize, pixels: usize) -> usize {
    // Attributes of a file may have any size; a saturated result is above any limit.
    let reach = |steps: usize, by: usize| steps.saturating_mul(by);
    reach(pixels - 1, conv.stride[1]).saturating_add(reach(window - 1, conv.dilation[1])).saturating_add(1)
}

/// Returns the number of pixels per invocation, or `None` if even a single window covers too many columns.
fn pixels(conv: &Conv2d, window: usize, width: usize) -> Option<usize> {
    // More pixels than a row has would compute columns that are never stored.
    let fits = |p: usize| (p == 1 || p <= width) && columns(conv, window, p) <= MAX_COLUMNS as usize;
    [MAX_ROW_PIXELS as usize, 2, 1].into_iter().find(|&p| fits(p))
}

fn is_plain(graph: &Graph, node: &Node, conv: &Conv2d) -> bool {
    let weights = graph.shape(node.inputs[1]);
    // If one pixel does not fit, no larger number does.
    weights.c == graph.shape(node.inputs[0]).c && pixels(conv, weights.w, 1).is_some()
}

/// Division of a depthwise convolution among invocations, which determines its cost.
pub(crate) struct Tiling {
    /// Pixels per invocation.
    pub(crate) pixels: usize,
    /// Pixels of the window.
    pub(crate) taps: usize,
}

/// Returns the division among invocations, or `None` if it runs as a convolution with many groups.
pub(crate) fn tiling(graph: &Graph, node: &Node, conv: &Conv2d) -> Option<Tiling> {
    let window = graph.shape(node.inputs[1]);
    let pixels = pixels(conv, window.w, graph.shape(node.output).w)?;
    is_plain(graph, node, conv).then_some(Tiling { pixels, taps: window.h * window.w })
}

/// Returns the weights by slice and tap, and the biases.
pub(crate) fn weights(graph: &Graph, node: &Node, conv: &Conv2d) -> Vec<WeightSection> {
    if !is_plain(graph, node, conv) {
        return conv::weights(graph, node, conv, WeightLayout::Depthwise);
    }
    let shape = graph.shape(node.inputs[1]);
    let taps = WeightSection::new(SectionRole::Own, vec![node.inputs[1]], Taps { shape });
    vec![taps, pack::biases(graph, node, shape.c)]
}

/// Weights `[1, KH, KW, C]` by slice and tap.
#[derive(Debug)]
struct Taps {
    shape: Shape,
}

impl SectionLayout for Taps {
    fn texels(&self) -> u64 {
        (self.shape.slices() * self.shape.h * self.shape.w) as u64
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (shape, constants) = (self.shape, constants.to_vec());
        pack::whole(move || constants.into_iter().flat_map(|constant| taps(shape, constant)).collect())
    }
}

pub(crate) fn taps(shape: Shape, constant: &Constant) -> Vec<[f32; 4]> {
    let values = constant.reals();
    let mut texels = Vec::with_capacity(shape.slices() * shape.h * shape.w);
    for slice in 0..shape.slices() {
        for tap in 0..shape.h * shape.w {
            texels.push(std::array::from_fn(|lane| {
                let channel = slice * 4 + lane;
                if channel < shape.c { values.get(tap * shape.c + channel) } else { 0.0 }
            }));
        }
    }
    texels
}

/// Returns the layout of the weights per channel of the result.
pub(crate) fn channel_weights(graph: &Graph, node: &Node, conv: &Conv2d) -> ChannelWeights {
    match tiling(graph, node, conv) {
        Some(Tiling { taps, .. }) => ChannelWeights { operand: 1, axis: 3, slice_texels: taps },
        None => conv::channel_weights(graph, node, conv, WeightLayout::Depthwise),
    }
}

/// Returns the division of the weights by slices of the result, if it runs as a convolution with many groups.
pub(crate) fn sections(graph: &Graph, node: &Node, conv: &Conv2d) -> Option<WeightSections> {
    (!is_plain(graph, node, conv)).then(|| conv::sections(graph, node, conv, WeightLayout::Depthwise))
}
