//! Samples images by cubic functions, and volumes, from the pixels around each place. The pixels are looked up by number,
//! and summed by the weights of their distances.

use super::{
    basic::{one, two},
    gather::picked_by,
    quant::apply,
    reduce::reduced_over,
    shapes::{reshaped, transposed},
};
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, count},
        fold::math,
        integers::mark_nodes,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{Binary, ElementType, ReduceKind, Unary};

/// Largest integer up to which floats are exact.
const EXACT: usize = 1 << 24;

/// A pixel beside a place, along one axis: its offset from the pixel below the place, and the coefficients of its weight,
/// a polynomial of the distance, from the constant on.
type Tap = (f32, &'static [f32]);

/// The cubic convolution with a slope of -0.75, as ONNX defines it: within one pixel, and beyond.
const NEAR: &[f32] = &[1.0, 0.0, -2.25, 1.25];
const FAR: &[f32] = &[3.0, -6.0, 3.75, -0.75];

/// The way in which a place is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Nearest,
    Linear,
    Cubic,
}

impl Reading {
    const fn taps(self) -> &'static [Tap] {
        match self {
            Self::Nearest => &[(0.0, &[1.0])],
            Self::Linear => &[(0.0, &[1.0, -1.0]), (1.0, &[1.0, -1.0])],
            Self::Cubic => &[(-1.0, FAR), (0.0, NEAR), (1.0, NEAR), (2.0, FAR)],
        }
    }
}

/// What lies outside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outside {
    Zeros,
    Border,
    Reflected,
}

/// An image or volume as a grid sees it. Lists have a number for each column of the grid, the last axis first.
struct Sampler {
    extents: Vec<usize>,
    /// A place is a column times its factor, plus its middle.
    factors: Vec<f32>,
    middles: Vec<f32>,
    reading: Reading,
    outside: Outside,
}

impl Sampler {
    fn of(spatial: &[usize], align_corners: bool, reading: Reading, outside: Outside) -> Self {
        let extents: Vec<usize> = spatial.iter().rev().copied().collect();
        let reach = |&extent: &usize| if align_corners { extent - 1 } else { extent };
        let factors = extents.iter().map(|extent| reach(extent) as f32 / 2.0).collect();
        let middles = extents.iter().map(|&extent| (extent - 1) as f32 / 2.0).collect();
        Self { extents, factors, middles, reading, outside }
    }

    /// Returns a number for each tap and column, `[taps, 1, columns]`.
    fn of_taps(&self, number: impl Fn(Tap) -> f32) -> Value {
        let (taps, columns) = (self.reading.taps(), self.extents.len());
        let all = taps.len().pow(columns as u32);
        let at = |place: usize| number(taps[place / columns / taps.len().pow((place % columns) as u32) % taps.len()]);
        let values: Vec<f32> = (0..all * columns).map(at).collect();
        Value::Known(Array::of_floats(vec![all, 1, columns], ElementType::F32, &values))
    }

    /// Returns the weights of taps, `[batch, taps, points, 1]`, for places that are `parts` of a pixel behind one.
    fn weights(&self, ctx: &mut NodeLowering<'_>, parts: &Value) -> Result<Value, Problem> {
        let elem = ElementType::F32;
        let apart = two(ctx, Binary::Sub, &self.of_taps(|(offset, _)| offset), parts, elem)?;
        let distance = Value::Computed(one(ctx, Unary::Abs, &apart, elem)?);
        let degree = self.reading.taps()[0].1.len() - 1;
        let mut sum = two(ctx, Binary::Mul, &distance, &self.of_taps(|(_, by)| by[degree]), elem)?;
        for power in (0..degree).rev() {
            sum = two(ctx, Binary::Add, &Value::Computed(sum), &self.of_taps(|(_, by)| by[power]), elem)?;
            if power > 0 {
                sum = two(ctx, Binary::Mul, &Value::Computed(sum), &distance, elem)?;
            }
        }
        reduced_over(ctx, &sum, ReduceKind::Prod, &[3]).map(Value::Computed)
    }

    /// Returns the nearest pixels inside the image, and truth values for those that were inside, if others are zeros.
    fn inside(&self, ctx: &mut NodeLowering<'_>, pixels: Value) -> Result<(Value, Option<Value>), Problem> {
        let mut pixels = pixels;
        if self.outside == Outside::Reflected {
            // Only aligned corners of a single pixel have no extent.
            let inverse: Vec<f32> = self.factors.iter().map(|&by| if by == 0.0 { 0.0 } else { 1.0 / by }).collect();
            let centred = apply(ctx, Binary::Sub, &pixels, &list(&self.middles))?;
            let places = apply(ctx, Binary::Mul, &centred, &list(&inverse))?;
            let places = reflected(ctx, &places)?;
            let spread = apply(ctx, Binary::Mul, &places, &list(&self.factors))?;
            let exact = apply(ctx, Binary::Add, &spread, &list(&self.middles))?;
            let exact = ctx.compute(&exact)?;
            pixels = Value::Computed(one(ctx, Unary::Round, &exact, ElementType::F32)?);
        }
        let last: Vec<f32> = self.extents.iter().map(|&extent| (extent - 1) as f32).collect();
        let least = apply(ctx, Binary::Maximum, &pixels, &list(&vec![0.0; last.len()]))?;
        let near = apply(ctx, Binary::Minimum, &least, &list(&last))?;
        if self.outside != Outside::Zeros {
            return Ok((near, None));
        }
        let own = two(ctx, Binary::Equal, &near, &pixels, ElementType::Bool)?;
        let own = reduced_over(ctx, &own, ReduceKind::Min, &[3])?;
        Ok((near, Some(Value::Computed(own))))
    }

