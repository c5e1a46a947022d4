//! Matrix products.

use super::view::View;
use crate::graph::Shape;

/// `weights [O, I]`; every `I` values of `x` make a row of the result.
pub(super) fn fully_connected(x: &View<'_>, weights: &View<'_>, bias: Option<View<'_>>, out: Shape) -> Vec<f32> {
    let depth = weights.shape.c.max(1);
    let mut values = Vec::with_capacity(out.len());
    for row in x.data.chunks(depth) {
        for (o, column) in weights.data.chunks(depth).enumerate() {
            let sum = row.iter().zip(column).fold(0.0, |sum, (a, b)| sum + a * b);
            values.push(sum + bias.as_ref().map_or(0.0, |bias| bias.data[o]));
        }
    }
    values
}
