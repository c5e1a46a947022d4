//! Kernel of separable convolutions.

use std::ops::Range;

use super::SeparableConv2d;
use crate::{
    graph::{Constant, Conv2d, Graph, Node, Shape},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, SectionLayout, SectionRole, Shader,
        StepContext, WeightPieces, WeightSection, common, functions,
        loops::loops,
        pack,
        shader::helpers::WEIGHTS,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        conv::{
            kernel as conv,
            weights::{ConvGeometry, WeightLayout},
        },
        depthwise::kernel::{self as depthwise, MAX_COLUMNS, MAX_ROW_PIXELS},
        operator::{Kernels, Operator, Properties, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for SeparableConv2d {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for SeparableConv2d {
    category!(undivided_weights);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        // The weights of the pointwise convolution. Those of the depthwise one stay 32-bit floats, like biases.
        let weights = ChannelWeights { operand: 1, axis: 0, slice_texels: graph.shape(node.inputs[0]).slices() * 4 };
        conv::properties(&self.depthwise, weights)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        conv::input_rows(map, &self.depthwise, 3)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let (x, window) = (graph.shape(node.inputs[0]), graph.shape(node.inputs[3]));
        let out = graph.shape(node.output);
        let block = Block::new(out);
        // The products of each slice of the result, and its share of the depthwise convolution.
        let depthwise = (2 * window.h * window.w * x.slices() * block.parts(out)).div_ceil(out.slices().max(1));
        Work::new(graph, node, CostClass::Pointwise, 8 * x.slices() + depthwise, block.pixels * block.slices)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        let mut sections = ConvGeometry::new(graph, node, 1, WeightLayout::Full).sections(graph, node, 1);
        // One section holds the biases and the windows, since all of them keep 32 bits.
        sections.retain(|section| section.role == SectionRole::Own);
        let layout =
            BiasesAndWindows { slices: graph.shape(node.output).slices(), window: graph.shape(node.inputs[3]) };
        sections.push(WeightSection::new(SectionRole::Biases, node.inputs[2..].to_vec(), layout));
        sections
    }

    /// Returns one dispatch over the step's rows.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let conv = &self.depthwise;
        for operand in 1..5 {
            common::constant(step, operand)?;
        }
        let input = common::placed(step, 0)?;
        let (window, out) = (step.graph.shape(step.node.inputs[3]), step.output.shape);
        let block = Block::new(out);
        if !is_supported(conv, input.shape, window) {
            return Err(step.unsupported("its window is too large to be joined with the convolution after it".into()));
        }
        let (between, alpha, beta) = match self.between {
            None => (functions::ACT_NONE, 0.0, 0),
            Some(function) => functions::in_epilogue(function)
                .ok_or_else(|| step.unsupported(format!("no epilogue can hold {}", function.name())))?,
        };
        let epilogue = EpilogueParams::new(step);
        let blocks = out.w.div_ceil(block.pixels);
        let items = (blocks * step.rows.len() * block.parts(out)) as u32;
        let columns = depthwise::columns(conv, window.w, block.pixels);
        let [stride_y, dilation_y] = [conv.stride[0], conv.dilation[0]];
        let padding = [conv.padding.top, conv.padding.left];
        let params = Params { blocks, stride_y, dilation_y, padding, alpha, beta };
        let params = KernelParams::new(step, &epilogue, items).biases(step).input(input).params(&params);
        let constants = vec![
            ("PIXELS", block.pixels as f64),
            ("SLICES", block.slices as f64),
            ("WINDOW_Y", window.h as f64),
            ("WINDOW_X", window.w as f64),
            ("STRIDE_X", conv.stride[1] as f64),
            ("DILATION_X", conv.dilation[1] as f64),
            ("COLUMNS", columns as f64),
            ("BETWEEN", f64::from(between)),
        ];
        let extents = [("k", input.shape.slices()), ("ky", window.h), ("c", columns), ("kx", window.w)];
        let shader = SHADER.reading(step.weights.packing);
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(input).reading_weights(step)])
    }
}

const SHADER: Shader = Shader::new("separable", texpool_shaders::SEPARABLE)
    .constants(&[depthwise::LIMITS, LIMITS])
    .params::<Params>()
    .helpers(&[WEIGHTS])
    .loops(loops![ky, k[ky[c, kx]]])
    .any_packing();

shared_constants! {
    /// Limits of the shader.
    LIMITS:
    /// Slices of the result that an invocation computes.
    MAX_SUM_SLICES = 8,
    /// Rows of the window.
    MAX_WINDOW_ROWS = 7,
}

shader_params! {
    struct Params {
        blocks: usize,
        stride_y: usize,
        dilation_y: usize,
        padding: [usize; 2],
        alpha: f32,
        beta: u32,
    }
}

/// Upper limit on the loop rounds of an invocation: half of the 65535 that llvmpipe allows.
const MAX_ROUNDS: usize = 1 << 15;

/// Returns whether the shader can hold the depthwise convolution of `x` with such a window.
fn is_supported(conv: &Conv2d, x: Shape, window: Shape) -> bool {
    let columns = depthwise::columns(conv, window.w, MAX_ROW_PIXELS as usize);
    window.h <= MAX_WINDOW_ROWS as usize
        && columns <= MAX_COLUMNS as usize
        && x.slices().saturating_mul(window.h * (columns + window.w + 2)) <= MAX_ROUNDS
}

/// Returns the number of parts in which one kernel computes a depthwise convolution of `x` and a pointwise one whose result
/// is `out`. Each part computes the depthwise convolution again. `None` if no kernel computes both.
pub fn separable_parts(conv: &Conv2d, [x, window, out]: [Shape; 3]) -> Option<usize> {
    (window.c == x.c && is_supported(conv, x, window)).then(|| Block::new(out).parts(out))
}

/// Pixels and slices that an invocation computes.
struct Block {
    pixels: usize,
    slices: usize,
}

impl Block {
    /// Returns the block of a result. Each part of the slices computes the depthwise convolution again, so there are as
    /// few parts as possible, of equal size.
    fn new(out: Shape) -> Self {
        let slices = out.slices().max(1);
        let pixels = [MAX_ROW_PIXELS as usize, 2].into_iter().find(|&pixels| pixels <= out.w).unwrap_or(1);
        Self { pixels, slices: slices.div_ceil(slices.div_ceil(MAX_SUM_SLICES as usize)) }
    }

    /// Returns the number of parts into which the slices of a result are divided.
    const fn parts(&self, out: Shape) -> usize {
        out.slices().div_ceil(self.slices)
    }
}

/// The biases of the result, and for each slice of the operand its window and its bias.
#[derive(Debug)]
struct BiasesAndWindows {
    /// Slices of the result.
    slices: usize,
    /// `[1, KH, KW, C]`
    window: Shape,
}

impl SectionLayout for BiasesAndWindows {
    fn texels(&self) -> u64 {
        (self.slices + self.window.slices() * (self.window.h * self.window.w + 1)) as u64
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (slices, window, constants) = (self.slices, self.window, constants.to_vec());
        pack::whole(move || {
            let mut texels = Vec::new();
            if let [biases, taps, window_biases] = constants[..] {
                texels.extend(pack::channels(biases, slices));
                let taps = depthwise::taps(window, taps);
                let windows = taps.chunks(window.h * window.w).zip(pack::channels(window_biases, window.slices()));
                windows.for_each(|(taps, bias)| texels.extend(taps.iter().copied().chain([bias])));
            }
            texels
        })
    }
}
