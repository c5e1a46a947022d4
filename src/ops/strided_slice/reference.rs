//! CPU reference of strided slice.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Reads element `begin + i * stride` for output index `i` of each axis.
pub(crate) fn strided_slice(x: &View<'_>, begin: [usize; 4], stride: [isize; 4], out: Shape) -> Vec<f32> {
    each(out, |index| {
        x.at(std::array::from_fn(|axis| begin[axis].wrapping_add_signed(index[axis] as isize * stride[axis])))
    })
}
