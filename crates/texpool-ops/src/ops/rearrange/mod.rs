//! Rearrange: copies elements at given strides.

mod compose;
mod execution;

use std::ops::Range;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{count, only, same},
};
use crate::graph::Shape;

/// An axis of a [`Rearrange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedAxis {
    /// Number of indices.
    pub extent: usize,
    /// Distance in `x` between elements of neighbouring indices, in elements. Zero repeats elements.
    pub stride: isize,
}

/// Copies elements of `x` as a strided view of an array does. In dense order, the result has the elements of an array with
/// `axes`, outermost first; the element at index `i` is element `offset + sum(i[a] * axes[a].stride)` of `x`.
///
/// Reshapes, transposes, slices, repetitions and moves between pixels and channels are such copies, and so are chains of them:
/// [`Rearrange::then`] composes them.
///
/// ```
/// use texpool::graph::{Op, Rearrange, Shape, Transpose, infer};
///
/// // An image of 56 x 56 pixels, divided into 64 windows of 7 x 7.
/// let (image, windows) = (Shape::new(1, 56, 56, 96), Shape::new(1, 64, 49, 96));
/// let (split, turned) = (Shape::new(8, 7, 8, 672), Shape::new(8, 8, 7, 672));
/// let turn = Op::Transpose(Transpose { perm: [0, 2, 1, 3] });
/// let moved = Rearrange::dense(image.len()).then(&turn, split, turned).unwrap();
/// assert_eq!(moved.axes.iter().map(|axis| axis.extent).collect::<Vec<_>>(), [8, 8, 7, 672]);
/// assert_eq!(infer(&moved.into(), &[image], windows)?, windows);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rearrange {
    /// Element of `x` that comes first in the result.
    pub offset: usize,
    /// One to [`Rearrange::MAX_AXES`] axes, outermost first.
    pub axes: Vec<StridedAxis>,
}

impl Rearrange {
    /// Most axes.
    pub const MAX_AXES: usize = 8;

    /// Returns whether the copy of an operand with this number of elements is a reshape: all of them, in their order.
    pub fn is_reshape_of(&self, elements: usize) -> bool {
        self.offset == 0 && self.axes == [StridedAxis { extent: elements, stride: 1 }]
    }

    /// Divides the axes into those of runs of `run` elements of the result, and those around them. `None` if `run` is no
    /// product of inner axes and a part of the next.
    pub(crate) fn divided(&self, run: usize) -> Option<Divided> {
        let (mut left, mut within, mut around) = (run, 0..0, Vec::new());
        for axis in self.axes.iter().rev() {
            let taken = match axis.extent {
                extent if left.is_multiple_of(extent) => extent,
                extent if extent.is_multiple_of(left) => left,
                _ => return None,
            };
            let far = (taken as isize - 1) * axis.stride;
            within = within.start + far.min(0)..within.end + far.max(0);
            left /= taken;
            if taken < axis.extent {
                around.push(axis.stride * taken as isize);
            }
        }
        Some(Divided { within, around })
    }
}

/// The axes of a [`Rearrange`], divided at runs of elements of the result.
pub(crate) struct Divided {
    /// Distances in the operand from the first element of a run to its least and its greatest element.
    pub(crate) within: Range<isize>,
    /// Strides of the axes that count runs.
    pub(crate) around: Vec<isize>,
}

impl OpSchema for Rearrange {
    fn name(&self) -> &'static str {
        "REARRANGE"
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let x = count(only(inputs)?, "elements of the input")?;
        let expected = count(stated, "elements of the output")?;
        if self.axes.is_empty() || self.axes.len() > Self::MAX_AXES {
            return Err(ShapeError::Axes { what: "the number of strided axes" });
        }
        // Strides may have any value of their type, so the products are computed in 128 bits, where the sum of eight cannot
        // overflow.
        let (mut elements, mut least, mut most) = (1usize, self.offset as i128, self.offset as i128);
        for axis in &self.axes {
            if axis.extent == 0 {
                return Err(ShapeError::Zero { what: "the extent of a strided axis" });
            }
            elements = elements.saturating_mul(axis.extent);
            let reach = (axis.extent as i128 - 1) * axis.stride as i128;
            (least, most) = (least + reach.min(0), most + reach.max(0));
        }
        same("elements", elements, expected)?;
        for index in [least, most] {
            if !(0..x as i128).contains(&index) {
                return Err(ShapeError::Index { axis: 0, index, extent: x });
            }
        }
        Ok(stated)
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}