    /// Returns the numbers of pixels, counted through all batches.
    fn numbers(&self, ctx: &mut NodeLowering<'_>, pixels: &Value) -> Result<Computed, Problem> {
        let first = ctx.lowering.graph.nodes.len();
        let by: Vec<f32> =
            (0..self.extents.len()).map(|at| self.extents[..at].iter().product::<usize>() as f32).collect();
        let scaled = apply(ctx, Binary::Mul, pixels, &list(&by))?;
        let scaled = ctx.compute(&scaled)?;
        let sums = Value::Computed(reduced_over(ctx, &scaled, ReduceKind::Sum, &[3])?);
        let batch = sums.dims()[0];
        let whole: usize = self.extents.iter().product();
        ctx.budget_for(&[batch], 2 * size_of::<f32>(), 1)?;
        let begins: Vec<f32> = (0..batch).map(|item| (item * whole) as f32).collect();
        let begins = Value::Known(Array::of_floats(vec![batch, 1, 1, 1], ElementType::F32, &begins));
        let numbers = two(ctx, Binary::Add, &sums, &begins, ElementType::I64)?;
        mark_nodes(&mut ctx.lowering.graph, first, &numbers);
        Ok(numbers)
    }
}

/// Returns the places inside an image whose edges reflect those outside.
pub(super) fn reflected(ctx: &mut NodeLowering<'_>, grid: &Value) -> Result<Value, Problem> {
    let elem = ElementType::F32;
    // The reflections repeat with a distance of four, since an image reaches from -1 to 1.
    let mut node = |binary, a: &Value, b: &Value| two(ctx, binary, a, b, elem).map(Value::Computed);
    let raised = node(Binary::Add, grid, &math::scalar(1.0))?;
    let within = node(Binary::Mod, &raised, &math::scalar(4.0))?;
    let centred = node(Binary::Sub, &within, &math::scalar(2.0))?;
    let centred = ctx.compute(&centred)?;
    let distance = Value::Computed(one(ctx, Unary::Abs, &centred, elem)?);
    two(ctx, Binary::Sub, &math::scalar(1.0), &distance, elem).map(Value::Computed)
}

/// Returns a known list of numbers.
fn list(values: &[f32]) -> Value {
    Value::Known(Array::of_floats(vec![values.len()], ElementType::F32, values))
}

/// Samples `[batch, channels, ..]` at the places of a grid, `[batch, .., columns]`.
pub(super) fn sampled(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    grid: &Value,
    align_corners: bool,
    (reading, outside): (Reading, Outside),
) -> Result<Value, Problem> {
    let (&[batch, channels, ref spatial @ ..], &[also, ref around @ .., columns]) = (x.dims.as_slice(), grid.dims())
    else {
        return Err(Problem::malformed(format!("a grid of {:?} for {:?}", grid.dims(), x.dims)));
    };
    if also != batch || columns != spatial.len() || around.len() != columns {
        return Err(Problem::malformed(format!("a grid of {:?} for {:?}", grid.dims(), x.dims)));
    }
    let (pixels, points) = (count(&x.dims)? / channels, count(around)?);
    if pixels > EXACT {
        return Err(Problem::unsupported(format!("it looks up {pixels} pixels: at most {EXACT} are supported")));
    }
    let elem = ElementType::F32;
    let sampler = Sampler::of(spatial, align_corners, reading, outside);
    let grid = Value::Computed(ctx.compute(grid)?);
    let grid = reshaped(ctx.lowering, &grid, &[batch, 1, points, columns])?;
    let spread = Value::Computed(two(ctx, Binary::Mul, &grid, &list(&sampler.factors), elem)?);
    let place = two(ctx, Binary::Add, &spread, &list(&sampler.middles), elem)?;
    let to_pixel = if reading == Reading::Nearest { Unary::Round } else { Unary::Floor };
    let low = Value::Computed(one(ctx, to_pixel, &place, elem)?);
    let (all, mut weights) = match reading {
        Reading::Nearest => (low, None),
        _ => {
            let parts = Value::Computed(two(ctx, Binary::Sub, &Value::Computed(place), &low, elem)?);
            let weights = sampler.weights(ctx, &parts)?;
            let all = two(ctx, Binary::Add, &low, &sampler.of_taps(|(offset, _)| offset), elem)?;
            (Value::Computed(all), Some(weights))
        }
    };
    let (near, own) = sampler.inside(ctx, all)?;
    if let Some(own) = own {
        weights = Some(match weights {
            Some(weights) => Value::Computed(two(ctx, Binary::ZeroUnless, &own, &weights, elem)?),
            None => own,
        });
    }
    let numbers = sampler.numbers(ctx, &near)?;
    let taps = numbers.dims[1];
    let order: Vec<usize> = [0].into_iter().chain(2..x.dims.len()).chain([1]).collect();
    let table = transposed(ctx.lowering, &Value::Computed(x.clone()), &order)?;
    let table = reshaped(ctx.lowering, &table, &[pixels, channels])?;
    let found = picked_by(ctx, &table, 0, &numbers)?;
    let mut found = reshaped(ctx.lowering, &found, &[batch, taps, points, channels])?;
    if let Some(weights) = weights {
        found = Value::Computed(two(ctx, Binary::Mul, &found, &weights, x.elem)?);
    }
    let found = ctx.compute(&found)?;
    let sum = Value::Computed(reduced_over(ctx, &found, ReduceKind::Sum, &[1])?);
    let sum = reshaped(ctx.lowering, &sum, &[&[batch], around, &[channels]].concat())?;
    let back: Vec<usize> = [0, columns + 1].into_iter().chain(1..=columns).collect();
    transposed(ctx.lowering, &sum, &back)
}
