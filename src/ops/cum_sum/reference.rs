//! Running sums.

use crate::ops::reference::view::{View, each};

/// The sum of all elements up to each along an axis.
pub(crate) fn cum_sum(x: &View<'_>, axis: usize, exclusive: bool, reverse: bool) -> Vec<f32> {
    let extent = x.shape.dims()[axis];
    each(x.shape, |index| {
        let at = index[axis];
        let own = usize::from(!exclusive);
        let before: Vec<usize> = match reverse {
            // From the end, as the kernel adds: sums in another order are rounded otherwise.
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
