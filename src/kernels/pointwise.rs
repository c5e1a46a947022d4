//! Pointwise convolutions and fully connected layers.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family};

const SHADER: Shader = Shader { name: "pointwise", source: include_str!("../../shaders/pointwise.wgsl") };

/// Pixels and slices an invocation computes.
type Block = (usize, usize);

/// A dispatch over `step.rows`; `own` is the number of weight texels in front of the biases.
pub fn dispatches(step: &StepContext<'_>, (pixels_block, slices_block): Block) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let out = step.output.shape;
    let bias = 4 * out.slices() * input.shape.slices();
    let plan = TailPlan::new(step.graph, step.node, bias + out.slices());
    let pixels = step.rows.len() * out.w;
    let pixel_blocks = pixels.div_ceil(pixels_block);
    let items = (pixel_blocks * out.slices().div_ceil(slices_block)) as u32;
    let words = Words::new(step, &plan, items).input(input).own([pixel_blocks as u32, pixels as u32, bias as u32, 0]);
    let constants = vec![("PIXELS", pixels_block as f64), ("SLICES", slices_block as f64)];
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, constants).reading(input).reading_weights(step)])
}
