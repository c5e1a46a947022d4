//! CPU reference of reductions over axes.

use crate::{
    graph::{
        Reduce, ReduceKind, Shape,
        evaluate::{greater, lesser},
    },
    ops::reference::{Operands, Reference, ReferenceError, View},
};

impl Reference for Reduce {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reduce(&operands.get(0)?, self.kind, self.axes, out))
    }
}

/// Reduces the marked axes to one element: row by row, and from left to right within a row. A mean over height and
/// width is the mean of the means of rows.
pub(crate) fn reduce(x: &View<'_>, kind: ReduceKind, axes: [bool; 4], out: Shape) -> Vec<f32> {
    // Matches the kernel, so that a mean divided by `rewrite::row_means` stays bit-identical.
    if let (ReduceKind::Mean, [batch, true, true, false]) = (kind, axes) {
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

/// Reduces all values of one result element, in order.
fn one(kind: ReduceKind, line: &[f32]) -> f32 {
    let sum = |function: fn(f32) -> f32| line.iter().fold(0.0, |sum, &x| sum + function(x));
    let greatest = || line.iter().copied().fold(f32::NEG_INFINITY, greater);
    match kind {
        ReduceKind::Mean => sum(|x| x) / line.len() as f32,
        ReduceKind::Sum => sum(|x| x),
        ReduceKind::SumSquare => sum(|x| x * x),
        ReduceKind::Max => greatest(),
        ReduceKind::Min => line.iter().copied().fold(f32::INFINITY, lesser),
        ReduceKind::Prod => line.iter().product(),
        ReduceKind::L1 => sum(f32::abs),
        ReduceKind::L2 => sum(|x| x * x).sqrt(),
        ReduceKind::LogSum => sum(|x| x).ln(),
        ReduceKind::LogSumExp => {
            let greatest = greatest();
            // Subtracting infinity from infinity would give NaN.
            let base = if greatest.is_finite() { greatest } else { 0.0 };
            base + line.iter().fold(0.0, |sum, x| sum + (x - base).exp()).ln()
        }
        ReduceKind::ArgMax { last } => index(line, last, |x, best| x > best),
        ReduceKind::ArgMin { last } => index(line, last, |x, best| x < best),
    }
}

/// Returns the index of the best value, or of a NaN if there is one. Among equals, the first one counts, or the last
/// one if `last` is set.
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
