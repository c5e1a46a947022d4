//! Maps elements of a pad's result to elements of its operand, one axis at a time.

/// Values of the elements around a tensor.
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
