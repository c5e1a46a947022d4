//! Operators that move elements and compute nothing, and resizes.

use super::{ShapeError, count, multiple, only, same};
use crate::graph::Shape;

const AXIS: [&str; 4] = ["batches", "height", "width", "channels"];

pub(super) fn pad(before: &[usize; 4], after: &[usize; 4], inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let mut dims = only(inputs)?.dims();
    for axis in 0..4 {
        dims[axis] = dims[axis]
            .checked_add(before[axis])
            .and_then(|d| d.checked_add(after[axis]))
            .ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
    }
    Ok(dims.into())
}

pub(super) fn concat(axis: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let Some((first, rest)) = inputs.split_first() else {
        return Err(ShapeError::Operands { expected: "1 or more", found: 0 });
    };
    if axis > 3 {
        return Err(ShapeError::Axes { what: "the axis" });
    }
    let mut dims = first.dims();
    for shape in rest {
        for (other, extent) in shape.dims().into_iter().enumerate() {
            if other == axis {
                dims[axis] = dims[axis].checked_add(extent).ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
            } else {
                same(AXIS[other], dims[other], extent)?;
            }
        }
    }
    Ok(dims.into())
}

pub(super) fn slice(
    begin: &[usize; 4],
    stride: &[isize; 4],
    inputs: &[Shape],
    stated: Shape,
) -> Result<Shape, ShapeError> {
    let x = only(inputs)?.dims();
    for (axis, taken) in stated.dims().into_iter().enumerate() {
        if stride[axis] == 0 {
            return Err(ShapeError::Zero { what: "stride" });
        }
        let first = begin[axis] as i128;
        let last = first + (taken as i128 - 1) * stride[axis] as i128;
        for index in [first, last] {
            if taken > 0 && !(0..x[axis] as i128).contains(&index) {
                return Err(ShapeError::Index { axis, index, extent: x[axis] });
            }
        }
    }
    Ok(stated)
}

pub(super) fn reshape(inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let elements = count(only(inputs)?, "elements of the input")?;
    same("elements", elements, count(stated, "elements of the output")?)?;
    Ok(stated)
}

pub(super) fn transpose(perm: [usize; 4], inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let mut sorted = perm;
    sorted.sort_unstable();
    if sorted != [0, 1, 2, 3] {
        return Err(ShapeError::Axes { what: "the permutation" });
    }
    let dims = only(inputs)?.dims();
    Ok(perm.map(|axis| dims[axis]).into())
}

pub(super) fn depth_to_space(block: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    let area = block.checked_mul(block).ok_or(ShapeError::Overflow { what: "block" })?;
    multiple("channels by the block's pixels", x.c, area)?;
    Ok(Shape::new(x.b, times(x.h, block)?, times(x.w, block)?, x.c / area))
}

pub(super) fn space_to_depth(block: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    multiple("height by the block", x.h, block)?;
    multiple("width by the block", x.w, block)?;
    Ok(Shape::new(x.b, x.h / block, x.w / block, times(times(x.c, block)?, block)?))
}

pub(super) fn resize(inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    Ok(Shape { b: x.b, c: x.c, ..stated })
}

fn times(extent: usize, block: usize) -> Result<usize, ShapeError> {
    extent.checked_mul(block).ok_or(ShapeError::Overflow { what: "extent by the block" })
}
