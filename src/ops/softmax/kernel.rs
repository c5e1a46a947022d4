//! Softmax over channels, and its logarithm.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, grid::LANES, loops::loops,
    shader::helpers::SOFTMAX, wgsl::shader_params,
};

pub(crate) const NARROW: Shader = Shader::new("softmax", include_str!("../../../shaders/softmax.wgsl"))
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, s, s]);
pub(crate) const WIDE: Shader = Shader::new("softmax_wide", include_str!("../../../shaders/softmax_wide.wgsl"))
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, i, s, i, s]);

shader_params! {
    struct Params {
        beta: f32,
    }
}

/// Slices from which on a pixel is worth a workgroup, where there are few pixels: of fewer, most lanes would have
/// none.
const WIDE_SLICES: usize = LANES as usize / 2;
/// Pixels for each slice that are not few, and fill a device by themselves. An attention's rows are many: for MiniLM's
/// 1536 pixels of 32 slices, 48 for each, a workgroup a pixel took ten times as long on lavapipe. A classifier's are
/// few: one pixel of 251 slices. This lies between; nothing in between was measured.
const MANY_PIXELS: usize = 8;

/// One pixel an invocation; a workgroup for each where the channels are many and the pixels few.
pub(crate) fn dispatches(step: &StepContext<'_>, beta: f32, log: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let pixels = step.rows.len() as u32 * input.shape.w as u32;
    // By the whole tensor, not by a band of it, so that every plan adds up in the same order.
    let shape = input.shape;
    let wide = shape.slices() >= WIDE_SLICES && shape.pixels() < MANY_PIXELS * shape.slices();
    let (shader, items) = if wide { (WIDE, pixels * LANES) } else { (NARROW, pixels) };
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params { beta });
    let slices = if wide { shape.slices().div_ceil(LANES as usize) } else { shape.slices() };
    // The narrow one puts no lanes together.
    let extents = [("s", slices), ("i", LANES as usize)];
    let extents = if wide { &extents[..] } else { &extents[..1] };
    let constants = vec![("LOG", common::flag(log))];
    Ok(vec![common::dispatch(step, shader, &epilogue, params, items, constants, extents).reading(input)])
}
