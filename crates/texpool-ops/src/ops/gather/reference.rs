//! CPU reference of looking up elements along an axis.

use super::Gather;
use crate::{
    graph::Shape,
    ops::{
        gather::named,
        reference::{Operands, Reference, ReferenceError, each},
    },
};

impl Reference for Gather {
    /// Returns the elements along `axis` that the indices select.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let indices = &operands.get(1)?;
        Ok(each(out, |mut index| {
            index[self.axis] = named(indices.data[index[self.axis]], x.shape.dims()[self.axis]);
            x.at(index)
        }))
    }
}
