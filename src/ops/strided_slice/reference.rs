//! Ranges with strides.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Output index `i` of an axis reads `begin + i * stride`.
pub(crate) fn strided_slice(x: &View<'_>, begin: [usize; 4], stride: [isize; 4], out: Shape) -> Vec<f32> {
    each(out, |index| {
        x.at(std::array::from_fn(|axis| begin[axis].wrapping_add_signed(index[axis] as isize * stride[axis])))
    })
}
