//! Strided slice: takes elements at a fixed distance from a range of each axis.

mod execution;

use super::schema::{OpSchema, Origin, ShapeError, shapes::only};
use crate::graph::Shape;

/// Strided slice of `x`: output index `i` of an axis reads element `begin + i * stride`.
///
/// ```
/// use texpool::graph::{Shape, StridedSlice, infer};
///
/// // The image mirrored: columns 7, 6 and so on to 0.
/// let mirrored = StridedSlice { begin: [0, 0, 7, 0], stride: [1, 1, -1, 1] };
/// let x = Shape::new(1, 8, 8, 3);
/// assert_eq!(infer(&mirrored.into(), &[x], x)?, x);
/// let error = infer(&mirrored.into(), &[x], Shape { w: 9, ..x }).unwrap_err();
/// assert_eq!(error.to_string(), "axis 2: index -1 lies outside an extent of 8");
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedSlice {
    /// First index to read of each axis.
    pub begin: [usize; 4],
    /// Distance between indices; never zero.
    pub stride: [isize; 4],
}

impl OpSchema for StridedSlice {
    fn name(&self) -> &'static str {
        "STRIDED_SLICE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?.dims();
        for (axis, taken) in stated.dims().into_iter().enumerate() {
            if self.stride[axis] == 0 {
                return Err(ShapeError::Zero { what: "stride" });
            }
            // A stride may have any value of its type, so the product is computed in 128 bits, where it cannot
            // overflow.
            let first = self.begin[axis] as i128;
            let last = first + (taken as i128 - 1) * self.stride[axis] as i128;
            for index in [first, last] {
                if taken > 0 && !(0..x[axis] as i128).contains(&index) {
                    return Err(ShapeError::Index { axis, index, extent: x[axis] });
                }
            }
        }
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
