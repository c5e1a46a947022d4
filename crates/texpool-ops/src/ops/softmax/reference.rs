//! CPU reference of softmax over channels, and of its logarithm.

use super::Softmax;
use crate::{
    graph::Shape,
    ops::{
        binary::reference::broadcast,
        reference::{Operands, Reference, ReferenceError},
    },
};

impl Reference for Softmax {
    /// Computes `exp(beta * (x - max)) / sum` over the channels of each pixel, or its logarithm. Addends come first.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let mut x = operands.get(0)?;
        for index in 1.. {
            let Some(addend) = operands.optional(index)? else { break };
            x.data = broadcast(&x, &addend, out, |x, addend| x + addend).into();
        }
        let mut values = Vec::with_capacity(x.data.len());
        for pixel in x.data.chunks(x.shape.c.max(1)) {
            // `max` ignores NaN, but its power is NaN, which makes the sum NaN.
            let greatest = pixel.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let powers: Vec<f32> = pixel.iter().map(|x| ((x - greatest) * self.beta).exp()).collect();
            let sum: f32 = powers.iter().sum();
            match self.log {
                true => values.extend(pixel.iter().map(|x| (x - greatest) * self.beta - sum.ln())),
                false => values.extend(powers.iter().map(|power| power / sum)),
            }
        }
        Ok(values)
    }
}
