//! Kernels of reductions over axes.

use std::ops::Range;

use super::LARGE_MEAN;
use crate::{
    graph::{Graph, Node, Reduce, ReduceKind},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        grid::LANES,
        loops::loops,
        shader::helpers::{ONE_TEXEL, REDUCTION, REGION},
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Reduce {
    const SHADERS: &'static [Shader] = &[MEAN, REDUCE, WIDE];
}

impl Operator for Reduce {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        // Reported because an index is stored as a float, and 16-bit floats represent whole numbers only up to 2048.
        let answered = match (self.kind.is_index(), &node.inputs[..]) {
            (true, &[x, ..]) => {
                let extents = graph.shape(x).dims();
                Some((node.output, (0..4).filter(|&axis| self.axes[axis]).map(|axis| extents[axis]).product()))
            }
            _ => None,
        };
        Properties { indices: answered, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.reduced(self.axes)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Reduce)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        dispatches(step, self.kind, self.axes)
    }
}

pub(crate) const MEAN: Shader = Shader::new("mean", texpool_shaders::MEAN)
    .chosen_if("it is a mean, of few enough texels for an invocation")
    .constants(&[STORED_MEANS])
    .params::<MeanParams>()
    .helpers(&[ONE_TEXEL, REGION])
    .loops(loops![row[texel]]);
pub(crate) const REDUCE: Shader = Shader::new("reduce", texpool_shaders::REDUCE)
    .chosen_if("it is no mean, and few enough texels for an invocation")
    .constants(&[KINDS])
    .params::<ReduceParams>()
    .helpers(&[ONE_TEXEL, REGION, REDUCTION])
    .loops(loops![best_row[best_texel], row[texel]]);
pub(crate) const WIDE: Shader = Shader::new("reduce_wide", texpool_shaders::REDUCE_WIDE)
    .chosen_if("so many texels are reduced to one that a workgroup shares them")
    .constants(&[KINDS])
    .params::<WideParams>()
    .helpers(&[REGION, REDUCTION])
    .loops(loops![best_texel, best_lane, texel, part]);

/// Minimum number of texels per result texel for which a workgroup computes each result texel, instead of an
/// invocation. The choice only depends on the shapes of whole tensors, so that every plan gives bit-identical
/// results. With rows of one texel, each texel takes three rounds; a logarithm of a sum of powers visits all texels
/// twice; and llvmpipe ends the loops of an invocation after 65535 rounds.
const WIDE_TEXELS: usize = 1 << 13;

/// The threshold for means. It must not be lower than [`LARGE_MEAN`], the number of pixels for which a mean over
/// height and width takes two steps, so that such a mean has the same bits in one step and in two.
const WIDE_MEAN_TEXELS: usize = LARGE_MEAN;

shared_constants! {
    /// Reductions that `reduce.wgsl` and `reduce_wide.wgsl` support.
    KINDS:
    /// Only in `reduce_wide.wgsl`.
    REDUCE_MEAN = 0,
    REDUCE_SUM = 1,
    REDUCE_SUM_SQUARE = 2,
    REDUCE_MAX = 3,
    REDUCE_MIN = 4,
    REDUCE_PROD = 5,
    REDUCE_L1 = 6,
    REDUCE_L2 = 7,
    REDUCE_LOG_SUM = 8,
    REDUCE_LOG_SUM_EXP = 9,
    REDUCE_ARG_MAX = 10,
    REDUCE_ARG_MIN = 11,
    REDUCE_LAST_ARG_MAX = 12,
    REDUCE_LAST_ARG_MIN = 13,
    /// The first reduction whose result is an index.
    REDUCE_FIRST_INDEX = REDUCE_ARG_MAX,
}

shared_constants! {
    /// Means that `mean.wgsl` rounds as if they had been stored in a texture.
    STORED_MEANS:
    /// No means: width is not reduced, or channels are reduced, too.
    STORED_NONE = 0,
    /// Means of rows, because height and width are reduced; the result is the mean of these.
    STORED_ROW_MEANS = 1,
    /// The result, because only width is reduced.
    STORED_MEAN = 2,
}

shader_params! {
    struct ReduceParams {
        reduced: [bool; 4],
    }
}

shader_params! {
    struct WideParams {
        reduced: [bool; 4],
        divisor: f32,
    }
}

shader_params! {
    struct MeanParams {
        reduced: [bool; 4],
        divisor: f32,
        row_divisor: f32,
        stored: u32,
    }
}

