//! Borders of images.

/// Zeros (or nothing, for pools) around the image: rows and columns before and after.
///
/// `bottom` and `right` follow from the output's extents; they are kept because the file states them.
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
