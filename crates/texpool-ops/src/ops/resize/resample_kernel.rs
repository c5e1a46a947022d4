//! Kernel of resizes in every other convention. The pixels and weights of each row and column are computed here, on
//! the host.

use crate::{
    graph::{CoordMode, Resize, ResizeAxis, ResizeMode},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        params::FAMILY_PARAMS,
        shader::helpers::ONE_TEXEL,
        wgsl::{self, ShaderParams, shader_params, shared_constants},
    },
};

pub(crate) const SHADER: Shader = Shader::new("resample", texpool_shaders::RESAMPLE)
    .chosen_if("the positions or weights are not those of TensorFlow Lite, so they are read from a table")
    .constants(&[MARKS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Special values in the tables.
    MARKS:
    /// First pixel of an output pixel outside the image.
    NOWHERE = i32::MIN.cast_unsigned(),
    /// Sum of the weights of four integers.
    INTEGER_UNIT = ResizeAxis::PARTS as u32 * ResizeAxis::PARTS as u32,
}

shader_params! {
    struct Params {
        first_rows: usize,
        first_columns: usize,
        row_parts: usize,
        column_parts: usize,
        extrapolation: f32,
    }
}

/// Returns the table of first pixels, four per group.
fn first_pixels(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    let mut params: Vec<u32> = (0..extent).map(|i| axis.at(i).map_or(NOWHERE, |t| t.first as i32 as u32)).collect();
    // Tables are read in groups of four words.
    params.resize(extent.next_multiple_of(4), 0);
    params
}

/// Returns the table of weights, four per output pixel.
fn parts(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    (0..extent).flat_map(|i| axis.at(i).map_or([0.0; 4], |t| t.weights).map(f32::to_bits)).collect()
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, resize: &Resize) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let (from, to) = (input.shape, step.output.shape);
    let (down, across) = (ResizeAxis::new(resize, 0, from.h, to.h), ResizeAxis::new(resize, 1, from.w, to.w));
    let extrapolation = match resize.coords {
        CoordMode::TfCropAndResize { extrapolation, .. } => Some(extrapolation),
        CoordMode::Asymmetric
        | CoordMode::HalfPixel
        | CoordMode::PytorchHalfPixel
        | CoordMode::AlignCorners
        | CoordMode::HalfPixelSymmetric => None,
    };
    let taps = down.taps();
    let mut tables = [first_pixels(&down, to.h), first_pixels(&across, to.w), Vec::new(), Vec::new()];
    // A single tap always has weight one, so the shader reads no weights.
    if taps > 1 {
        [tables[2], tables[3]] = [parts(&down, to.h), parts(&across, to.w)];
    }
    // The tables follow these parameters directly; shaders compute in groups of four words.
    let mut next = FAMILY_PARAMS as usize + wgsl::groups(Params::FIELDS);
    let [first_rows, first_columns, row_parts, column_parts] = tables.each_ref().map(|table| {
        let start = next;
        next += table.len() / 4;
        start
    });
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params {
        first_rows,
        first_columns,
        row_parts,
        column_parts,
        extrapolation: extrapolation.unwrap_or_default(),
    });
    let params = params.table(&tables.concat());
    let integer = common::flag(resize.mode == ResizeMode::LinearInteger);
    let constants =
        vec![("TAPS", taps as f64), ("INTEGER", integer), ("OUTSIDE", common::flag(extrapolation.is_some()))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}
