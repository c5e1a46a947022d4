//! CPU reference of functions of one value.

use super::Unary;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError},
};

impl Reference for Unary {
    /// Applies a function to each value.
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        Ok(x.data.iter().map(|&x| self.of(x)).collect())
    }
}
