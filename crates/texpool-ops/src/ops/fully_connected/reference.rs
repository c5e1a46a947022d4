//! CPU reference of fully connected layers.

use super::FullyConnected;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, bias_of, dot},
};

impl Reference for FullyConnected {
    /// Computes a layer with weights `[O, I]`; every `I` values of `x` give one row of the result.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let weights = &operands.get(1)?;
        let bias = operands.optional(2)?;
        let depth = weights.shape.c.max(1);
        let mut values = Vec::with_capacity(out.len());
        for row in x.data.chunks(depth) {
            for (o, column) in weights.data.chunks(depth).enumerate() {
                values.push(dot(row, column) + bias_of(bias.as_ref(), o));
            }
        }
        Ok(values)
    }
}
