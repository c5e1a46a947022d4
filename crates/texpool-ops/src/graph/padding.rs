//! Borders of images.

/// Padding around an image, in rows and columns. Convolutions pad with zeros; pools ignore the padding.
///
/// `bottom` and `right` follow from the output's extents. They are stored because the file states them.
///
/// ```
/// use texpool::graph::{Conv2d, Padding, Shape, infer};
///
/// // A pixel on each side keeps the extents under a window of 3 by 3.
/// let padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };
/// let conv = Conv2d { stride: [1, 1], dilation: [1, 1], padding, groups: 1 };
/// let (x, weights) = (Shape::new(1, 56, 56, 64), Shape::new(64, 3, 3, 64));
/// assert_eq!(infer(&conv.into(), &[x, weights], x)?, x);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Padding {
    /// Rows above.
    pub top: usize,
    /// Rows below.
    pub bottom: usize,
    /// Columns before.
    pub left: usize,
    /// Columns after.
    pub right: usize,
}
