//! CPU reference of running sums.

use super::CumSum;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for CumSum {
    /// Computes running sums along an axis.
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let extent = x.shape.dims()[self.axis];
        Ok(each(x.shape, |index| {
            let at = index[self.axis];
            let own = usize::from(!self.exclusive);
            let before: Vec<usize> = match self.reverse {
                // Starts at the end like the kernel, because a different order of addition rounds differently.
                true => (at + 1 - own..extent).rev().collect(),
                false => (0..at + own).collect(),
            };
            before.into_iter().fold(0.0, |sum, i| {
                let mut from = index;
                from[self.axis] = i;
                sum + x.at(from)
            })
        }))
    }
}
