//! Elements looked up one by one.

use crate::{
    graph::Shape,
    ops::{
        gather::named,
        reference::view::{View, each},
    },
};

/// Element by element, the one along `axis` that the index there names.
pub(crate) fn gather_elements(x: &View<'_>, indices: &View<'_>, axis: usize, out: Shape) -> Vec<f32> {
    each(out, |mut index| {
        index[axis] = named(indices.at(index), x.shape.dims()[axis]);
        x.at(index)
    })
}
