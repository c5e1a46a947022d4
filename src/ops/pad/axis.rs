//! What a pad puts around a tensor, and which element of the tensor that is. Knows one axis at a time.

/// What the elements around a tensor hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One value.
    Constant(f32),
    /// The elements mirrored at the first and the last, which are not repeated.
    Reflect,
    /// The elements mirrored in front of the first and behind the last, which are repeated.
    Symmetric,
    /// The first and the last element.
    Edge,
    /// The elements from the other end.
    Wrap,
}

impl PadMode {
    /// The element of an axis of `extent` that index `index` holds, `index` counted from the first element; `None`
    /// where it is the constant.
    pub fn source(self, index: isize, extent: usize) -> Option<usize> {
        // Where all was cut off, only a constant is left to fill with.
        let last = extent.checked_sub(1)?;
        if let Some(inside) = usize::try_from(index).ok().filter(|&i| i <= last) {
            return Some(inside);
        }
        let around = |period: usize| index.rem_euclid(period as isize) as usize;
        match self {
            Self::Constant(_) => None,
            Self::Edge => Some(if index < 0 { 0 } else { last }),
            Self::Wrap => Some(around(extent)),
            // A single element has no others to mirror, and a period of 0.
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

/// One axis of a pad: what is cut off is cut first, then the rest is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadAxis {
    /// First element that is kept.
    pub first: usize,
    /// How many are kept.
    pub kept: usize,
    /// Elements put in front of them.
    pub front: usize,
}

impl PadAxis {
    /// The axis of an operand of `extent` padded by `before` and `after`, of which negative ones cut off. `None` where
    /// more is cut off than there is.
    pub fn new(extent: usize, before: isize, after: isize) -> Option<Self> {
        let cut = |amount: isize| if amount < 0 { amount.unsigned_abs() } else { 0 };
        let kept = extent.checked_sub(cut(before))?.checked_sub(cut(after))?;
        Some(Self { first: cut(before), kept, front: before.max(0).unsigned_abs() })
    }

    /// The operand's element that element `index` of the result is; `None` where it is the constant.
    pub fn source(self, mode: PadMode, index: usize) -> Option<usize> {
        let at = index as isize - self.front as isize;
        mode.source(at, self.kept).map(|at| at + self.first)
    }
}
