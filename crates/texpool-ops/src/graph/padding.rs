//! Borders of images.

/// Padding around an image, in rows and columns. Convolutions pad with zeros; pools ignore the padding.
///
/// `bottom` and `right` follow from the output's extents. They are stored because the file states them.
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
