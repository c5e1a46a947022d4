//! Pad: adds elements around each axis, or cuts elements off.

mod execution;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{AXIS, only},
};
use crate::graph::Shape;

/// Adds elements around each axis of `x`, or cuts elements off.
///
/// ```
/// use texpool::graph::{Pad, PadMode, Shape, infer};
///
/// // A border above and below, and a column less on the left.
/// let pad = Pad { before: [0, 1, -1, 0], after: [0, 1, 0, 0], mode: PadMode::Constant(0.0) };
/// let x = Shape::new(1, 8, 8, 3);
/// assert_eq!(infer(&pad.into(), &[x], x)?, Shape::new(1, 10, 7, 3));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pad {
    /// Elements added before each axis; a negative number cuts that many off.
    pub before: [isize; 4],
    /// Elements added after each axis; a negative number cuts that many off.
    pub after: [isize; 4],
    /// Values of the added elements.
    pub mode: PadMode,
}

impl OpSchema for Pad {
    fn name(&self) -> &'static str {
        "PAD"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let mut dims = only(inputs)?.dims();
        for axis in 0..4 {
            let around = [self.before[axis], self.after[axis]];
            let kept = PadAxis::new(dims[axis], around[0], around[1]).map(|axis| axis.kept);
            // If a whole axis is cut off, a constant can fill it, but no elements are left to mirror or repeat.
            let filled = matches!(self.mode, PadMode::Constant(_)) && around.iter().any(|&n| n > 0);
            if kept.is_none() || kept == Some(0) && !filled {
                return Err(ShapeError::Cut { axis, before: around[0], after: around[1], extent: dims[axis] });
            }
            dims[axis] = around
                .iter()
                .try_fold(dims[axis] as isize, |extent, &n| extent.checked_add(n))
                .and_then(|extent| usize::try_from(extent).ok())
                .ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
        }
        Ok(dims.into())
    }

    fn origin(&self) -> Origin {
        Origin::Moved
    }
}

/// Values of the elements around a tensor.
///
/// ```
/// use texpool::graph::PadMode;
///
/// // The element before the first of four.
/// let before = |mode: PadMode| mode.source(-1, 4);
/// assert_eq!((before(PadMode::Edge), before(PadMode::Symmetric)), (Some(0), Some(0)));
/// assert_eq!((before(PadMode::Reflect), before(PadMode::Wrap)), (Some(1), Some(3)));
/// assert_eq!(before(PadMode::Constant(0.0)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One value.
    Constant(f32),
    /// The elements mirrored at the first and the last element, which are not repeated.
    Reflect,
    /// The elements mirrored before the first and after the last element, which are repeated.
    Symmetric,
    /// The first and the last element.
    Edge,
    /// The elements from the other end.
    Wrap,
}

impl PadMode {
    /// Returns the element at `index`, which counts from the first of `extent` elements and may be outside. `None`
    /// means the constant.
    pub fn source(self, index: isize, extent: usize) -> Option<usize> {
        // If everything was cut off, only a constant can fill the axis.
        let last = extent.checked_sub(1)?;
        if let Some(inside) = usize::try_from(index).ok().filter(|&i| i <= last) {
            return Some(inside);
        }
        let around = |period: usize| index.rem_euclid(period as isize) as usize;
        match self {
            Self::Constant(_) => None,
            Self::Edge => Some(if index < 0 { 0 } else { last }),
            Self::Wrap => Some(around(extent)),
            // A single element has no others to mirror, and its period would be 0.
            Self::Reflect if last == 0 => Some(0),
            Self::Reflect => {
                let at = around(2 * last);
                Some(at.min(2 * last - at))
            }
            Self::Symmetric => {
                let at = around(2 * extent);
                Some(at.min(2 * extent - 1 - at))
            }
        }
    }
}

/// One axis of a pad: elements are cut off first, then the rest is padded.
///
/// ```
/// use texpool::graph::{PadAxis, PadMode};
///
/// // The first of five elements is cut off, and two are added behind the last.
/// let axis = PadAxis::new(5, -1, 2).unwrap();
/// assert_eq!((axis.first, axis.kept, axis.front), (1, 4, 0));
/// assert_eq!((axis.source(PadMode::Edge, 0), axis.source(PadMode::Edge, 5)), (Some(1), Some(4)));
/// assert_eq!(axis.source(PadMode::Constant(0.0), 5), None);
/// assert!(PadAxis::new(5, -3, -3).is_none()); // cuts off six of five
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadAxis {
    /// First element that is not cut off.
    pub first: usize,
    /// Number of elements that are not cut off.
    pub kept: usize,
    /// Number of elements added before them.
    pub front: usize,
}

impl PadAxis {
    /// Creates the axis of an operand of `extent`, padded by `before` and `after`; negative numbers cut off. Returns
    /// `None` if more is cut off than the axis has.
    pub fn new(extent: usize, before: isize, after: isize) -> Option<Self> {
        let cut = |amount: isize| if amount < 0 { amount.unsigned_abs() } else { 0 };
        let kept = extent.checked_sub(cut(before))?.checked_sub(cut(after))?;
        Some(Self { first: cut(before), kept, front: before.max(0).unsigned_abs() })
    }

    /// Returns the operand's element at `index` of the result, or `None` for the constant.
    pub fn source(self, mode: PadMode, index: usize) -> Option<usize> {
        let at = index as isize - self.front as isize;
        mode.source(at, self.kept).map(|at| at + self.first)
    }
}
