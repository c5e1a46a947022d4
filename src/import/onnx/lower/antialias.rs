//! Resizing with a filter that is as wide as what a pixel of the result covers: a product by a known matrix for each axis.

use super::matmul::product;
use crate::{
    graph::{ElementType, ResizeMode},
    import::{
        error::Problem,
        onnx::{
            array::Array,
            node_lowering::NodeLowering,
            value::{Computed, Value},
        },
    },
};

/// How an axis is resized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sized {
    pub(super) axis: usize,
    pub(super) extent: usize,
    /// Output by input.
    pub(super) scale: f32,
    /// Whether that is another number than the quotient of the extents may be.
    pub(super) stated: bool,
    /// First and last corner of a crop.
    pub(super) crop: [f32; 2],
}

/// Resizes axes one after another.
pub(super) fn resized(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    all: &[Sized],
    mode: ResizeMode,
    coords: &str,
) -> Result<(), Problem> {
    let last = x.dims.len() - 1;
    let mut y = Value::Computed(x.clone());
    for sized in all {
        let weights = weights(ctx, sized, x.dims[sized.axis], mode, coords)?;
        // A product sums over the last axis, so the two change places for it and back; atoms are only numbered anew.
        let mut perm: Vec<usize> = (0..=last).collect();
        perm.swap(sized.axis, last);
        let turned = |ctx: &mut NodeLowering<'_>, value: Value| -> Result<Value, Problem> {
            Ok(match value {
                Value::Computed(x) => Value::Computed(x.transposed(&perm)),
                Value::Known(array) => Value::Known(array.transposed(&perm, ctx.meter())?),
            })
        };
        let lying = turned(ctx, y)?;
        let product = product(ctx, &lying, &Value::Known(weights))?;
        y = turned(ctx, product)?;
    }
    ctx.give(0, y);
    Ok(())
}

/// Steps that a part of a pixel takes, which is worked out twice.
const TAP_STEPS: usize = 8;

/// What each pixel of the input gives to each of the result, `[input, result]`.
fn weights(
    ctx: &mut NodeLowering<'_>,
    sized: &Sized,
    extent: usize,
    mode: ResizeMode,
    coords: &str,
) -> Result<Array, Problem> {
    let dims = vec![extent, sized.extent];
    let scale = f64::from(sized.scale);
    // Only where pixels become fewer does one of the result cover several; otherwise the filter has its own width.
    let width = scale.min(1.0);
    let (reach, cubic) = match mode {
        ResizeMode::Cubic { a, .. } => (2.0, Some(f64::from(a))),
        ResizeMode::Linear | ResizeMode::Nearest(_) => (1.0, None),
    };
    let exclude_outside = ctx.flag("exclude_outside", false)?;
    // A pixel of the result looks at as many of the input as it covers.
    let first = (-reach / width).floor() + 1.0;
    let taps = (2.0 - 2.0 * first) as usize;
    ctx.meter().work(taps.saturating_mul(sized.extent).saturating_mul(TAP_STEPS))?;
    let elements = ctx.budget_for(&dims, size_of::<f32>(), 0)?;
    let mut values = ctx.meter().filled(elements, std::iter::repeat(0.0f32))?;
    for result in 0..sized.extent {
        let centre = centre(result as f64, scale, extent as f64, sized.extent as f64, coords)?;
        // The last pixel in front of the centre; a pixel that it lies on counts as behind it.
        let left = centre.ceil() - 1.0;
        let part = |tap: usize| -> (usize, f64) {
            let place = left + first + tap as f64;
            let distance = ((place - centre) * width).abs();
            let outside = place < 0.0 || place >= extent as f64;
            let part = match cubic {
                _ if outside && exclude_outside => 0.0,
                Some(a) => convolution(distance, a),
                None => (1.0 - distance).max(0.0),
            };
            // What lies outside counts for the pixel at the border, which may so be met by several taps.
            (place.clamp(0.0, extent as f64 - 1.0) as usize, part)
        };
        let sum: f64 = (0..taps).map(|tap| part(tap).1).sum();
        for (source, part) in (0..taps).map(part) {
            values[source * sized.extent + result] += (part / sum) as f32;
        }
    }
    Ok(Array::of_floats(dims, ElementType::F32, &values))
}

/// Where the pixel `x` of the result lies in the input.
fn centre(x: f64, scale: f64, extent: f64, result: f64, coords: &str) -> Result<f64, Problem> {
    Ok(match coords {
        "half_pixel" => (x + 0.5) / scale - 0.5,
        "pytorch_half_pixel" if result == 1.0 => 0.0,
        "pytorch_half_pixel" => (x + 0.5) / scale - 0.5,
        "half_pixel_symmetric" => extent / 2.0 * (1.0 - result / (scale * extent)) + (x + 0.5) / scale - 0.5,
        "asymmetric" => x / scale,
        "align_corners" if result == 1.0 => 0.0,
        "align_corners" => x * (extent - 1.0) / (result - 1.0),
        other => return Err(Problem::unsupported(format!("antialiasing where its coordinates are {other}"))),
    })
}

/// Keys' cubic convolution.
fn convolution(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((x - 5.0) * x + 8.0) * x * a - 4.0 * a
    } else {
        0.0
    }
}
