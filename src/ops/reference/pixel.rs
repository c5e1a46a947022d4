//! Functions that look at one pixel at a time: of one value, of two with broadcasting, softmax over channels.

use super::view::{View, each};
use crate::graph::{Shape, Unary, evaluate};

/// A function of each value.
pub(crate) fn one(x: &View<'_>, unary: Unary) -> Vec<f32> {
    x.data.iter().map(|&x| evaluate::unary(unary, x)).collect()
}

/// A function of two values; an extent of one is repeated.
pub(crate) fn two(a: &View<'_>, b: &View<'_>, out: Shape, function: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    each(out, |index| function(repeated(a, index), repeated(b, index)))
}

fn repeated(x: &View<'_>, index: [usize; 4]) -> f32 {
    let extents = x.shape.dims();
    x.at(std::array::from_fn(|axis| if extents[axis] == 1 { 0 } else { index[axis] }))
}

/// `exp(beta * (x - max)) / sum` over the channels of each pixel, or its logarithm.
pub(crate) fn softmax(x: &View<'_>, beta: f32, log: bool) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        let greatest = pixel.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f32> = pixel.iter().map(|x| ((x - greatest) * beta).exp()).collect();
        let sum: f32 = powers.iter().sum();
        match log {
            true => values.extend(pixel.iter().map(|x| (x - greatest) * beta - sum.ln())),
            false => values.extend(powers.iter().map(|power| power / sum)),
        }
    }
    values
}
