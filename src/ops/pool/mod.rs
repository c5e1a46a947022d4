//! 2-D pools: the greatest, the mean or the norm of a window.

mod kernel;
mod lowering;
mod reference;

use super::schema::{
    OpSchema, ShapeError,
    shapes::only,
    window::{every_window_meets_the_image, slide},
};
use crate::graph::{Padding, Shape};

/// Which pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// The greatest of the window's pixels that lie in the image.
    Max,
    /// The mean of the window's pixels that count.
    Average,
    /// The norm of the window's pixels that lie in the image: the `p`-th root of the sum of their `p`-th powers.
    Lp {
        /// The power, at least 1.
        p: u32,
    },
}

/// A 2-D pool of `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2d {
    /// Which.
    pub kind: PoolKind,
    /// Window `[y, x]`.
    pub window: [usize; 2],
    /// Stride `[y, x]`.
    pub stride: [usize; 2],
    /// Dilation `[y, x]`: the distance between neighbouring pixels of a window.
    pub dilation: [usize; 2],
    /// Border of the image that windows may reach into, however far the last ones hang over.
    pub padding: Padding,
    /// The part of the border whose pixels count, as zeros, in a mean; where there is none, only pixels of the image
    /// count. Pixels beyond it never do.
    pub counted: Option<Padding>,
}

impl Pool2d {
    /// One without dilation, of which only pixels of the image count.
    pub const fn plain(kind: PoolKind, window: [usize; 2], stride: [usize; 2], padding: Padding) -> Self {
        Self { kind, window, stride, dilation: [1, 1], padding, counted: None }
    }

    /// Whether its one window is the whole image of an operand of shape `x`, and its kind the mean.
    pub fn is_mean_of(&self, x: Shape) -> bool {
        let none = Padding::default();
        // Strides do not matter to one window, nor dilation: a window as large as the image and dilated would not fit.
        self.kind == PoolKind::Average
            && self.window == [x.h, x.w]
            && self.padding == none
            && self.counted.unwrap_or(none) == none
    }
}

/// Greatest power of a norm: kernels multiply so many times for each pixel of a window, and a file could ask for 2^32.
/// Beyond it a norm of floats is the greatest of them.
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
            PoolKind::Lp { p } if p > MAX_POWER => return Err(ShapeError::Range { what: "the power" }),
            PoolKind::Lp { .. } | PoolKind::Max | PoolKind::Average => {}
        }
        // A convolution answers its bias where a window holds padding alone; a pool would have nothing to answer.
        let [h, w] = slide(x, self.window, self.stride, self.dilation, self.padding)?;
        for (axis, what, extent, positions, before) in
            [(0, "window height", x.h, h, self.padding.top), (1, "window width", x.w, w, self.padding.left)]
        {
            let (window, steps) = ([self.window[axis], self.dilation[axis]], (positions, self.stride[axis]));
            every_window_meets_the_image(what, window, extent, before, steps)?;
        }
        Ok(Shape { h, w, ..x })
    }

    fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        &[]
    }

    fn moves_only(&self) -> bool {
        self.kind == PoolKind::Max
    }
}
