//! Finds the places of flags by their running sums.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{AXIS, count, pair, same},
};
use crate::graph::Shape;

/// `sums [1, h, 1, w], ends [1, 1, 1, h]`: the numbers of the places that have a flag, in their order. A row of `sums`
/// has the running sums of `w` flags, which are zeros and ones; `ends` has the running sums over whole rows. Results
/// behind the last flag are the number of the last place. The caller states the number of results.
///
/// ```
/// use texpool::graph::{Op, Shape, infer};
///
/// // Which of 640,000 elements are not zero.
/// let (sums, ends) = (Shape::new(1, 800, 1, 800), Shape::new(1, 1, 1, 800));
/// let places = Shape::new(1, 1, 1, 640_000);
/// assert_eq!(infer(&Op::Locate, &[sums, ends], places)?, places);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locate;

impl OpSchema for Locate {
    fn name(&self) -> &'static str {
        "LOCATE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let (sums, ends) = pair(inputs)?;
        for (what, expected, found) in [
            ("batches and columns of the sums", 1, sums.b * sums.w),
            ("outer extents of the ends", 1, ends.b * ends.h * ends.w),
            ("ends of the rows", sums.h, ends.c),
            ("outer extents of the places", 1, stated.b * stated.h * stated.w),
        ] {
            same(what, expected, found)?;
        }
        let places = count(sums, AXIS[3])?;
        if stated.c > places {
            return Err(ShapeError::Index { axis: 3, index: stated.c as i128 - 1, extent: places });
        }
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
