//! Operators whose result has the extents of an operand, or ones: element by element, over axes, matrix products.

use super::{
    error::ShapeError,
    operands::{bias_fits, count, multiple, only, pair, same, weighted},
};
use crate::graph::{Reduce, Shape};

pub(super) fn binary(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (a, b) = pair(inputs)?;
    broadcast(a, b)
}

fn broadcast(a: Shape, b: Shape) -> Result<Shape, ShapeError> {
    let mut result = [0; 4];
    for ((r, x), y) in result.iter_mut().zip(a.dims()).zip(b.dims()) {
        *r = match (x, y) {
            (1, other) | (other, 1) => other,
            (x, y) if x == y => x,
            _ => return Err(ShapeError::Broadcast { a, b }),
        };
    }
    Ok(result.into())
}

/// As in TensorFlow Lite, alpha repeats into the input and never the other way round.
pub(super) fn prelu(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, alpha) = pair(inputs)?;
    if binary(inputs)? == x { Ok(x) } else { Err(ShapeError::Broadcast { a: x, b: alpha }) }
}

pub(super) fn reduce(kind: Reduce, axes: [bool; 4], inputs: &[Shape]) -> Result<Shape, ShapeError> {
    if kind.is_index() && axes.iter().filter(|&&axis| axis).count() != 1 {
        return Err(ShapeError::Axes { what: "the axis of an index" });
    }
    let mut dims = only(inputs)?.dims();
    for (extent, reduced) in dims.iter_mut().zip(axes) {
        if reduced {
            *extent = 1;
        }
    }
    Ok(dims.into())
}

pub(super) fn fully_connected(inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let (x, weights, bias) = weighted(inputs)?;
    same("outer extents of the weights", 1, weights.b)?;
    same("outer extents of the weights", 1, weights.h)?;
    let (outputs, depth) = (weights.w, weights.c);
    bias_fits(bias, outputs)?;
    let elements = count(x, "elements of the input")?;
    multiple("elements of the input by columns of the weights", elements, depth)?;
    let rows = elements / depth;
    same("output channels", outputs, stated.c)?;
    let pixels = count(Shape { c: 1, ..stated }, "pixels of the output")?;
    same("rows of the output", rows, pixels)?;
    Ok(stated)
}

/// `a [B, H, M, K]` by `b [B, H, K, N]`, or by `[B, H, N, K]`.
pub(super) fn matmul(transpose_b: bool, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (a, b) = pair(inputs)?;
    let (depth, columns) = if transpose_b { (b.c, b.w) } else { (b.w, b.c) };
    same("columns of the first matrix and rows of the second", a.c, depth)?;
    let outer = broadcast(Shape { w: 1, c: 1, ..a }, Shape { w: 1, c: 1, ..b })?;
    Ok(Shape { w: a.w, c: columns, ..outer })
}

pub(super) fn top_k(k: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    match k {
        0 => Err(ShapeError::Zero { what: "the number of channels taken" }),
        _ if k > x.c => Err(ShapeError::Index { axis: 3, index: k as i128 - 1, extent: x.c }),
        _ => Ok(Shape { c: k, ..x }),
    }
}

pub(super) fn lrn(size: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    if size == 0 { Err(ShapeError::Zero { what: "the window over channels" }) } else { only(inputs) }
}

pub(super) fn cum_sum(axis: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    if axis > 3 { Err(ShapeError::Axes { what: "the axis summed along" }) } else { only(inputs) }
}
