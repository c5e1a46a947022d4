//! CPU reference of the search for flags.

use super::Locate;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for Locate {
    /// Finds the first place whose running sum is greater than the number of the result.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let (sums, ends) = (&operands.get(0)?, &operands.get(1)?);
        let width = sums.shape.c;
        Ok(each(out, |[.., number]| {
            let number = number as f32;
            let place = ends.data.iter().position(|&end| end > number).map_or(out.c, |row| {
                let before = if row == 0 { 0.0 } else { ends.data[row - 1] };
                let own = &sums.data[row * width..][..width];
                row * width + own.iter().position(|&sum| sum > number - before).unwrap_or(width)
            });
            place.min(out.c - 1) as f32
        }))
    }
}
