//! Lowers lookups by index.

use super::axes::fold;
use crate::import::{
    common::{axes::axis, extents::gathered},
    error::Problem,
    tflite::{
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::GatherOptions,
    },
};
use texpool_ops::graph::{Act, Gather, Op, Shape, TensorId};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("GATHER", LikeOnnx("Gather"), gather),
    TfLiteOpEntry::new("EMBEDDING_LOOKUP", LikeOnnx("Gather"), embedding),
];

fn gather(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let options = ctx.options::<GatherOptions<'static>>()?;
    if options.batch_dims() != 0 {
        return Err(Problem::unsupported("its indices differ from batch to batch"));
    }
    let (x, indices) = (ctx.operand(0)?, ctx.operand(1)?);
    let along = axis(i64::from(options.axis()), ctx.dims(x).len())?;
    look_up(ctx, x, indices, along)
}

/// The first operand contains the indices, the second the table whose rows are looked up.
fn embedding(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let (indices, table) = (ctx.operand(0)?, ctx.operand(1)?);
    axis(0, ctx.dims(table).len())?;
    look_up(ctx, table, indices, 0)
}

/// Looks up elements along an axis. The axes of the indices replace that axis.
fn look_up(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, indices: TensorId, along: usize) -> Result<(), Problem> {
    let dims = ctx.dims(x).to_vec();
    ctx.indices_within(indices, along, &dims)?;
    ctx.gives(&gathered(&dims, along, ctx.dims(indices)))?;
    let folded = fold(&dims, |axis| axis.cmp(&along), |axis| axis != along)?;
    let slot = folded.of[along];
    let count = ctx.shape(indices).len();
    let mut shape = folded.extents;
    shape[slot] = count;
    let x = ctx.view(x, folded.extents.into())?;
    let indices = ctx.view(indices, Shape::new(1, 1, 1, count))?;
    ctx.emit_as(Op::Gather(Gather { axis: slot }), &[x, indices], Act::None, shape.into())
}
