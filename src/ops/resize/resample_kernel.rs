//! Resizes of every convention: the pixels and parts that make each row and column are worked out here, in 64 bits.

use crate::{
    graph::{CoordMode, Resize, ResizeAxis},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        params::FAMILY_PARAMS,
        shader::helpers::ONE_TEXEL,
        wgsl::{self, ShaderParams, shader_params, shared_constants},
    },
};

pub(crate) const SHADER: Shader = Shader::new("resample", include_str!("../../../shaders/resample.wgsl"))
    .constants(&[MARKS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Numbers of the tables that are no pixels.
    MARKS:
    /// Stands for the first pixel of what lies outside.
    NOWHERE = i32::MIN.cast_unsigned(),
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

/// The table of the first pixels, four in each group.
fn first_pixels(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    let mut params: Vec<u32> = (0..extent).map(|i| axis.at(i).map_or(NOWHERE, |t| t.first as i32 as u32)).collect();
    // Tables are read in groups of four words.
    params.resize(extent.next_multiple_of(4), 0);
    params
}

/// The table of parts, four for each place.
fn parts(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    (0..extent).flat_map(|i| axis.at(i).map_or([0.0; 4], |t| t.weights).map(f32::to_bits)).collect()
}

/// One texel an invocation.
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
    // A single tap is the whole value, and the shader reads no parts.
    if taps > 1 {
        [tables[2], tables[3]] = [parts(&down, to.h), parts(&across, to.w)];
    }
    // Tables lie one behind another right after these parameters; shaders count in groups of four words.
    let mut next = FAMILY_PARAMS as usize + wgsl::groups(Params::FIELDS);
    let [first_rows, first_columns, row_parts, column_parts] = tables.each_ref().map(|table| {
        let start = next;
        next += table.len() / 4;
        start
    });
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let items = common::texels(step);
    let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params {
        first_rows,
        first_columns,
        row_parts,
        column_parts,
        extrapolation: extrapolation.unwrap_or_default(),
    });
    let params = params.table(&tables.concat());
    let constants = vec![("TAPS", taps as f64), ("OUTSIDE", common::flag(extrapolation.is_some()))];
    Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &[]).reading(input)])
}
