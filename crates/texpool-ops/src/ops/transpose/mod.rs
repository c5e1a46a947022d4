//! Transpose: reorders the axes.

mod execution;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Reorders the axes of `x`: output axis `i` is input axis `perm[i]`.
///
/// ```
/// use texpool::graph::{Shape, Transpose, infer};
///
/// // `[N, C, H, W]` to `[N, H, W, C]`.
/// let x = Shape::new(1, 3, 224, 200);
/// assert_eq!(infer(&Transpose { perm: [0, 2, 3, 1] }.into(), &[x], x)?, Shape::new(1, 224, 200, 3));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transpose {
    /// A permutation of 0 to 3.
    pub perm: [usize; 4],
}

impl OpSchema for Transpose {
    fn name(&self) -> &'static str {
        "TRANSPOSE"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let mut sorted = self.perm;
        sorted.sort_unstable();
        if sorted != [0, 1, 2, 3] {
            return Err(ShapeError::Axes { what: "the permutation" });
        }
        let dims = only(inputs)?.dims();
        Ok(self.perm.map(|axis| dims[axis]).into())
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
