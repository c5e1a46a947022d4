//! Operators that move elements and compute nothing, and resizes.

use super::{
    error::ShapeError,
    operands::{count, multiple, only, pair, same},
};
use crate::graph::{CoordMode, Op, PadAxis, PadMode, Shape};

const AXIS: [&str; 4] = ["batches", "height", "width", "channels"];

pub(super) fn pad(
    before: &[isize; 4],
    after: &[isize; 4],
    mode: PadMode,
    inputs: &[Shape],
) -> Result<Shape, ShapeError> {
    let mut dims = only(inputs)?.dims();
    for axis in 0..4 {
        let around = [before[axis], after[axis]];
        let kept = PadAxis::new(dims[axis], around[0], around[1]).map(|axis| axis.kept);
        let filled = matches!(mode, PadMode::Constant(_)) && around.iter().any(|&n| n > 0);
        if kept.is_none() || kept == Some(0) && !filled {
            return Err(ShapeError::Cut { axis, before: around[0], after: around[1], extent: dims[axis] });
        }
        dims[axis] = around
            .iter()
            .try_fold(dims[axis] as isize, |extent, &n| extent.checked_add(n))
            .and_then(|extent| usize::try_from(extent).ok())
            .ok_or(ShapeError::Overflow { what: AXIS[axis] })?;
    }
    Ok(dims.into())
}

/// Each extent of the result is some number of the operand's.
pub(super) fn tile(inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let x = only(inputs)?.dims();
    for (axis, extent) in stated.dims().into_iter().enumerate() {
        multiple(AXIS[axis], extent, x[axis])?;
    }
    Ok(stated)
}

pub(super) fn gather(axis: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, indices) = pair(inputs)?;
    for outer in [indices.b, indices.h, indices.w] {
        same("outer extents of the indices", 1, outer)?;
    }
    let mut dims = x.dims();
    *dims.get_mut(axis).ok_or(ShapeError::Axes { what: "the axis" })? = indices.c;
    Ok(dims.into())
}

/// The indices have no more elements along the other axes than there are.
pub(super) fn gather_elements(axis: usize, inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, indices) = pair(inputs)?;
    if axis > 3 {
        return Err(ShapeError::Axes { what: "the axis" });
    }
    for (other, (extent, wanted)) in x.dims().into_iter().zip(indices.dims()).enumerate() {
        if other != axis && wanted > extent {
            return Err(ShapeError::Index { axis: other, index: wanted as i128 - 1, extent });
        }
    }
    Ok(indices)
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

pub(super) fn resize(op: &Op, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    let x = only(inputs)?;
    if let Op::Resize { scale: Some(scale), .. } = op
        && !scale.iter().all(|scale| scale.is_finite() && *scale > 0.0)
    {
        return Err(ShapeError::Range { what: "the scale" });
    }
    if let Op::Resize { coords: CoordMode::TfCropAndResize { start, end, .. }, .. } = op
        && !start.iter().chain(end).all(|part| part.is_finite())
    {
        return Err(ShapeError::Range { what: "the corner" });
    }
    Ok(Shape { b: x.b, c: x.c, ..stated })
}

pub(super) fn grid_sample(inputs: &[Shape]) -> Result<Shape, ShapeError> {
    let (x, grid) = pair(inputs)?;
    same("batches of the grid", x.b, grid.b)?;
    same("coordinates of a place", 2, grid.c)?;
    Ok(Shape { c: x.c, ..grid })
}

fn times(extent: usize, block: usize) -> Result<usize, ShapeError> {
    extent.checked_mul(block).ok_or(ShapeError::Overflow { what: "extent by the block" })
}
