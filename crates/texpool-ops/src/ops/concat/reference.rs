//! CPU reference of concatenation.

use super::Concat;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for Concat {
    /// Joins the parts along an axis.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let parts = &operands.all()?;
        let mut values = vec![0.0; out.len()];
        let mut offset = 0;
        for part in parts {
            let mut data = part.data.iter();
            each(part.shape, |mut index| {
                index[self.axis] += offset;
                let [b, h, w, c] = index;
                let value = data.next().copied().unwrap_or_default();
                values[out.index(b, h, w, c)] = value;
                value
            });
            offset += part.shape.dims()[self.axis];
        }
        Ok(values)
    }
}
