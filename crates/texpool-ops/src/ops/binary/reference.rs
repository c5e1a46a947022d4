//! CPU reference of functions of two values, with broadcasting.

use super::Binary;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, View, each},
};

impl Reference for Binary {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(broadcast(&operands.get(0)?, &operands.get(1)?, out, |a, b| self.of(a, b)))
    }
}

/// Applies a function of two values; an extent of one is repeated.
pub(crate) fn broadcast(a: &View<'_>, b: &View<'_>, out: Shape, function: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    each(out, |index| function(repeated(a, index), repeated(b, index)))
}

fn repeated(x: &View<'_>, index: [usize; 4]) -> f32 {
    let extents = x.shape.dims();
    x.at(std::array::from_fn(|axis| if extents[axis] == 1 { 0 } else { index[axis] }))
}
