//! Computes a long Fourier transform in two steps of shorter ones, as Cooley and Tukey do. Of `a * b` values, every
//! b-th ones are transformed by a matrix for `a` values; each result is turned by an angle, and every a-th bin is a
//! transform of `b` of them. Two steps take `a + b` products for a bin in place of `a * b`, and matrices as small.

use super::{basic::two, concat::joined, matmul::product, shapes::reshaped, slice::take};
use crate::import::{
    common::{axes::AxisRange, waves::Transform},
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering, value::Value},
};
use texpool_ops::graph::{Binary, ElementType};

/// Nanoseconds that parts of a transform take on lavapipe: reading an element of a matrix, a product, a value that two
/// steps turn and rearrange, and the dispatches of two steps.
const ELEMENT: f64 = 1.5;
const PRODUCT: f64 = 0.13;
const VALUE: f64 = 220.0;
const DISPATCHES: f64 = 400_000.0;

/// A transform of the first values, of `parts` parts each; the others are zero.
#[derive(Clone, Copy)]
pub(super) struct Long {
    pub(super) transform: Transform,
    pub(super) read: usize,
    pub(super) parts: usize,
    /// Parts of results: 1 if only the real ones are needed.
    pub(super) of_results: usize,
}

impl Long {
    /// Returns the lengths of the two steps that are fastest for a number of vectors. `None` if one step is faster.
    pub(super) fn steps(&self, vectors: usize) -> Option<[usize; 2]> {
        let points = self.transform.points;
        let lengths = (2..=points.isqrt()).filter(|a| points.is_multiple_of(*a));
        let pairs = lengths.flat_map(|a| [[a, points / a], [points / a, a]]);
        let (time, steps) = pairs.map(|steps| (self.time(vectors, steps), steps)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let elements = product_of([self.read, self.parts, self.transform.bins, self.of_results]);
        (time < elements * (ELEMENT + PRODUCT * vectors as f64)).then_some(steps)
    }

    /// Estimates the time of two steps.
    fn time(&self, vectors: usize, [a, b]: [usize; 2]) -> f64 {
        let first = product_of([self.read.div_ceil(b), self.parts, a, 2]);
        let second = product_of([b, 2, self.transform.bins.div_ceil(a), self.of_results]);
        let products = first * b as f64 + second * a as f64;
        let values = 2.0 * self.transform.points as f64;
        DISPATCHES + ELEMENT * (first + second) + (PRODUCT * products + VALUE * values) * vectors as f64
    }

    /// Transforms `[outer, read, parts]` to `[outer, bins, of_results]`.
    pub(super) fn transformed(
        &self,
        ctx: &mut NodeLowering<'_>,
        x: &Value,
        [a, b]: [usize; 2],
    ) -> Result<Value, Problem> {
        let Self { transform, read, parts, of_results } = *self;
        let outer = x.dims()[0];
        let elem = x.element_type();
        let mut x = x.clone();
        if of_results == 1 {
            // The other side has the conjugate values, which double the real parts.
            ctx.budget_for(&[read], size_of::<f32>(), 1)?;
            let has_twin = |value: usize| value > 0 && 2 * value != transform.points;
            let times: Vec<f32> = (0..read).map(|value| if has_twin(value) { 2.0 } else { 1.0 }).collect();
            let times = Value::Known(Array::of_floats(vec![read, 1], ElementType::F32, &times));
            x = Value::Computed(two(ctx, Binary::Mul, &x, &times, elem)?);
        }
        let rows = read.div_ceil(b);
        let missing = rows * b - read;
        if missing > 0 {
            let zeros = vec![0.0; ctx.budget_for(&[outer, missing, parts], 2 * size_of::<f32>(), 1)?];
            let zeros = Array::of_floats(vec![outer, missing, parts], elem, &zeros);
            x = joined(ctx, &[x, Value::Known(zeros)], 1)?;
        }
        let x = arranged(ctx, &x, &[outer, rows, b, parts], [0, 2, 1, 3])?;
        let x = reshaped(ctx.lowering, &x, &[outer * b, rows * parts])?;
        let short = Transform::new(a, false, transform.is_inverse());
        let matrix = matrix(ctx, [rows, a], [parts, 2], |value, bin| short.factors(value, bin))?;
        let x = product(ctx, &x, &matrix)?;

        let x = reshaped(ctx.lowering, &x, &[outer, b, a, 2])?;
        let x = turned(ctx, &x, |value, bin| transform.waves(value, bin))?;

        let x = arranged(ctx, &x, &[outer, b, a, 2], [0, 2, 1, 3])?;
        let x = reshaped(ctx.lowering, &x, &[outer * a, b * 2])?;
        let short = Transform::new(b, false, transform.is_inverse());
        let columns = transform.bins.div_ceil(a);
        let matrix = self::matrix(ctx, [b, columns], [2, of_results], |value, bin| short.factors(value, bin))?;
        let x = product(ctx, &x, &matrix)?;
        let x = arranged(ctx, &x, &[outer, a, columns, of_results], [0, 2, 1, 3])?;
        let x = reshaped(ctx.lowering, &x, &[outer, columns * a, of_results])?;
        take(ctx, &x, &[(1, AxisRange { begin: 0, stride: 1, count: transform.bins })])
    }
}

fn product_of(extents: [usize; 4]) -> f64 {
    extents.into_iter().map(|extent| extent as f64).product()
}

/// Returns a value of other extents with its axes in another order.
fn arranged(ctx: &mut NodeLowering<'_>, x: &Value, dims: &[usize], perm: [usize; 4]) -> Result<Value, Problem> {
    let x = reshaped(ctx.lowering, x, dims)?;
    Ok(Value::Computed(ctx.compute(&x)?.transposed(&perm)))
}

/// Returns the matrix of a transform: rows for the parts of values, columns for the parts of bins.
pub(super) fn matrix(
    ctx: &mut NodeLowering<'_>,
    [values, bins]: [usize; 2],
    [of_values, of_bins]: [usize; 2],
    factors: impl Fn(usize, usize) -> [[f64; 2]; 2],
) -> Result<Value, Problem> {
    let count = ctx.budget_for(&[values, of_values, bins, of_bins], 2 * size_of::<f32>(), 16)?;
    let mut matrix = Vec::with_capacity(count);
    for value in 0..values {
        let of_value: Vec<_> = (0..bins).map(|bin| factors(value, bin)).collect();
        for part in 0..of_values {
            matrix.extend(of_value.iter().flat_map(|own| own[part].iter().take(of_bins)).map(|&factor| factor as f32));
        }
    }
    Ok(Value::Known(Array::of_floats(vec![values * of_values, bins * of_bins], ElementType::F32, &matrix)))
}

/// Multiplies complex numbers `[outer, values, bins, 2]` by those of the unit circle.
fn turned(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    waves: impl Fn(usize, usize) -> [[f64; 2]; 2],
) -> Result<Value, Problem> {
    let &[_, values, bins, parts] = x.dims() else { return Ok(x.clone()) };
    let elem = x.element_type();
    ctx.budget_for(&[values, bins, parts], 4 * size_of::<f32>(), 16)?;
    // Factors of the same part and of the other part, for each part of the result.
    let [own, other] = [true, false].map(|is_own| {
        let places = (0..values).flat_map(|value| (0..bins).map(move |bin| (value, bin)));
        let factors: Vec<f32> = places
            .flat_map(|(value, bin)| {
                let waves = waves(value, bin);
                [0, 1].map(|to| waves[if is_own { to } else { 1 - to }][to] as f32)
            })
            .collect();
        Value::Known(Array::of_floats(vec![values, bins, parts], ElementType::F32, &factors))
    });
    let swapped = take(ctx, x, &[(3, AxisRange { begin: 1, stride: -1, count: parts })])?;
    let own = two(ctx, Binary::Mul, x, &own, elem)?;
    let other = two(ctx, Binary::Mul, &swapped, &other, elem)?;
    Ok(Value::Computed(two(ctx, Binary::Add, &Value::Computed(own), &Value::Computed(other), elem)?))
}
