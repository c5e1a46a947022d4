//! Operators that look along axes and keep them: selections over channels, normalizations, running sums.

use super::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family, grid::LANES,
    shader::helpers::ONE_TEXEL, wgsl::shader_params,
};

pub(super) const TOP_K: Shader = Shader::new("top_k", include_str!("../../shaders/top_k.wgsl")).helpers(&[ONE_TEXEL]);
pub(super) const LRN: Shader =
    Shader::new("lrn", include_str!("../../shaders/lrn.wgsl")).params::<LrnParams>().helpers(&[ONE_TEXEL]);
pub(super) const NORMALIZE: Shader =
    Shader::new("normalize", include_str!("../../shaders/normalize.wgsl")).params::<NormalizeParams>();
pub(super) const CUM_SUM: Shader =
    Shader::new("cum_sum", include_str!("../../shaders/cum_sum.wgsl")).params::<CumSumParams>();

shader_params! {
    struct LrnParams {
        scale: f32,
        beta: f32,
        bias: f32,
        before: u32,
        behind: u32,
    }
}

shader_params! {
    struct NormalizeParams {
        joined: [bool; 4],
        outer: u32,
        columns: usize,
        depths: usize,
        end_row: u32,
        batches: usize,
        rows: usize,
        pixels: usize,
        slices: usize,
        values: f32,
        epsilon: f32,
    }
}

shader_params! {
    struct CumSumParams {
        axis: usize,
        first: u32,
        end_row: u32,
    }
}

/// One texel of the result an invocation.
pub(crate) fn top_k(step: &StepContext<'_>, largest: bool, indices: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input);
    let constants = vec![("LARGEST", family::flag(largest)), ("INDICES", family::flag(indices))];
    Ok(vec![family::dispatch(step, TOP_K, &epilogue, params, items, constants).reading(input)])
}

/// One texel an invocation; `[alpha, beta, bias]`.
pub(crate) fn lrn(
    step: &StepContext<'_>,
    size: usize,
    [alpha, beta, bias]: [f32; 3],
) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    // A window wider than the channels holds them all.
    let reach = |channels: usize| channels.min(input.shape.c) as u32;
    let [before, behind] = [reach((size - 1) / 2), reach(size / 2)];
    let params = LrnParams { scale: alpha / size as f32, beta, bias, before, behind };
    let params = KernelParams::new(step, &epilogue, items).input(input).family(&params);
    Ok(vec![family::dispatch(step, LRN, &epilogue, params, items, Vec::new()).reading(input)])
}

/// A team of lanes for each group of values that have one mean. Groups that reach out of the step's rows are summed
/// whole, in the order that they always are.
pub(crate) fn normalize(step: &StepContext<'_>, axes: [bool; 4], epsilon: f32) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let x = input.shape;
    let [batch, height, width, channels] = axes;
    let of = |joined: bool, extent: usize| if joined { [1, extent] } else { [extent, 1] };
    let ([columns, pixels], [depths, slices]) = (of(width, x.w), of(channels, x.slices()));
    let outer = match (batch, height) {
        (false, false) => step.rows.clone(),
        (false, true) => images(step),
        (true, false) => 0..x.h as u32,
        (true, true) => 0..1,
    };
    let [batches, rows] = [of(batch, x.b)[1], of(height, x.h)[1]];
    let texels = batches * rows * pixels * slices;
    let count = batches * rows * pixels * if channels { x.c } else { 1 };
    // Each lane of a team has four texels or more: of fewer, waiting for each other would take longer than adding.
    let team = match texels {
        0..32 => 1,
        32..256 => 8,
        _ => LANES,
    };
    let items = outer.len() as u32 * (columns * depths) as u32 * team;
    let params = KernelParams::new(step, &epilogue, items).input(input).family(&NormalizeParams {
        joined: axes,
        outer: outer.start,
        columns,
        depths,
        end_row: step.rows.end,
        batches,
        rows,
        pixels,
        slices,
        values: count as f32,
        epsilon,
    });
    let constants = vec![("TEAM", f64::from(team))];
    Ok(vec![family::dispatch(step, NORMALIZE, &epilogue, params, items, constants).reading(input)])
}

/// A line along the axis an invocation.
pub(crate) fn cum_sum(
    step: &StepContext<'_>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let x = input.shape;
    let (outer, lines) = match axis {
        0 => (0..x.h as u32, x.row_texels()),
        1 => (images(step), x.row_texels()),
        2 => (step.rows.clone(), x.slices()),
        _ => (step.rows.clone(), x.w),
    };
    let items = outer.len() as u32 * lines as u32;
    let params = CumSumParams { axis, first: outer.start, end_row: step.rows.end };
    let params = KernelParams::new(step, &epilogue, items).input(input).family(&params);
    let constants = vec![("EXCLUSIVE", family::flag(exclusive)), ("REVERSE", family::flag(reverse))];
    Ok(vec![family::dispatch(step, CUM_SUM, &epilogue, params, items, constants).reading(input)])
}

/// The images that the step's rows are of.
fn images(step: &StepContext<'_>) -> std::ops::Range<u32> {
    let height = step.output.shape.h as u32;
    step.rows.start / height..step.rows.end.div_ceil(height)
}
