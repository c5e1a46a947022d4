//! Lowers resizing with a filter as wide as the area that a pixel of the result covers. Each axis becomes a product
//! with a known matrix.

use super::{matmul::product, shapes::transposed};
use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{ElementType, ResizeMode};

/// Parameters for resizing one axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sized {
    pub(super) axis: usize,
    pub(super) extent: usize,
    /// Output extent divided by input extent.
    pub(super) scale: f32,
    /// True if the scale may differ from the quotient of the extents.
    pub(super) stated: bool,
    /// Start and end of the crop region.
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
        // The product sums over the last axis, so the two axes are swapped before and after. That only renumbers
        // atoms.
        let mut perm: Vec<usize> = (0..=last).collect();
        perm.swap(sized.axis, last);
        let operand = transposed(ctx.lowering, &y, &perm)?;
        let product = product(ctx, &operand, &Value::Known(weights))?;
        y = transposed(ctx.lowering, &product, &perm)?;
    }
    ctx.give(0, y);
    Ok(())
}

/// Steps for the weight of one tap, including that it is evaluated twice.
const TAP_STEPS: usize = 8;

/// Computes the weight of each input pixel for each pixel of the result, `[input, result]`.
fn weights(
    ctx: &mut NodeLowering<'_>,
    sized: &Sized,
    extent: usize,
    mode: ResizeMode,
    coords: &str,
) -> Result<Array, Problem> {
    let dims = vec![extent, sized.extent];
    let scale = f64::from(sized.scale);
    // A pixel of the result covers several input pixels only if the image shrinks; otherwise the filter has its basic
    // width.
    let width = scale.min(1.0);
    let (reach, cubic) = match mode {
        ResizeMode::Cubic { a, .. } => (2.0, Some(f64::from(a))),
        ResizeMode::Linear | ResizeMode::LinearInteger | ResizeMode::Nearest(_) => (1.0, None),
    };
    let exclude_outside = ctx.flag("exclude_outside", false)?;
    // Number of input pixels that contribute to a pixel of the result.
    let first = (-reach / width).floor() + 1.0;
    let taps = (2.0 - 2.0 * first) as usize;
    ctx.meter().work(taps.saturating_mul(sized.extent).saturating_mul(TAP_STEPS))?;
    let elements = ctx.budget_for(&dims, size_of::<f32>(), 0)?;
    let mut values = ctx.meter().filled(elements, std::iter::repeat(0.0f32))?;
    for result in 0..sized.extent {
        let centre = centre(result as f64, scale, extent as f64, sized.extent as f64, coords)?;
        // The last input pixel before the centre. A pixel exactly at the centre counts as behind it.
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
            // Pixels outside the image are replaced by the one at the border, which may therefore receive several
            // weights.
            (place.clamp(0.0, extent as f64 - 1.0) as usize, part)
        };
        let sum: f64 = (0..taps).map(|tap| part(tap).1).sum();
        for (source, part) in (0..taps).map(part) {
            values[source * sized.extent + result] += (part / sum) as f32;
        }
    }
    Ok(Array::of_floats(dims, ElementType::F32, &values))
}

/// Returns the input position of pixel `x` of the result.
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

/// Evaluates Keys' cubic convolution kernel.
fn convolution(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((x - 5.0) * x + 8.0) * x * a - 4.0 * a
    } else {
        0.0
    }
}
