//! The greatest or least channels of each pixel: a texel of the result an invocation.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, shader::helpers::ONE_TEXEL,
};

pub(crate) const SHADER: Shader =
    Shader::new("top_k", include_str!("../../../shaders/top_k.wgsl")).helpers(&[ONE_TEXEL]);

/// One texel of the result an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, largest: bool, indices: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input);
    let constants = vec![("LARGEST", common::flag(largest)), ("INDICES", common::flag(indices))];
    // Passes over all channels, two of them lane by lane; the bits of the threshold; and what comes before in the result.
    let slices = input.shape.slices();
    let passes = common::nested(&[slices]) + 2 * common::nested(&[slices, 4]);
    let iterations = passes + common::nested(&[32]) + common::nested(&[4 * slices]) + common::nested(&[4]);
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants).reading(input).iterating(iterations)])
}
