//! Lowers discrete Fourier transforms, and computes the windows for their frames.

use std::f64::consts::TAU;

use super::{
    align::placed_as,
    concat::joined,
    fourier_steps::{Long, matrix},
    matmul::product,
    shapes::reshaped,
    slice::take,
};
use crate::import::{
    common::{
        axes::{AxisRange, axis},
        waves::Transform,
    },
    error::Problem,
    onnx::{
        array::Array,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::{Floats, Numbers},
};
use texpool_ops::graph::{Conv2d, ElementType, Op, Padding, Shape};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("DFT", 17, Floats, "binary, concat, dense, rearrange", Any, dft)
        .limits("its length and axis must be known"),
    OnnxOpEntry::new("STFT", 17, Floats, "concat, conv, rearrange", Any, stft)
        .limits("its step, window and length must be known"),
    OnnxOpEntry::new("HannWindow", 17, Numbers, "none", Any, window).limits("its size must be known").fold(window),
    OnnxOpEntry::new("HammingWindow", 17, Numbers, "none", Any, window).limits("its size must be known").fold(window),
    OnnxOpEntry::new("BlackmanWindow", 17, Numbers, "none", Any, window).limits("its size must be known").fold(window),
];

/// Returns the number of parts of each value: 1 if values are real, 2 if they are complex.
fn parts(dims: &[usize]) -> Result<usize, Problem> {
    if dims.contains(&0) {
        return Err(Problem::empty(format!("it transforms no values: {dims:?}")));
    }
    match dims.last() {
        Some(&parts @ 1..=2) => Ok(parts),
        _ => Err(Problem::malformed(format!(
            "values of {dims:?} are neither real nor complex: the last extent is 1 or 2"
        ))),
    }
}

/// Returns a whole number above zero from an operand that must be known, or `None` if it is missing.
fn positive(ctx: &NodeLowering<'_>, position: usize, role: &str) -> Result<Option<usize>, Problem> {
    if ctx.optional(position).is_none() {
        return Ok(None);
    }
    match ctx.integer(position, role)? {
        number if number > 0 => Ok(usize::try_from(number).ok()),
        other => Err(Problem::malformed(format!("its {role} is {other}, not a whole number above 0"))),
    }
}

/// Computes a window of cosines on import.
fn window(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let size = positive(ctx, 0, "size")?.ok_or_else(|| Problem::malformed("it has no size"))?;
    let elem = ctx.stated_type("output_datatype")?.unwrap_or(ElementType::F32);
    if !elem.is_float() {
        return Err(Problem::unsupported(format!("its values are {elem}, which has no fractions")));
    }
    // Weights of the mean, of one wave over the window, and of two.
    let [mean, first, second] = match ctx.node.op.as_str() {
        "HannWindow" => [0.5, -0.5, 0.0],
        "HammingWindow" => [25.0 / 46.0, -21.0 / 46.0, 0.0],
        _ => [0.42, -0.5, 0.08],
    };
    // A symmetric window ends where a periodic one begins again.
    let period = if ctx.flag("periodic", true)? { size } else { (size - 1).max(1) };
    let count = ctx.budget_for(&[size], 2 * size_of::<f32>(), 64)?;
    let value = |i: usize| {
        let turn = TAU * i as f64 / period as f64;
        (mean + first * turn.cos() + second * (2.0 * turn).cos()) as f32
    };
    let values: Vec<f32> = (0..count).map(value).collect();
    ctx.give(0, Value::Known(Array::of_floats(vec![size], elem, &values)));
    Ok(())
}

