//! CPU reference of running sums.

use crate::ops::reference::view::{View, each};

/// Computes running sums along an axis.
pub(crate) fn cum_sum(x: &View<'_>, axis: usize, exclusive: bool, reverse: bool) -> Vec<f32> {
    let extent = x.shape.dims()[axis];
    each(x.shape, |index| {
        let at = index[axis];
        let own = usize::from(!exclusive);
        let before: Vec<usize> = match reverse {
            // Starts at the end like the kernel, because a different order of addition rounds differently.
            true => (at + 1 - own..extent).rev().collect(),
            false => (0..at + own).collect(),
        };
        before.into_iter().fold(0.0, |sum, i| {
            let mut from = index;
            from[axis] = i;
            sum + x.at(from)
        })
    })
}
