//! Extents, and how far neighbours along each axis lie apart.

use std::fmt;

use super::TensorError;

/// Most axes of a view, which keeps them in itself: one is made for every frame.
const MAX_RANK: usize = 8;

/// Extents with the distances between neighbours, in elements. All that they lead to was there when they were made.
#[derive(Clone, Copy)]
pub(super) struct Axes {
    rank: usize,
    dims: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

/// Elements that lie evenly apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Index of the first.
    pub(super) first: usize,
    pub(super) count: usize,
    /// From each to the next; 0 where all are the same one.
    pub(super) step: usize,
}

impl Axes {
    /// Of elements that lie one behind the other, the last axis fastest.
    pub(super) fn dense(dims: &[usize]) -> Result<Self, TensorError> {
        let mut axes = Self::without_strides(dims)?;
        let mut stride = 1;
        for axis in (0..axes.rank).rev() {
            axes.strides[axis] = stride;
            // An extent of zero makes the distances in front of it meaningless.
            stride *= dims[axis].max(1);
        }
        Ok(axes)
    }

    /// Of elements as far apart as `strides` says, all of them among the first `available`.
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
        // Zeros count as ones, so that a product of some of the extents can be counted, too.
        if dims.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1))).is_none() {
            return Err(TensorError::TooLarge { dims: dims.to_vec() });
        }
        let mut axes = Self { rank, dims: [1; MAX_RANK], strides: [0; MAX_RANK] };
        axes.dims[..rank].copy_from_slice(dims);
        Ok(axes)
    }

    /// The axes in another order.
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

    /// The extents.
    pub(super) fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// Whether the elements that are seen are the first ones, one behind the other.
    pub(super) fn is_dense(&self) -> bool {
        self.len() == 0 || matches!(self.merged().axes(), [] | [(_, 1)])
    }

    fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.dims().iter().copied().zip(self.strides().iter().copied())
    }

    /// Number of elements that are seen.
    pub(super) fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// How many elements there must be for all that are seen to be among them, or the most that can be counted.
    fn reach(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        self.pairs().map(|(extent, stride)| (extent - 1).saturating_mul(stride)).fold(1, usize::saturating_add)
    }

    /// Visits all elements in order, the last axis fastest.
    pub(super) fn runs(&self, mut visit: impl FnMut(Run)) {
        // Distances along axes without elements may be anything.
        if self.len() == 0 {
            return;
        }
        let merged = self.merged();
        let Some((&(count, step), outer)) = merged.axes().split_last() else {
            return visit(Run { first: 0, count: 1, step: 1 });
        };
        // An odometer: `first` follows the indices by additions, where a division for each axis would be slower.
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

    /// The axes that matter: those of one index are left out, and neighbours over which elements lie evenly apart are
    /// one, so that runs are as long as they can be.
    fn merged(&self) -> Merged {
        let mut merged = Merged { rank: 0, axes: [(1, 0); MAX_RANK] };
        for (extent, stride) in self.pairs().filter(|&(extent, _)| extent != 1) {
            match merged.axes[..merged.rank].last_mut() {
                // Both fit: the elements are there.
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

/// Extents and distances of fewer axes that visit the same elements.
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
