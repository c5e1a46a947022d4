//! Softmax over channels, and its logarithm.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family};

const NARROW: Shader = Shader { name: "softmax", source: include_str!("../../shaders/softmax.wgsl") };
const WIDE: Shader = Shader { name: "softmax_wide", source: include_str!("../../shaders/softmax_wide.wgsl") };

/// Slices from which on a pixel is worth a workgroup.
const WIDE_SLICES: usize = 32;

/// One pixel an invocation; a workgroup for each where the channels are many.
pub(super) fn dispatches(step: &StepContext<'_>, beta: f32, log: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let pixels = step.rows.len() as u32 * input.shape.w as u32;
    let (shader, items) =
        if input.shape.slices() < WIDE_SLICES { (NARROW, pixels) } else { (WIDE, pixels * family::LANES) };
    let words = Words::new(step, &plan, items).input(input).own([beta.to_bits(), 0, 0, 0]);
    Ok(vec![
        family::dispatch(step, shader, &plan, words, items, vec![("LOG", f64::from(u8::from(log)))]).reading(input),
    ])
}
