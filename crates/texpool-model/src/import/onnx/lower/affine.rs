//! Lowers AffineGrid, which gives the places of a turned and moved image, for GridSample.

use super::{matmul::matrices, shapes::reshaped, shapes::transposed};
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, strides},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::ElementType;

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("AffineGrid", 20, Floats, "matmul", Any, affine_grid).limits("the size must be known")];

/// Returns where a pixel of an axis lies, from -1 to 1.
fn place(pixel: usize, extent: usize, align_corners: bool) -> f32 {
    match (align_corners, extent) {
        (true, 1) => 0.0,
        (true, _) => 2.0 * pixel as f32 / (extent - 1) as f32 - 1.0,
        (false, _) => (2 * pixel + 1) as f32 / extent as f32 - 1.0,
    }
}

fn affine_grid(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let theta = Value::Computed(ctx.computed(0)?);
    let size = ctx.integers(1, "size")?;
    let extents: Option<Vec<usize>> = size.iter().map(|&n| usize::try_from(n).ok().filter(|&n| n > 0)).collect();
    let Some(&[batch, _, ref image @ ..]) = extents.as_deref() else {
        return Err(Problem::malformed(format!("its size is {size:?}")));
    };
    let axes = image.len();
    if !(2..=3).contains(&axes) || theta.dims() != [batch, axes, axes + 1] {
        let reason = format!("matrices of {:?} for a grid of the size {size:?}", theta.dims());
        return Err(Problem::malformed(reason));
    }
    let dims = [&[batch], image, &[axes]].concat();
    Problem::check_result(&dims)?;
    let points = ctx.budget_for(image, 4 * (axes + 1) * size_of::<f32>(), 4 * axes)?;
    let (align_corners, by) = (ctx.flag("align_corners", false)?, strides(image));
    // Columns are those of a place, from the last axis to the first, and a one.
    let coordinate = |at: usize| match (at / (axes + 1), at % (axes + 1)) {
        (point, column) if column < axes => {
            let axis = axes - 1 - column;
            place(point / by[axis] % image[axis], image[axis], align_corners)
        }
        _ => 1.0,
    };
    let values: Vec<f32> = (0..points * (axes + 1)).map(coordinate).collect();
    let base = Value::Known(Array::of_floats(vec![points, axes + 1], ElementType::F32, &values));
    let turned = transposed(ctx.lowering, &theta, &[0, 2, 1])?;
    let mut grid = matrices(ctx, &base, &turned)?;
    grid.elem = theta.element_type();
    let grid = reshaped(ctx.lowering, &Value::Computed(grid), &dims)?;
    ctx.give(0, grid);
    Ok(())
}