fn dft(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let (dims, rank) = (x.dims().to_vec(), x.dims().len());
    let parts = parts(&dims)?;
    // An attribute until set 19, and an operand from set 20 on, with another default.
    let along = match ctx.optional(2) {
        Some(_) => ctx.integer(2, "axis")?,
        None => ctx.int("axis")?.unwrap_or(if ctx.opset < 20 { 1 } else { -2 }),
    };
    let along = axis(along, rank)?;
    if along + 1 == rank {
        return Err(Problem::malformed("it is along the axis of the real and imaginary parts"));
    }
    let (inverse, one_sided) = (ctx.flag("inverse", false)?, ctx.flag("onesided", false)?);
    let present = dims[along];
    let length = positive(ctx, 1, "length")?;
    // Backwards from one side of a spectrum, the result is real: the other side has the conjugate values.
    let of_results = if one_sided && inverse { 1 } else { 2 };
    let transform = match of_results {
        1 if parts == 2 => Transform::new(length.unwrap_or(2 * (present - 1)).max(1), false, true),
        2 if !one_sided || parts == 1 => Transform::new(length.unwrap_or(present), one_sided, inverse),
        _ => {
            return Err(Problem::unsupported("it has one side, of values that are complex forwards or real backwards"));
        }
    };
    let Transform { points, bins, .. } = transform;
    // Values beyond the length are left out, and missing ones are zero, so they need no rows.
    let read = present.min(if of_results == 1 { points / 2 + 1 } else { points });
    let x = match read < present {
        true => take(ctx, &x, &[(along, AxisRange { begin: 0, stride: 1, count: read })])?,
        false => x,
    };
    // The axis goes next to the parts, and back again behind the product.
    let perm: Vec<usize> = (0..rank - 1).filter(|&axis| axis != along).chain([along, rank - 1]).collect();
    let mut back = vec![0; rank];
    perm.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    let outer: Vec<usize> = perm[..rank - 2].iter().map(|&axis| dims[axis]).collect();
    let x = Value::Computed(ctx.compute(&x)?.transposed(&perm));
    let vectors: usize = outer.iter().product();
    let long = Long { transform, read, parts, of_results };
    let result = if let Some(steps) = long.steps(vectors) {
        let x = reshaped(ctx.lowering, &x, &[vectors, read, parts])?;
        long.transformed(ctx, &x, steps)?
    } else {
        let has_twin = |value: usize| of_results == 1 && value > 0 && 2 * value != points;
        let factors = |value, bin| {
            let times = if has_twin(value) { 2.0 } else { 1.0 };
            transform.factors(value, bin).map(|row| row.map(|factor| times * factor))
        };
        let matrix = matrix(ctx, [read, bins], [parts, of_results], factors)?;
        let x = reshaped(ctx.lowering, &x, &[vectors, read * parts])?;
        product(ctx, &x, &matrix)?
    };
    let result = reshaped(ctx.lowering, &result, &[&outer[..], &[bins, of_results]].concat())?;
    let result = ctx.compute(&result)?.transposed(&back);
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// A signal is cut into pieces of one step each, and the values of a piece become channels. A frame is then a window of
/// some pieces, and its transform a convolution whose lanes are all in use.
fn stft(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let signal = ctx.operand(0)?;
    let (batch, values, parts) = match *signal.dims() {
        [batch, values] => (batch, values, parts(&[batch, values, 1])?),
        [batch, values, _] => (batch, values, parts(signal.dims())?),
        ref dims => return Err(Problem::malformed(format!("its signal has the extents {dims:?}"))),
    };
    let step = positive(ctx, 1, "step")?.ok_or_else(|| Problem::malformed("it has no step"))?;
    let window = match ctx.optional(2) {
        Some(_) => Some(ctx.known(2, "window")?),
        None => None,
    };
    let of_window = window.as_ref().map(Array::len);
    let window = window.as_ref().map(Array::to_f32);
    let length = positive(ctx, 3, "length")?.or(of_window).unwrap_or(values);
    if of_window.is_some_and(|window| window != length) || length > values {
        let window = of_window.unwrap_or(length);
        let reason = format!("frames of {length} values, with a window of {window}, in a signal of {values}");
        return Err(Problem::malformed(reason));
    }
    let one_sided = ctx.flag("onesided", true)?;
    if one_sided && parts == 2 {
        return Err(Problem::unsupported("it has only one side, of complex values"));
    }
    let frames = (values - length) / step + 1;
    // A step longer than a frame leaves values out.
    let pieces = length.div_ceil(step);
    let transform = Transform::new(length, one_sided, false);
    let channels = step.checked_mul(parts).ok_or_else(|| Problem::limit("its step is too long"))?;
    let dims = [transform.bins, 2, pieces, channels];
    let count = ctx.budget_for(&dims, 2 * size_of::<f32>(), 16)?;
    let mut weights = Vec::with_capacity(count);
    for bin in 0..transform.bins {
        for to in 0..2 {
            for value in 0..pieces * step {
                // Zero behind the end of the frame, in the rest of its last piece.
                let weight = match &window {
                    Some(window) => window.get(value).copied().unwrap_or(0.0),
                    None => f32::from(u8::from(value < length)),
                };
                let factors = transform.factors(value, bin);
                weights.extend((0..parts).map(|part| (f64::from(weight) * factors[part][to]) as f32));
            }
        }
    }
    let outputs = transform.bins * 2;
    let weights = Array::of_floats(vec![outputs, 1, pieces, channels], ElementType::F32, &weights);

    let whole = frames - 1 + pieces;
    let flat = reshaped(ctx.lowering, &signal, &[batch, values * parts])?;
    let used = (whole * channels).min(values * parts);
    let mut flat = take(ctx, &flat, &[(1, AxisRange { begin: 0, stride: 1, count: used })])?;
    let missing = whole * channels - used;
    if missing > 0 {
        let zeros = vec![0.0; ctx.budget_for(&[batch, missing], 2 * size_of::<f32>(), 1)?];
        let zeros = Array::of_floats(vec![batch, missing], signal.element_type(), &zeros);
        flat = joined(ctx, &[flat, Value::Known(zeros)], 1)?;
    }
    let columns = [vec![0], vec![], vec![1], vec![2]];
    let dims = [batch, whole, channels];
    let pixels = reshaped(ctx.lowering, &flat, &dims)?;
    let pixels = placed_as(ctx.lowering, &pixels, &AtomLayout::of(&dims, &columns))?;
    let weights = ctx.lowering.constant(&weights, Shape::new(outputs, 1, pieces, channels))?;
    let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding: Padding::default(), groups: 1 };
    let tensor = ctx.emit(Op::Conv2d(conv), &[pixels, weights], Shape::new(batch, 1, frames, outputs))?;
    let dims = vec![batch, frames, outputs];
    let layout = AtomLayout::of(&dims, &columns).tidy(&dims);
    let spectra = Value::Computed(Computed { tensor, layout, dims, elem: signal.element_type() });
    let result = reshaped(ctx.lowering, &spectra, &[batch, frames, transform.bins, 2])?;
    ctx.give(0, result);
    Ok(())
}