const fn stored([_, height, width, channels]: [bool; 4]) -> u32 {
    match (height, width, channels) {
        (true, true, false) => STORED_ROW_MEANS,
        (false, true, false) => STORED_MEAN,
        _ => STORED_NONE,
    }
}

/// Computes one result texel per invocation, or per workgroup if it combines very many texels. Both add up in a fixed
/// order, independent of the rows of the step.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    kind: ReduceKind,
    axes: [bool; 4],
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let shape = input.shape;
    let reduced = |axis: usize, extent: usize| if axes[axis] { extent } else { 1 };
    let rows = reduced(0, shape.b) * reduced(1, shape.h);
    let row_texels = reduced(2, shape.w) * reduced(3, shape.slices());
    let extents = shape.dims();
    let divisor =
        |axes: [bool; 4]| (0..4).filter(|&axis| axes[axis]).map(|axis| extents[axis]).product::<usize>() as f32;
    let wide = if kind == ReduceKind::Mean { WIDE_MEAN_TEXELS } else { WIDE_TEXELS };
    if rows * row_texels >= wide {
        let items = common::texels(step) * LANES;
        let params = KernelParams::new(step, &epilogue, items).input(input);
        let params = params.params(&WideParams { reduced: axes, divisor: divisor(axes) });
        let passes = passes(kind).map(|pass| if pass { (rows * row_texels).div_ceil(LANES as usize) } else { 0 });
        let parts = passes.map(|texels| if texels > 0 { LANES as usize } else { 0 });
        let loops = [("best_texel", passes[0]), ("best_lane", parts[0]), ("texel", passes[1]), ("part", parts[1])];
        let kind = ("KIND", f64::from(code(kind)));
        return Ok(vec![common::dispatch(step, WIDE, &epilogue, params, items, vec![kind], &loops).reading(input)]);
    }
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input);
    // Means have a separate shader, which rounds the means of rows as if they had been stored.
    if kind == ReduceKind::Mean {
        let stored = stored(axes);
        // The means of rows have already been divided by the width.
        let [batch, height, width, channels] = axes;
        let divisor = divisor([batch, height, width && stored != STORED_ROW_MEANS, channels]);
        let params = params.params(&MeanParams { reduced: axes, divisor, row_divisor: extents[2] as f32, stored });
        let loops = [("row", rows), ("texel", row_texels)];
        return Ok(vec![common::dispatch(step, MEAN, &epilogue, params, items, Vec::new(), &loops).reading(input)]);
    }
    let params = params.params(&ReduceParams { reduced: axes });
    let [best, terms] = passes(kind).map(|pass| if pass { [rows, row_texels] } else { [0, 0] });
    let loops = [("best_row", best[0]), ("best_texel", best[1]), ("row", terms[0]), ("texel", terms[1])];
    let kind = ("KIND", f64::from(code(kind)));
    Ok(vec![common::dispatch(step, REDUCE, &epilogue, params, items, vec![kind], &loops).reading(input)])
}

/// Returns whether a reduction passes over all texels to find the best one, and whether it does to add them up.
const fn passes(kind: ReduceKind) -> [bool; 2] {
    match kind {
        ReduceKind::Max | ReduceKind::Min | ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => [true, false],
        ReduceKind::LogSumExp => [true, true],
        ReduceKind::Mean
        | ReduceKind::Sum
        | ReduceKind::SumSquare
        | ReduceKind::Prod
        | ReduceKind::L1
        | ReduceKind::L2
        | ReduceKind::LogSum => [false, true],
    }
}

/// Returns the code of a reduction in `reduce.wgsl`.
const fn code(kind: ReduceKind) -> u32 {
    match kind {
        ReduceKind::Mean => REDUCE_MEAN,
        ReduceKind::Sum => REDUCE_SUM,
        ReduceKind::SumSquare => REDUCE_SUM_SQUARE,
        ReduceKind::Max => REDUCE_MAX,
        ReduceKind::Min => REDUCE_MIN,
        ReduceKind::Prod => REDUCE_PROD,
        ReduceKind::L1 => REDUCE_L1,
        ReduceKind::L2 => REDUCE_L2,
        ReduceKind::LogSum => REDUCE_LOG_SUM,
        ReduceKind::LogSumExp => REDUCE_LOG_SUM_EXP,
        ReduceKind::ArgMax { last: false } => REDUCE_ARG_MAX,
        ReduceKind::ArgMin { last: false } => REDUCE_ARG_MIN,
        ReduceKind::ArgMax { last: true } => REDUCE_LAST_ARG_MAX,
        ReduceKind::ArgMin { last: true } => REDUCE_LAST_ARG_MIN,
    }
}
