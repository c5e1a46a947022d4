//! Extents of a view, and the distances between neighbours along each axis.

use std::fmt;

use super::TensorError;

/// Maximum number of axes of a view. They are stored in the view itself, because one is created for every frame.
const MAX_RANK: usize = 8;

/// Extents with the distances between neighbours, in elements. The constructors check that every element exists.
#[derive(Clone, Copy)]
pub(super) struct Axes {
    rank: usize,
    dims: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

/// A run of equally spaced elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Index of the first element.
    pub(super) first: usize,
    pub(super) count: usize,
    /// Distance from each element to the next; 0 if all are the same element.
    pub(super) step: usize,
}

impl Axes {
    /// Describes contiguous elements, the last axis fastest.
    pub(super) fn dense(dims: &[usize]) -> Result<Self, TensorError> {
        let mut axes = Self::without_strides(dims)?;
        let mut stride = 1;
        for axis in (0..axes.rank).rev() {
            axes.strides[axis] = stride;
            // An extent of zero makes the strides of the axes in front of it meaningless.
            stride *= dims[axis].max(1);
        }
        Ok(axes)
    }

    /// Describes elements with the given strides, all of them among the first `available`.
    pub(super) fn strided(dims: &[usize], strides: &[usize], available: usize) -> Result<Self, TensorError> {
        let mut axes = Self::without_strides(dims)?;
        if dims.len() != strides.len() {
            return Err(TensorError::Strides { dims: dims.to_vec(), strides: strides.to_vec() });
        }
        axes.strides[..strides.len()].copy_from_slice(strides);
        let needed = axes.reach();
        if needed > available {
            let (dims, strides) = (dims.to_vec(), strides.to_vec());
            return Err(TensorError::Outside { dims, strides, needed, found: available });
        }
        Ok(axes)
    }

    fn without_strides(dims: &[usize]) -> Result<Self, TensorError> {
        let rank = dims.len();
        if rank > MAX_RANK {
            return Err(TensorError::Rank { rank, most: MAX_RANK });
        }
        // Zeros count as ones, so that products of some of the extents cannot overflow either.
        if dims.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1))).is_none() {
            return Err(TensorError::TooLarge { dims: dims.to_vec() });
        }
        let mut axes = Self { rank, dims: [1; MAX_RANK], strides: [0; MAX_RANK] };
        axes.dims[..rank].copy_from_slice(dims);
        Ok(axes)
    }

    /// Returns the axes in another order.
    pub(super) fn permuted(&self, order: &[usize]) -> Result<Self, TensorError> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.rank) {
            return Err(TensorError::Axes { axes: order.to_vec(), rank: self.rank });
        }
        let mut permuted = *self;
        for (to, &from) in order.iter().enumerate() {
            permuted.dims[to] = self.dims[from];
            permuted.strides[to] = self.strides[from];
        }
        Ok(permuted)
    }

    /// Returns the extents.
    pub(super) fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// Returns whether the visible elements are exactly the first ones, in order.
    pub(super) fn is_dense(&self) -> bool {
        self.len() == 0 || matches!(self.merged().axes(), [] | [(_, 1)])
    }

    fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.dims().iter().copied().zip(self.strides().iter().copied())
    }

    /// Returns the number of visible elements.
    pub(super) fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Returns the number of elements that must exist for all visible ones to be among them; saturates.
    fn reach(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        self.pairs().map(|(extent, stride)| (extent - 1).saturating_mul(stride)).fold(1, usize::saturating_add)
    }

    /// Visits all elements in order, the last axis fastest.
    pub(super) fn runs(&self, mut visit: impl FnMut(Run)) {
        // Strides along axes without elements may be anything.
        if self.len() == 0 {
            return;
        }
        let merged = self.merged();
        let Some((&(count, step), outer)) = merged.axes().split_last() else {
            return visit(Run { first: 0, count: 1, step: 1 });
        };
        // An odometer: `first` follows the indices by additions, because a division per axis would be slower.
        let mut index = [0; MAX_RANK];
        let mut first = 0;
        for _ in 0..outer.iter().map(|&(extent, _)| extent).product::<usize>() {
            visit(Run { first, count, step });
            for (place, &(extent, stride)) in index.iter_mut().zip(outer).rev() {
                *place += 1;
                first += stride;
                if *place < extent {
                    break;
                }
                first -= stride * extent;
                *place = 0;
            }
        }
    }

    /// Drops axes of extent one and merges neighbours whose elements are equally spaced, so that runs are as long as
    /// possible.
    fn merged(&self) -> Merged {
        let mut merged = Merged { rank: 0, axes: [(1, 0); MAX_RANK] };
        for (extent, stride) in self.pairs().filter(|&(extent, _)| extent != 1) {
            match merged.axes[..merged.rank].last_mut() {
                // Neither product overflows, because the elements exist.
                Some((outer, step)) if *step == extent * stride => (*outer, *step) = (*outer * extent, stride),
                _ => {
                    merged.axes[merged.rank] = (extent, stride);
                    merged.rank += 1;
                }
            }
        }
        merged
    }
}

/// Extents and strides of fewer axes that visit the same elements.
struct Merged {
    rank: usize,
    axes: [(usize, usize); MAX_RANK],
}

impl Merged {
    fn axes(&self) -> &[(usize, usize)] {
        &self.axes[..self.rank]
    }
}

impl fmt::Debug for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Axes").field("dims", &self.dims()).field("strides", &self.strides()).finish()
    }
}
