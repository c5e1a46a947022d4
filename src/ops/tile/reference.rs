//! CPU reference of tile.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Repeats the whole tensor.
pub(crate) fn tile(x: &View<'_>, out: Shape) -> Vec<f32> {
    let extents = x.shape.dims();
    each(out, |index| x.at(std::array::from_fn(|axis| index[axis] % extents[axis])))
}
