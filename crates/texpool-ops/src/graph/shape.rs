//! Extents of a tensor, and its size in texels.

use std::fmt;

/// Upper limit on the number of elements of a tensor.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// Extents `[B, H, W, C]` of a tensor. A tensor of lower rank has ones in front, so that broadcasting needs no rank:
/// a vector of 10 is `[1, 1, 1, 10]`, a 7 by 10 matrix `[1, 1, 7, 10]`.
///
/// ```
/// use texpool::graph::Shape;
///
/// let shape = Shape::new(2, 4, 5, 6);
/// assert_eq!((shape.len(), shape.pixels(), shape.dims()), (240, 40, [2, 4, 5, 6]));
/// // Six channels take two texels of each pixel.
/// assert_eq!((shape.rows(), shape.slices(), shape.row_texels()), (8, 2, 10));
/// assert_eq!(shape.index(1, 0, 0, 2), 122);
/// assert_eq!(shape.to_string(), "2x4x5x6");
/// assert_eq!(Shape::new(usize::MAX, 2, 1, 1).checked_len(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Batch.
    pub b: usize,
    /// Height.
    pub h: usize,
    /// Width.
    pub w: usize,
    /// Channels.
    pub c: usize,
}

impl Shape {
    /// The shape `[b, h, w, c]`.
    pub const fn new(b: usize, h: usize, w: usize, c: usize) -> Self {
        Self { b, h, w, c }
    }

    /// Creates a shape from extents of rank up to four, with ones added in front. Longer lists are accepted if the
    /// surplus extents in front are ones; otherwise returns `None`.
    ///
    /// ```
    /// use texpool::graph::Shape;
    ///
    /// assert_eq!(Shape::from_dims(&[7, 10]), Some(Shape::new(1, 1, 7, 10)));
    /// assert_eq!(Shape::from_dims(&[1, 2, 3, 4, 5]), Some(Shape::new(2, 3, 4, 5)));
    /// assert_eq!(Shape::from_dims(&[2, 2, 3, 4, 5]), None);
    /// ```
    pub fn from_dims(dims: &[usize]) -> Option<Self> {
        let extra = dims.len().saturating_sub(4);
        if dims[..extra].iter().any(|&d| d != 1) {
            return None;
        }
        let mut all = [1; 4];
        let inner = &dims[extra..];
        all[4 - inner.len()..].copy_from_slice(inner);
        Some(Self::from(all))
    }

    /// Number of elements, `B * H * W * C`, or `None` if it overflows.
    pub fn checked_len(&self) -> Option<usize> {
        self.b.checked_mul(self.h)?.checked_mul(self.w)?.checked_mul(self.c)
    }

    /// Number of elements. Importers and the builder refuse shapes for which this overflows.
    pub const fn len(&self) -> usize {
        self.b * self.h * self.w * self.c
    }

    /// Returns whether an extent is zero.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Channel slices, `ceil(C / 4)`.
    pub const fn slices(&self) -> usize {
        self.c.div_ceil(4)
    }

    /// Rows, `B * H`.
    pub const fn rows(&self) -> usize {
        self.b * self.h
    }

    /// Texels of a row, `ceil(C / 4) * W`.
    pub const fn row_texels(&self) -> usize {
        self.slices() * self.w
    }

    /// Texels of the whole tensor.
    ///
    /// ```
    /// use texpool::graph::Shape;
    ///
    /// // Two slices of four channels for each of 56 x 56 pixels.
    /// assert_eq!(Shape::new(1, 56, 56, 6).texels(), 2 * 56 * 56);
    /// ```
    pub const fn texels(&self) -> usize {
        self.rows() * self.row_texels()
    }

    /// Pixels, `B * H * W`.
    pub const fn pixels(&self) -> usize {
        self.b * self.h * self.w
    }

    /// The extents in order.
    pub const fn dims(&self) -> [usize; 4] {
        [self.b, self.h, self.w, self.c]
    }

    /// Index of an element in dense `B, H, W, C` order.
    pub const fn index(&self, b: usize, h: usize, w: usize, c: usize) -> usize {
        ((b * self.h + h) * self.w + w) * self.c + c
    }
}

impl From<[usize; 4]> for Shape {
    fn from([b, h, w, c]: [usize; 4]) -> Self {
        Self { b, h, w, c }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}x{}", self.b, self.h, self.w, self.c)
    }
}
