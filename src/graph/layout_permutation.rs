//! The order in which a caller has the elements of an input or output, where it is not the one computed with.

use std::borrow::Cow;

/// How the elements of a file's tensor lie in `[B, H, W, C]`: for a file's `[N, C, H, W]` with its channels in C, the
/// extents are those, and the sequence is `[0, 2, 3, 1]`. Empty where both orders are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutPermutation {
    extents: Vec<usize>,
    sequence: Vec<usize>,
}

impl LayoutPermutation {
    /// The elements of a tensor whose extents in the file are `extents`, lying by the axes `sequence`, the slowest
    /// first.
    ///
    /// `None` if `sequence` is no permutation, or there are too many elements to count.
    pub fn new(extents: &[usize], sequence: &[usize]) -> Option<Self> {
        let mut sorted = sequence.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..extents.len()) {
            return None;
        }
        // Looked at once here: `len` and `walk` multiply without.
        extents.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        if sequence.is_sorted() {
            return Some(Self::default());
        }
        Some(Self { extents: extents.to_vec(), sequence: sequence.to_vec() })
    }

    /// Whether elements lie as the file has them.
    pub fn is_file_order(&self) -> bool {
        self.sequence.is_empty()
    }

    /// Number of elements; `None` if any number fits.
    pub(super) fn len(&self) -> Option<usize> {
        (!self.is_file_order()).then(|| self.extents.iter().product())
    }

    /// From the file's order to that of `[B, H, W, C]`. Values of another number are given back as they are.
    pub fn from_file<'v>(&self, values: &'v [f32]) -> Cow<'v, [f32]> {
        if self.len() != Some(values.len()) {
            return Cow::Borrowed(values);
        }
        let mut lying = Vec::with_capacity(values.len());
        self.walk(|at| lying.push(values[at]));
        Cow::Owned(lying)
    }

    /// From the order of `[B, H, W, C]` to the file's. Values of another number are given back as they are.
    pub fn to_file<'v>(&self, values: &'v [f32]) -> Cow<'v, [f32]> {
        if self.len() != Some(values.len()) {
            return Cow::Borrowed(values);
        }
        let mut filed = vec![0.0; values.len()];
        let mut values = values.iter();
        self.walk(|at| filed[at] = values.next().copied().unwrap_or_default());
        Cow::Owned(filed)
    }

    /// The axes by which elements lie, the slowest first: the extent of each, and how far apart its neighbours are in the
    /// file's order. None where both orders are the same.
    pub(crate) fn axes(&self) -> Vec<(usize, usize)> {
        let mut strides = vec![1; self.extents.len()];
        for axis in (1..self.extents.len()).rev() {
            strides[axis - 1] = strides[axis] * self.extents[axis];
        }
        self.sequence.iter().map(|&axis| (self.extents[axis], strides[axis])).collect()
    }

    /// Index in the order of `[B, H, W, C]` of the element that has index `element` in the file's order.
    pub fn place(&self, element: usize) -> usize {
        if self.is_file_order() {
            return element;
        }
        self.axes().into_iter().fold(0, |at, (extent, stride)| at * extent + element / stride % extent)
    }

    /// Index in the file's order of each element, in the order in which they lie.
    fn walk(&self, mut visit: impl FnMut(usize)) {
        let by = self.axes();
        // An odometer: `at` follows the indices by additions, where a division for each axis would be slower.
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
