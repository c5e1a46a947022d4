//! CPU reference of sums of quantised tensors, with broadcasting.

use super::QuantizedAdd;
use crate::{
    graph::Shape,
    ops::{
        binary::reference::broadcast,
        reference::{Operands, Reference, ReferenceError},
    },
};

impl Reference for QuantizedAdd {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(broadcast(&operands.get(0)?, &operands.get(1)?, out, |a, b| self.of(a, b)))
    }
}
