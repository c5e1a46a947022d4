//! Kernel of running sums, with one line along the axis per invocation.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    loops::{loops, taken_a_round},
    wgsl::shader_params,
};

pub(crate) const SHADER: Shader =
    Shader::new("cum_sum", include_str!("../../../shaders/cum_sum.wgsl")).params::<Params>().loops(loops![i]);

shader_params! {
    struct Params {
        axis: usize,
    }
}

/// Computes one line along the axis per invocation.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let x = input.shape;
    // A sum needs all earlier elements, so an invocation follows a line along rows completely and stores only the
    // band's part.
    let (outer, lines) = match axis {
        0 => (0..x.h as u32, x.row_texels()),
        1 => (common::images(step), x.row_texels()),
        2 => (step.rows.clone(), x.slices()),
        _ => (step.rows.clone(), x.w),
    };
    let items = outer.len() as u32 * lines as u32;
    let params = KernelParams::new(step, &epilogue, items).input(input).first(outer.start).params(&Params { axis });
    let length = [x.b, x.h, x.w, x.slices()].get(axis).copied().unwrap_or_default();
    let taken = taken_a_round(length);
    let flags = [("EXCLUSIVE", common::flag(exclusive)), ("REVERSE", common::flag(reverse))];
    let constants = flags.into_iter().chain([("TAKEN", taken as f64)]).collect();
    let extents = [("i", length.div_ceil(taken))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents).reading(input)])
}
