//! CPU reference of looking up elements with separate indices.

use crate::{
    graph::Shape,
    ops::{
        gather::named,
        reference::view::{View, each},
    },
};

/// Looks up each element along `axis` with the index at its position.
pub(crate) fn gather_elements(x: &View<'_>, indices: &View<'_>, axis: usize, out: Shape) -> Vec<f32> {
    each(out, |mut index| {
        index[axis] = named(indices.at(index), x.shape.dims()[axis]);
        x.at(index)
    })
}
