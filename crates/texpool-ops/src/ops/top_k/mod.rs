//! Finds the greatest or least channels of each pixel.

mod kernel;
mod reference;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// The `k` greatest or least channels of each pixel of `x`, sorted; among equal values, the lower channel comes
/// first.
///
/// ```
/// use texpool::graph::{Shape, TopK, infer};
///
/// // The five best classes of a thousand. A second node finds their scores.
/// let classes = TopK { k: 5, largest: true, indices: true };
/// let scores = TopK { indices: false, ..classes };
/// let x = Shape::new(1, 1, 1, 1000);
/// assert_eq!(infer(&classes.into(), &[x], x)?, Shape::new(1, 1, 1, 5));
/// assert_eq!(infer(&scores.into(), &[x], x)?, Shape::new(1, 1, 1, 5));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopK {
    /// Number of channels to find.
    pub k: usize,
    /// True for the greatest channels, false for the least.
    pub largest: bool,
    /// If true, the result contains channel indices instead of values.
    pub indices: bool,
}

impl OpSchema for TopK {
    fn name(&self) -> &'static str {
        "TOPK_V2"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        match self.k {
            0 => Err(ShapeError::Zero { what: "the number of channels taken" }),
            k if k > x.c => Err(ShapeError::Index { axis: 3, index: k as i128 - 1, extent: x.c }),
            k => Ok(Shape { c: k, ..x }),
        }
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
