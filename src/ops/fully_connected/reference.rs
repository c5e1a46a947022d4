//! CPU reference of fully connected layers.

use crate::{
    graph::Shape,
    ops::reference::view::{View, bias_of, dot},
};

/// Computes a layer with weights `[O, I]`; every `I` values of `x` give one row of the result.
pub(crate) fn fully_connected(x: &View<'_>, weights: &View<'_>, bias: Option<View<'_>>, out: Shape) -> Vec<f32> {
    let depth = weights.shape.c.max(1);
    let mut values = Vec::with_capacity(out.len());
    for row in x.data.chunks(depth) {
        for (o, column) in weights.data.chunks(depth).enumerate() {
            values.push(dot(row, column) + bias_of(bias.as_ref(), o));
        }
    }
    values
}
