//! Reductions over axes.

use super::view::View;
use crate::graph::{Reduce, Shape};

/// Reduces the marked axes to one: row by row, within a row from left to right. Over height and width it is the mean of
/// the rows' means.
pub(super) fn reduce(x: &View<'_>, kind: Reduce, axes: [bool; 4], out: Shape) -> Vec<f32> {
    if let [batch, true, true, false] = axes {
        let shape = Shape { w: 1, ..x.shape };
        let rows = reduce(x, kind, [false, false, true, false], shape);
        return reduce(&View { shape, data: rows.into() }, kind, [batch, true, false, false], out);
    }
    let extents = x.shape.dims();
    let count: usize = (0..4).filter(|&axis| axes[axis]).map(|axis| extents[axis]).product();
    let mut sums = vec![0.0; out.len()];
    for (i, value) in x.data.iter().enumerate() {
        let (pixel, c) = (i / extents[3], i % extents[3]);
        let (row, w) = (pixel / extents[2], pixel % extents[2]);
        let index = [row / extents[1], row % extents[1], w, c];
        let [b, h, w, c] = std::array::from_fn(|axis| if axes[axis] { 0 } else { index[axis] });
        sums[out.index(b, h, w, c)] += value;
    }
    match kind {
        Reduce::Mean => sums.iter().map(|sum| sum / count as f32).collect(),
    }
}
