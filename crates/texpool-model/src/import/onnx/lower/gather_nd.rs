//! Lowers GatherND, which looks up rows by tuples of indices.

use super::{
    gather::{picked, picked_by},
    shapes::reshaped,
    tuples::{NamedAxes, Rows},
};
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, count},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::All,
};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("GatherND", 11, All, "binary, gather, rearrange, reduce", Any, gather_nd).fold(gather_nd)];

fn gather_nd(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, indices) = (ctx.operand(0)?, ctx.operand(1)?);
    let batch = ctx.size("batch_dims", 0)?;
    let misfit = || {
        let (indices, x) = (indices.dims(), x.dims());
        Problem::malformed(format!("indices of {indices:?} into {x:?}, which share {batch} axes"))
    };
    let Some((&tuple, outer)) = indices.dims().split_last() else { return Err(misfit()) };
    let shared = outer.get(..batch).filter(|&shared| Some(shared) == x.dims().get(..batch));
    let (Some(shared), Some((extents, rest))) =
        (shared, x.dims().get(batch..).and_then(|axes| axes.split_at_checked(tuple)).filter(|_| tuple > 0))
    else {
        return Err(misfit());
    };
    let dims = [outer, rest].concat();
    if count(&dims)? == 0 {
        ctx.give(0, Value::Known(Array::nothing(dims, x.element_type())));
        return Ok(());
    }
    let axes = NamedAxes { batch: shared, extents };
    let table = reshaped(ctx.lowering, &x, &[axes.rows(), rest.iter().product()])?;
    let selected = match axes.of(ctx, &indices)? {
        Rows::Known(rows) => picked(ctx, &table, 0, &rows)?,
        Rows::Computed(rows) => picked_by(ctx, &table, 0, &rows)?,
    };
    let result = reshaped(ctx.lowering, &selected, &dims)?;
    ctx.give(0, result);
    Ok(())
}
