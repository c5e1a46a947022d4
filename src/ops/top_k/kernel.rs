//! The greatest or least channels of each pixel: a texel of the result an invocation.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family, shader::helpers::ONE_TEXEL,
};

pub(crate) const SHADER: Shader =
    Shader::new("top_k", include_str!("../../../shaders/top_k.wgsl")).helpers(&[ONE_TEXEL]);

/// One texel of the result an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, largest: bool, indices: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input);
    let constants = vec![("LARGEST", family::flag(largest)), ("INDICES", family::flag(indices))];
    Ok(vec![family::dispatch(step, SHADER, &epilogue, params, items, constants).reading(input)])
}
