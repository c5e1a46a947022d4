//! Kernel of TensorFlow Lite's resizes.

use super::tensorflow::{Coords, TensorFlowResize};
use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    shader::helpers::ONE_TEXEL,
    wgsl::{shader_params, shared_constants},
};

pub(crate) const SHADER: Shader = Shader::new("resize", include_str!("../../../shaders/resize.wgsl"))
    .constants(&[COORDS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Coordinate conventions.
    COORDS:
    COORDS_ASYMMETRIC = 0,
    COORDS_HALF_PIXEL = 1,
    COORDS_ALIGN_CORNERS = 2,
}

shader_params! {
    struct Params {
        scale: [f32; 2],
    }
}

/// Returns input pixels per output pixel, in the 32-bit arithmetic of TensorFlow Lite's reference. Computed on the
/// host, because a device's division need not be exact.
fn scale(input: usize, output: usize, coords: Coords) -> f32 {
    if coords == Coords::AlignCorners && output > 1 {
        (input - 1) as f32 / (output - 1) as f32
    } else {
        input as f32 / output as f32
    }
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(
    step: &StepContext<'_>,
    TensorFlowResize { bilinear, coords }: TensorFlowResize,
) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let (from, to) = (input.shape, step.output.shape);
    let params = Params { scale: [scale(from.h, to.h, coords), scale(from.w, to.w, coords)] };
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
    let code = match coords {
        Coords::Asymmetric => COORDS_ASYMMETRIC,
        Coords::HalfPixel => COORDS_HALF_PIXEL,
        Coords::AlignCorners => COORDS_ALIGN_CORNERS,
    };
    let constants = vec![("BILINEAR", common::flag(bilinear)), ("COORDS", f64::from(code))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}
