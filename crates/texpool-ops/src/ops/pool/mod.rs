//! 2-D pools: the maximum, the mean or the norm of a window.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::only,
    window::{every_window_meets_the_image, slide},
};
use crate::graph::{Padding, Shape};

/// Function of a pool.
///
/// ```
/// use texpool::graph::{Op, Padding, Pool2d, PoolKind, Shape, infer};
///
/// let pool = |kind| Op::from(Pool2d::plain(kind, [2, 2], [2, 2], Padding::default()));
/// assert_eq!(pool(PoolKind::Lp { p: 2 }).name(), "L2_POOL_2D");
/// let x = Shape::new(1, 8, 8, 3);
/// assert_eq!(infer(&pool(PoolKind::Lp { p: 0 }), &[x], x).unwrap_err().to_string(), "power is zero");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// Maximum of the window's pixels inside the image.
    Max,
    /// Mean of the window's pixels that count.
    Average,
    /// Norm of the window's pixels inside the image: the `p`-th root of the sum of their `p`-th powers.
    Lp {
        /// The power, at least 1.
        p: u32,
    },
}

/// A 2-D pool of `x`.
///
/// ```
/// use texpool::graph::{Padding, Pool2d, PoolKind, Shape, infer};
///
/// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
/// let plain = Pool2d::plain(PoolKind::Average, [3, 3], [2, 2], padding);
/// // ONNX's `count_include_pad`: the border counts as zeros.
/// let counting = Pool2d { counted: Some(padding), ..plain };
/// let x = Shape::new(1, 7, 7, 64);
/// assert_eq!(infer(&counting.into(), &[x], x)?, Shape::new(1, 4, 4, 64));
/// assert!(Pool2d::plain(PoolKind::Average, [7, 7], [1, 1], Padding::default()).is_mean_of(x));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2d {
    /// Function of the pool.
    pub kind: PoolKind,
    /// Window `[y, x]`.
    pub window: [usize; 2],
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`: the distance between neighbouring pixels of a window.
    pub dilation: [usize; 2],
    /// Border of the image that windows may extend into, including any overhang of the last windows.
    pub padding: Padding,
    /// Part of the border whose pixels count as zeros in a mean. If `None`, only pixels of the image count. Pixels
    /// beyond this part never count.
    pub counted: Option<Padding>,
}

/// Reduced axes of a pool over the whole image, which is the mean over height and width.
const IMAGE: [bool; 4] = [false, true, true, false];

impl Pool2d {
    /// Creates a pool without dilation in which only pixels of the image count.
    pub const fn plain(kind: PoolKind, window: [usize; 2], stride: [usize; 2], padding: Padding) -> Self {
        Self { kind, window, stride, dilation: [1, 1], padding, counted: None }
    }

    /// Returns whether this is the mean over a single window that covers the whole image of an operand of shape `x`.
    pub fn is_mean_of(&self, x: Shape) -> bool {
        let none = Padding::default();
        // Strides do not matter for a single window. Neither does dilation, because a dilated window of the image's
        // size would not fit.
        self.kind == PoolKind::Average
            && self.window == [x.h, x.w]
            && self.padding == none
            && self.counted.unwrap_or(none) == none
    }
}

/// Upper limit on the power of a norm. Kernels multiply this many times for each pixel of a window, and a file could
/// request 2^32. Beyond this power, a norm of floats equals their maximum.
const MAX_POWER: u32 = 256;

impl OpSchema for Pool2d {
    fn name(&self) -> &'static str {
        match self.kind {
            PoolKind::Max => "MAX_POOL_2D",
            PoolKind::Average => "AVERAGE_POOL_2D",
            PoolKind::Lp { p: 2 } => "L2_POOL_2D",
            PoolKind::Lp { .. } => "LP_POOL_2D",
        }
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let x = only(inputs)?;
        match self.kind {
            PoolKind::Lp { p: 0 } => return Err(ShapeError::Zero { what: "power" }),
            PoolKind::Lp { p } if p > MAX_POWER => {
                return Err(ShapeError::Limit { what: "the power", number: p.into(), most: MAX_POWER.into() });
            }
            PoolKind::Lp { .. } | PoolKind::Max | PoolKind::Average => {}
        }
        // A convolution returns its bias if a window contains only padding; a pool would have no value to return.
        let [h, w] = slide(x, self.window, self.stride, self.dilation, self.padding)?;
        for (axis, what, extent, positions, before) in
            [(0, "window height", x.h, h, self.padding.top), (1, "window width", x.w, w, self.padding.left)]
        {
            let (window, steps) = ([self.window[axis], self.dilation[axis]], (positions, self.stride[axis]));
            every_window_meets_the_image(what, window, extent, before, steps)?;
        }
        Ok(Shape { h, w, ..x })
    }

    fn origin(&self) -> Origin {
        if self.kind == PoolKind::Max { Origin::Moved } else { Origin::Computed }
    }
}
