//! Matrix products of two tensors, one of which may be a constant.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{broadcast, pair, same},
};
use crate::graph::Shape;

/// `a [B, H, M, K], b [B, H, K, N]`; the result is `[B, H, M, N]`. B and H broadcast; either may be a constant.
///
/// ```
/// use texpool::graph::{MatMul, Shape, infer};
///
/// // Scores of attention with 8 heads: 16 queries by 20 keys of 64 values.
/// let (queries, keys) = (Shape::new(1, 8, 16, 64), Shape::new(1, 8, 20, 64));
/// let scores = infer(&MatMul { transpose_b: true }.into(), &[queries, keys], queries)?;
/// assert_eq!(scores, Shape::new(1, 8, 16, 20));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatMul {
    /// If true, `b` is `[B, H, N, K]`.
    pub transpose_b: bool,
}

impl OpSchema for MatMul {
    fn name(&self) -> &'static str {
        "BATCH_MATMUL"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (a, b) = pair(inputs)?;
        let (depth, columns) = if self.transpose_b { (b.c, b.w) } else { (b.w, b.c) };
        same("columns of the first matrix and rows of the second", a.c, depth)?;
        let outer = broadcast(Shape { w: 1, c: 1, ..a }, Shape { w: 1, c: 1, ..b })?;
        Ok(Shape { w: a.w, c: columns, ..outer })
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
