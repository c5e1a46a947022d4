//! CPU reference of concatenation.

use crate::{
    graph::Shape,
    ops::reference::view::{View, each},
};

/// Joins the parts along an axis.
pub(crate) fn concat(parts: &[View<'_>], axis: usize, out: Shape) -> Vec<f32> {
    let mut values = vec![0.0; out.len()];
    let mut offset = 0;
    for part in parts {
        let mut data = part.data.iter();
        each(part.shape, |mut index| {
            index[axis] += offset;
            let [b, h, w, c] = index;
            let value = data.next().copied().unwrap_or_default();
            values[out.index(b, h, w, c)] = value;
            value
        });
        offset += part.shape.dims()[axis];
    }
    values
}
