//! Reductions over axes.

use super::view::View;
use crate::graph::{
    Reduce, Shape,
    evaluate::{greater, lesser},
};

/// Reduces the marked axes to one: row by row, within a row from left to right. A mean over height and width is the mean
/// of the rows' means.
pub(crate) fn reduce(x: &View<'_>, kind: Reduce, axes: [bool; 4], out: Shape) -> Vec<f32> {
    if let (Reduce::Mean, [batch, true, true, false]) = (kind, axes) {
        let shape = Shape { w: 1, ..x.shape };
        let rows = reduce(x, kind, [false, false, true, false], shape);
        return reduce(&View { shape, data: rows.into() }, kind, [batch, true, false, false], out);
    }
    let extents = x.shape.dims();
    let mut lines: Vec<Vec<f32>> = vec![Vec::new(); out.len()];
    for (i, &value) in x.data.iter().enumerate() {
        let (pixel, c) = (i / extents[3], i % extents[3]);
        let (row, w) = (pixel / extents[2], pixel % extents[2]);
        let index = [row / extents[1], row % extents[1], w, c];
        let [b, h, w, c] = std::array::from_fn(|axis| if axes[axis] { 0 } else { index[axis] });
        lines[out.index(b, h, w, c)].push(value);
    }
    lines.iter().map(|line| one(kind, line)).collect()
}

/// All values that make one of the result, in order.
fn one(kind: Reduce, line: &[f32]) -> f32 {
    let sum = |function: fn(f32) -> f32| line.iter().fold(0.0, |sum, &x| sum + function(x));
    let greatest = || line.iter().copied().fold(f32::NEG_INFINITY, greater);
    match kind {
        Reduce::Mean => sum(|x| x) / line.len() as f32,
        Reduce::Sum => sum(|x| x),
        Reduce::SumSquare => sum(|x| x * x),
        Reduce::Max => greatest(),
        Reduce::Min => line.iter().copied().fold(f32::INFINITY, lesser),
        Reduce::Prod => line.iter().product(),
        Reduce::L1 => sum(f32::abs),
        Reduce::L2 => sum(|x| x * x).sqrt(),
        Reduce::LogSum => sum(|x| x).ln(),
        Reduce::LogSumExp => {
            let greatest = greatest();
            let base = if greatest.is_finite() { greatest } else { 0.0 };
            base + line.iter().fold(0.0, |sum, x| sum + (x - base).exp()).ln()
        }
        Reduce::ArgMax { last } => index(line, last, |x, best| x > best),
        Reduce::ArgMin { last } => index(line, last, |x, best| x < best),
    }
}

/// The first of what is NaN, else the first of the best.
fn index(line: &[f32], last: bool, better: fn(f32, f32) -> bool) -> f32 {
    let mut best = 0;
    for (i, &x) in line.iter().enumerate() {
        let (best_value, both_nan) = (line[best], x.is_nan() && line[best].is_nan());
        let first = if x.is_nan() { !best_value.is_nan() } else { better(x, best_value) };
        if first || last && (x == best_value || both_nan) {
            best = i;
        }
    }
    best as f32
}
