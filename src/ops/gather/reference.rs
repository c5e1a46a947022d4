//! CPU reference of looking up elements along an axis.

use crate::{
    graph::Shape,
    ops::{
        gather::named,
        reference::view::{View, each},
    },
};

/// Returns the elements along `axis` that the indices select.
pub(crate) fn gather(x: &View<'_>, indices: &View<'_>, axis: usize, out: Shape) -> Vec<f32> {
    each(out, |mut index| {
        index[axis] = named(indices.data[index[axis]], x.shape.dims()[axis]);
        x.at(index)
    })
}
