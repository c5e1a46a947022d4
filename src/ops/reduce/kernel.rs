//! Reductions over axes.

use crate::{
    graph::ReduceKind,
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        shader::helpers::{ONE_TEXEL, REGION},
        wgsl::{shader_params, shared_constants},
    },
};

pub(crate) const MEAN: Shader = Shader::new("mean", include_str!("../../../shaders/mean.wgsl"))
    .constants(&[STORED_MEANS])
    .params::<MeanParams>()
    .helpers(&[ONE_TEXEL, REGION]);
pub(crate) const REDUCE: Shader = Shader::new("reduce", include_str!("../../../shaders/reduce.wgsl"))
    .constants(&[KINDS])
    .params::<ReduceParams>()
    .helpers(&[ONE_TEXEL, REGION]);

shared_constants! {
    /// Reductions that `reduce.wgsl` knows.
    KINDS:
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
    /// The first of those whose result is an index.
    REDUCE_FIRST_INDEX = REDUCE_ARG_MAX,
}

shared_constants! {
    /// Which means `mean.wgsl` makes as if they had been stored.
    STORED_MEANS:
    /// Not over width, or over channels too: none.
    STORED_NONE = 0,
    /// Over height and width: the rows' means, of which the result is the mean.
    STORED_ROW_MEANS = 1,
    /// Over width alone: the result.
    STORED_MEAN = 2,
}

shader_params! {
    struct ReduceParams {
        reduced: [bool; 4],
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

/// One texel of the result an invocation; it sums in one order, whatever the rows of the step.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    kind: ReduceKind,
    axes: [bool; 4],
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input);
    let shape = input.shape;
    let looped = |axis: usize, extent: usize| if axes[axis] { extent } else { 1 };
    let region = [looped(0, shape.b), looped(1, shape.h), looped(2, shape.w), looped(3, shape.slices())];
    let iterations = common::nested(&region);
    // Means have a shader of their own, because theirs are made as if rows' means had been stored.
    if let Some(code) = code(kind) {
        let params = params.params(&ReduceParams { reduced: axes });
        let kind = ("KIND", f64::from(code));
        let dispatch = common::dispatch(step, REDUCE, &epilogue, params, items, vec![kind]).reading(input);
        // The logarithm of a sum of powers looks for the greatest first.
        return Ok(vec![dispatch.iterating(2 * iterations)]);
    }
    let extents = input.shape.dims();
    let stored = stored(axes);
    // The rows' means have been divided by the width already.
    let reduced = |axis: &usize| axes[*axis] && !(stored == STORED_ROW_MEANS && *axis == 2);
    let divisor = (0..4).filter(reduced).map(|axis| extents[axis]).product::<usize>() as f32;
    let params = params.params(&MeanParams { reduced: axes, divisor, row_divisor: extents[2] as f32, stored });
    Ok(vec![common::dispatch(step, MEAN, &epilogue, params, items, Vec::new()).reading(input).iterating(iterations)])
}

/// The code of a reduction in `reduce.wgsl`; the mean has a shader of its own.
const fn code(kind: ReduceKind) -> Option<u32> {
    Some(match kind {
        ReduceKind::Mean => return None,
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
    })
}
