//! CPU reference of transpose.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Reorders the axes: output axis `i` is input axis `perm[i]`.
pub(crate) fn transpose(x: &View<'_>, perm: [usize; 4], out: Shape) -> Vec<f32> {
    each(out, |index| {
        let mut from = [0; 4];
        for (axis, &source) in perm.iter().enumerate() {
            from[source] = index[axis];
        }
        x.at(from)
    })
}
