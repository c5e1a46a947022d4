//! Resizes of height and width.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family};
use crate::graph::{CoordMode, ResizeMode};

pub(super) const SHADER: Shader = Shader::new("resize", include_str!("../../shaders/resize.wgsl"));

/// Input pixels per output pixel, in the 32-bit arithmetic of TensorFlow Lite's reference; worked out here because a
/// device's division need not be exact.
fn scale(input: usize, output: usize, coords: CoordMode) -> f32 {
    if coords == CoordMode::AlignCorners && output > 1 {
        (input - 1) as f32 / (output - 1) as f32
    } else {
        input as f32 / output as f32
    }
}

/// One texel an invocation.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    mode: ResizeMode,
    coords: CoordMode,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let (from, to) = (input.shape, step.output.shape);
    let y = scale(from.h, to.h, coords).to_bits();
    let params =
        KernelParams::new(step, &plan, items).input(input).own([y, scale(from.w, to.w, coords).to_bits(), 0, 0]);
    let code = match coords {
        CoordMode::HalfPixel => 1.0,
        CoordMode::AlignCorners => 2.0,
        _ => 0.0,
    };
    let constants = vec![("BILINEAR", f64::from(u8::from(mode == ResizeMode::Linear))), ("COORDS", code)];
    Ok(vec![family::dispatch(step, SHADER, &plan, params, items, constants).reading(input)])
}
