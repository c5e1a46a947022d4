//! Order of the elements of an input or output in the caller's memory, if it differs from the order used for
//! computing.

use std::borrow::Cow;

/// Maps the order of a tensor's elements in the file to `[B, H, W, C]`. If the file has `[N, C, H, W]` and its
/// channels go to C, then the extents are `[N, C, H, W]` and the sequence is `[0, 2, 3, 1]`. Empty if both orders are
/// the same.
///
/// ```
/// use texpool::graph::LayoutPermutation;
///
/// // Two channels of one row of two pixels: the file stores channel by channel.
/// let order = LayoutPermutation::new(&[1, 2, 1, 2], &[0, 2, 3, 1]).unwrap();
/// assert_eq!(*order.from_file(&[1.0, 2.0, 10.0, 20.0]), [1.0, 10.0, 2.0, 20.0]);
/// assert_eq!(*order.to_file(&[1.0, 10.0, 2.0, 20.0]), [1.0, 2.0, 10.0, 20.0]);
/// assert_eq!(order.place(1), 2); // the first channel of the second pixel
/// assert!(LayoutPermutation::default().is_file_order());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutPermutation {
    extents: Vec<usize>,
    sequence: Vec<usize>,
}

impl LayoutPermutation {
    /// Creates the mapping for a tensor whose extents in the file are `extents` and whose elements are computed with
    /// in the axis order `sequence`, slowest axis first.
    ///
    /// Returns `None` if `sequence` is not a permutation, or if the number of elements overflows.
    ///
    /// ```
    /// use texpool::graph::LayoutPermutation;
    ///
    /// assert!(LayoutPermutation::new(&[3, 4], &[1, 1]).is_none());
    /// assert!(LayoutPermutation::new(&[3, 4], &[0, 1]).unwrap().is_file_order());
    /// ```
    pub fn new(extents: &[usize], sequence: &[usize]) -> Option<Self> {
        let mut sorted = sequence.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..extents.len()) {
            return None;
        }
        // Checked once here; `len` and `walk` multiply unchecked.
        extents.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        if sequence.is_sorted() {
            return Some(Self::default());
        }
        Some(Self { extents: extents.to_vec(), sequence: sequence.to_vec() })
    }

    /// Returns whether the elements are already in the file's order.
    pub fn is_file_order(&self) -> bool {
        self.sequence.is_empty()
    }

    /// Returns the axis, of the extents that a tensor is computed with, that is an axis of its extents in the file, `dims`.
    /// `None` if it is a part of an axis or several.
    ///
    /// ```
    /// use texpool::graph::LayoutPermutation;
    ///
    /// // Planes of a picture of 5 by 7 pixels are computed with as pixels.
    /// let order = LayoutPermutation::new(&[1, 3, 5, 7], &[0, 2, 3, 1]).unwrap();
    /// assert_eq!(order.axis_of(&[1, 3, 5, 7], 2, [1, 5, 7, 3]), Some(1));
    /// assert_eq!(order.axis_of(&[1, 3, 5, 7], 2, [1, 1, 35, 3]), None);
    /// ```
    pub fn axis_of(&self, dims: &[usize], axis: usize, computed: [usize; 4]) -> Option<usize> {
        let extent = *dims.get(axis)?;
        let alike = |extents: &[usize], before: usize| {
            let is_same = |own: &usize| extents[*own] == extent && extents[..*own].iter().product::<usize>() == before;
            (0..extents.len()).find(is_same)
        };
        let before = dims[..axis].iter().product();
        if self.is_file_order() {
            return alike(&computed, before);
        }
        let part = alike(&self.extents, before)?;
        let at = self.sequence.iter().position(|&own| own == part)?;
        alike(&computed, self.sequence[..at].iter().map(|&own| self.extents[own]).product())
    }

    /// Number of elements, or `None` if any number fits.
    pub(super) fn len(&self) -> Option<usize> {
        (!self.is_file_order()).then(|| self.extents.iter().product())
    }

    /// Reorders values from the file's order to `[B, H, W, C]`. If their number does not match, they are returned
    /// unchanged.
    pub fn from_file<'v>(&self, values: &'v [f32]) -> Cow<'v, [f32]> {
        if self.len() != Some(values.len()) {
            return Cow::Borrowed(values);
        }
        let mut lying = Vec::with_capacity(values.len());
        self.walk(|at| lying.push(values[at]));
        Cow::Owned(lying)
    }

    /// Reorders values from `[B, H, W, C]` to the file's order. If their number does not match, they are returned
    /// unchanged.
    pub fn to_file<'v>(&self, values: &'v [f32]) -> Cow<'v, [f32]> {
        if self.len() != Some(values.len()) {
            return Cow::Borrowed(values);
        }
        let mut filed = vec![0.0; values.len()];
        let mut values = values.iter();
        self.walk(|at| filed[at] = values.next().copied().unwrap_or_default());
        Cow::Owned(filed)
    }

    /// The axes in `[B, H, W, C]` order, slowest first: the extent of each, and the distance of neighbours in the
    /// file's order. Empty if both orders are the same.
    ///
    /// ```
    /// use texpool::graph::LayoutPermutation;
    ///
    /// let order = LayoutPermutation::new(&[1, 3, 4, 5], &[0, 2, 3, 1]).unwrap();
    /// // The last axis is the channels, which lie 4 * 5 elements apart in the file.
    /// assert_eq!(order.axes(), [(1, 60), (4, 5), (5, 1), (3, 20)]);
    /// ```
    pub fn axes(&self) -> Vec<(usize, usize)> {
        let mut strides = vec![1; self.extents.len()];
        for axis in (1..self.extents.len()).rev() {
            strides[axis - 1] = strides[axis] * self.extents[axis];
        }
        self.sequence.iter().map(|&axis| (self.extents[axis], strides[axis])).collect()
    }

    /// Index in `[B, H, W, C]` order of the element with index `element` in the file's order.
    pub fn place(&self, element: usize) -> usize {
        if self.is_file_order() {
            return element;
        }
        self.axes().into_iter().fold(0, |at, (extent, stride)| at * extent + element / stride % extent)
    }

    /// Visits all elements in `[B, H, W, C]` order and passes the index of each in the file's order.
    fn walk(&self, mut visit: impl FnMut(usize)) {
        let by = self.axes();
        // Works like an odometer: `at` is updated by additions, which is faster than a division for each axis.
        let mut index = vec![0; by.len()];
        let mut at = 0;
        for _ in 0..self.extents.iter().product() {
            visit(at);
            for (place, &(extent, stride)) in by.iter().enumerate().rev() {
                index[place] += 1;
                at += stride;
                if index[place] < extent {
                    break;
                }
                at -= stride * extent;
                index[place] = 0;
            }
        }
    }
}
