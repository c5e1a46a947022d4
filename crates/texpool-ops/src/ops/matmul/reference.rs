//! CPU reference of matrix products.

use super::MatMul;
use crate::{
    graph::Shape,
    ops::reference::{Operands, Reference, ReferenceError, View, each},
};

impl Reference for MatMul {
    /// Multiplies `a [B, H, M, K]` by `b [B, H, K, N]`, or by `[B, H, N, K]` if `transpose_b` is set.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let a = &operands.get(0)?;
        let b = &operands.get(1)?;
        // Maps every index to 0 if the extent is one, and leaves it unchanged otherwise.
        let repeated = |x: &View<'_>, batch: usize, row: usize| [batch.min(x.shape.b - 1), row.min(x.shape.h - 1)];
        Ok(each(out, |[batch, row, m, n]| {
            let [a_batch, a_row] = repeated(a, batch, row);
            let [b_batch, b_row] = repeated(b, batch, row);
            (0..a.shape.c).fold(0.0, |sum, k| {
                let [w, c] = if self.transpose_b { [n, k] } else { [k, n] };
                sum + a.at([a_batch, a_row, m, k]) * b.at([b_batch, b_row, w, c])
            })
        }))
    }
}
