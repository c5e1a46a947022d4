//! CPU reference of softmax over channels, and of its logarithm.

use crate::ops::reference::view::View;

/// Computes `exp(beta * (x - max)) / sum` over the channels of each pixel, or its logarithm.
pub(crate) fn softmax(x: &View<'_>, beta: f32, log: bool) -> Vec<f32> {
    let mut values = Vec::with_capacity(x.data.len());
    for pixel in x.data.chunks(x.shape.c.max(1)) {
        // `max` ignores NaN, but its power is NaN, which makes the sum NaN.
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
