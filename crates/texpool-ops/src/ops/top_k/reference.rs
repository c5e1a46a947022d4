//! CPU reference of top-k.

use super::TopK;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError},
};

impl Reference for TopK {
    /// Returns the `k` greatest or least channels of each pixel in order, as values or as indices.
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let mut values = Vec::with_capacity(x.data.len());
        for pixel in x.data.chunks(x.shape.c.max(1)) {
            let mut order: Vec<usize> = (0..pixel.len()).collect();
            // The sort is stable, so equal values stay in channel order.
            order.sort_by(|&a, &b| {
                let (a, b) = if self.largest { (b, a) } else { (a, b) };
                // Both zeros compare equal, and NaN of either sign is greater than all other values.
                let [a, b] = [pixel[a], pixel[b]].map(|x| if x.is_nan() { f32::NAN } else { x + 0.0 });
                a.total_cmp(&b)
            });
            values.extend(order.iter().take(self.k).map(|&c| if self.indices { c as f32 } else { pixel[c] }));
        }
        Ok(values)
    }
}
