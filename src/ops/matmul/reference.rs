//! CPU reference of matrix products.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Multiplies `a [B, H, M, K]` by `b [B, H, K, N]`, or by `[B, H, N, K]` if `transpose_b` is set.
pub(crate) fn matmul(a: &View<'_>, b: &View<'_>, transpose_b: bool, out: Shape) -> Vec<f32> {
    // Maps every index to 0 if the extent is one, and leaves it unchanged otherwise.
    let repeated = |x: &View<'_>, batch: usize, row: usize| [batch.min(x.shape.b - 1), row.min(x.shape.h - 1)];
    each(out, |[batch, row, m, n]| {
        let [a_batch, a_row] = repeated(a, batch, row);
        let [b_batch, b_row] = repeated(b, batch, row);
        (0..a.shape.c).fold(0.0, |sum, k| {
            let [w, c] = if transpose_b { [n, k] } else { [k, n] };
            sum + a.at([a_batch, a_row, m, k]) * b.at([b_batch, b_row, w, c])
        })
    })
}
