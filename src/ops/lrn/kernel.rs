//! Kernel of local response normalization.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, loops::loops,
    shader::helpers::ONE_TEXEL, wgsl::shader_params,
};

pub(crate) const SHADER: Shader = Shader::new("lrn", include_str!("../../../shaders/lrn.wgsl"))
    .params::<Params>()
    .helpers(&[ONE_TEXEL])
    .loops(loops![s]);

shader_params! {
    struct Params {
        scale: f32,
        beta: f32,
        bias: f32,
        before: u32,
        behind: u32,
    }
}

/// Computes one texel per invocation, with parameters `[alpha, beta, bias]`.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    size: usize,
    [alpha, beta, bias]: [f32; 3],
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    // A window wider than the number of channels covers all of them.
    let reach = |channels: usize| channels.min(input.shape.c) as u32;
    let [before, behind] = [reach((size - 1) / 2), reach(size / 2)];
    let params = Params { scale: alpha / size as f32, beta, bias, before, behind };
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
    // The slices before the texel's slice, that slice, and the slices after it.
    let slices = (before as usize).div_ceil(4) + 1 + (behind as usize).div_ceil(4);
    let extents = [("s", slices.min(input.shape.slices()))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, Vec::new(), &extents).reading(input)])
}
