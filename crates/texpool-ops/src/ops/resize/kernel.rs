//! Kernel of TensorFlow Lite's resizes.

use std::ops::Range;

use super::{Coords, Resize, TensorFlowResize, resample_kernel};
use crate::{
    graph::{Graph, Node, ResizeAxis},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        shader::helpers::ONE_TEXEL,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Resize {
    const SHADERS: &'static [Shader] = &[SHADER, resample_kernel::SHADER];
}

impl Operator for Resize {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match TensorFlowResize::of(self) {
            Some(resize) => between(map, resize),
            None => taps(map, &ResizeAxis::new(self, 0, map.from.h, map.to.h)),
        }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Resize, 1, 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        match TensorFlowResize::of(self) {
            Some(resize) => dispatches(step, resize),
            None => resample_kernel::dispatches(step, self),
        }
    }
}

/// Returns the rows of all taps, including those with weight zero: the kernel reads them, and a value multiplied by
/// zero must be a finite number.
fn taps(map: &RowMap<'_>, axis: &ResizeAxis) -> Vec<Range<u32>> {
    map.each(|y| {
        let Some(taps) = axis.at(y) else { return 0..0 };
        let rows = (0..axis.taps()).map(|tap| taps.pixel(tap, map.from.h));
        let (low, high) = rows.fold((usize::MAX, 0), |(low, high), row| (low.min(row), high.max(row + 1)));
        low as isize..high as isize
    })
}

/// Returns the rows around the position of a result row. A position close to a whole number may fall on either side
/// of it in a device's arithmetic, so both sides are included.
fn between(map: &RowMap<'_>, TensorFlowResize { bilinear, coords }: TensorFlowResize) -> Vec<Range<u32>> {
    const SLACK: f64 = 1e-3;
    let (from, to) = (map.from.h as f64, map.to.h as f64);
    let scale = match coords {
        Coords::AlignCorners if map.to.h > 1 => (from - 1.0) / (to - 1.0),
        Coords::Asymmetric | Coords::HalfPixel | Coords::AlignCorners => from / to,
    };
    map.each(|y| {
        let position = match (coords, bilinear) {
            (Coords::HalfPixel, true) => (y as f64 + 0.5) * scale - 0.5,
            (Coords::HalfPixel, false) => (y as f64 + 0.5) * scale,
            (Coords::AlignCorners, false) => y as f64 * scale + 0.5,
            (Coords::AlignCorners, true) | (Coords::Asymmetric, _) => y as f64 * scale,
        };
        let (low, high) = (position - SLACK, position + SLACK);
        let upper = if bilinear { high.ceil() } else { high.floor() };
        let inside = |row: f64| row.clamp(0.0, from - 1.0) as isize;
        inside(low.floor())..inside(upper) + 1
    })
}

pub(crate) const SHADER: Shader = Shader::new("resize", texpool_shaders::RESIZE)
    .chosen_if("the positions and weights are those of TensorFlow Lite, which the kernel computes")
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
