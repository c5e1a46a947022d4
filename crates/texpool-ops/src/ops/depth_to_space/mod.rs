//! Depth to space: moves channels into blocks of pixels.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{multiple, only, times},
};
use crate::graph::Shape;

/// Order of the channels of a block of pixels.
///
/// ```
/// use texpool::graph::{DepthOrder, DepthToSpace, Shape, infer};
///
/// // PyTorch's `PixelShuffle(2)`.
/// let shuffle = DepthToSpace { block: [2, 2], order: DepthOrder::Crd };
/// let x = Shape::new(1, 8, 8, 12);
/// assert_eq!(infer(&shuffle.into(), &[x], x)?, Shape::new(1, 16, 16, 3));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepthOrder {
    /// The row in the block, the column, then the channel (TensorFlow's order).
    Dcr,
    /// The channel, then the row and the column in the block.
    Crd,
}

/// Moves channels of `x` to blocks of pixels.
///
/// A block of one column divides channels among rows, as attention does among its heads. With the order
/// [`Dcr`](DepthOrder::Dcr) and a multiple of four channels per row, every texel stays in its place.
///
/// ```
/// use texpool::graph::{DepthOrder, DepthToSpace, Shape, infer};
///
/// let op = DepthToSpace { block: [2, 2], order: DepthOrder::Dcr };
/// let x = Shape::new(1, 8, 8, 10);
/// let error = infer(&op.into(), &[x], x).unwrap_err();
/// assert_eq!(error.to_string(), "channels by the block's pixels: 10 is no multiple of 4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthToSpace {
    /// Rows and columns of a block.
    pub block: [usize; 2],
    /// Order of the channels of a block.
    pub order: DepthOrder,
}

impl OpSchema for DepthToSpace {
    fn name(&self) -> &'static str {
        "DEPTH_TO_SPACE"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        let [rows, columns] = self.block;
        let area = rows.checked_mul(columns).ok_or(ShapeError::Overflow { what: "block" })?;
        multiple("channels by the block's pixels", x.c, area)?;
        Ok(Shape::new(x.b, times(x.h, rows)?, times(x.w, columns)?, x.c / area))
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
