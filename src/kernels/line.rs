//! Operators that look along axes and keep them: selections over channels, normalizations, running sums.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family};

pub(super) const TOP_K: Shader = Shader::new("top_k", include_str!("../../shaders/top_k.wgsl"));
pub(super) const LRN: Shader = Shader::new("lrn", include_str!("../../shaders/lrn.wgsl"));
pub(super) const NORMALIZE: Shader = Shader::new("normalize", include_str!("../../shaders/normalize.wgsl"));
pub(super) const CUM_SUM: Shader = Shader::new("cum_sum", include_str!("../../shaders/cum_sum.wgsl"));

fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

/// One texel of the result an invocation.
pub(crate) fn top_k(step: &StepContext<'_>, largest: bool, indices: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let params = KernelParams::new(step, &plan, items).input(input);
    let constants = vec![("LARGEST", flag(largest)), ("INDICES", flag(indices))];
    Ok(vec![family::dispatch(step, TOP_K, &plan, params, items, constants).reading(input)])
}

/// One texel an invocation; `[alpha, beta, bias]`.
pub(crate) fn lrn(
    step: &StepContext<'_>,
    size: usize,
    [alpha, beta, bias]: [f32; 3],
) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    // A window wider than the channels holds them all.
    let reach = |channels: usize| channels.min(input.shape.c) as u32;
    let params = KernelParams::new(step, &plan, items)
        .input(input)
        .own([(alpha / size as f32).to_bits(), beta.to_bits(), bias.to_bits(), 0])
        .own([reach((size - 1) / 2), reach(size / 2), 0, 0]);
    Ok(vec![family::dispatch(step, LRN, &plan, params, items, Vec::new()).reading(input)])
}

/// A team of lanes for each group of values that have one mean. Groups that reach out of the step's rows are summed
/// whole, in the order that they always are.
pub(crate) fn normalize(step: &StepContext<'_>, axes: [bool; 4], epsilon: f32) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
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
    // Short sums are not worth meeting for.
    let team = match texels {
        0..32 => 1,
        32..256 => 8,
        _ => family::LANES,
    };
    let items = outer.len() as u32 * (columns * depths) as u32 * team;
    let params = KernelParams::new(step, &plan, items)
        .input(input)
        .own(axes.map(u32::from))
        .own([outer.start, columns as u32, depths as u32, 0])
        .own([batches, rows, pixels, slices].map(|extent| extent as u32))
        .own([(count as f32).to_bits(), epsilon.to_bits(), step.rows.end, 0]);
    let constants = vec![("TEAM", f64::from(team))];
    Ok(vec![family::dispatch(step, NORMALIZE, &plan, params, items, constants).reading(input)])
}

/// A line along the axis an invocation.
pub(crate) fn cum_sum(
    step: &StepContext<'_>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let x = input.shape;
    let (outer, lines) = match axis {
        0 => (0..x.h as u32, x.row_texels()),
        1 => (images(step), x.row_texels()),
        2 => (step.rows.clone(), x.slices()),
        _ => (step.rows.clone(), x.w),
    };
    let items = outer.len() as u32 * lines as u32;
    let params = KernelParams::new(step, &plan, items).input(input).own([axis as u32, outer.start, step.rows.end, 0]);
    let constants = vec![("EXCLUSIVE", flag(exclusive)), ("REVERSE", flag(reverse))];
    Ok(vec![family::dispatch(step, CUM_SUM, &plan, params, items, constants).reading(input)])
}

/// The images that the step's rows are of.
fn images(step: &StepContext<'_>) -> std::ops::Range<u32> {
    let height = step.output.shape.h as u32;
    step.rows.start / height..step.rows.end.div_ceil(height)
}
