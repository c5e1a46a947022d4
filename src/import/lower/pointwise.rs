//! Operators element by element, reductions, and SOFTMAX.

use super::{
    activation::activation,
    axes::{axis, fold},
};
use crate::{
    graph::{Act, Binary, Op, Reduce, Shape, Unary},
    import::{
        context::Context,
        error::Problem,
        schema::{ReducerOptions, SoftmaxOptions},
    },
};

pub(super) fn unary(ctx: &mut Context<'_, '_>, unary: Unary) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    ctx.gives(ctx.dims(x))?;
    ctx.emit(Op::Unary(unary), &[x], Act::None)
}

pub(super) fn binary(ctx: &mut Context<'_, '_>, binary: Binary, fused: i8) -> Result<(), Problem> {
    broadcast(ctx, Op::Binary(binary), activation(fused)?)
}

pub(super) fn prelu(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    broadcast(ctx, Op::Prelu, Act::None)
}

fn broadcast(ctx: &mut Context<'_, '_>, op: Op, act: Act) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let inputs = [ctx.operand(0)?, ctx.operand(1)?];
    let rank = ctx.dims(inputs[0]).len().max(ctx.dims(inputs[1]).len());
    let [a, b] = inputs.map(|id| {
        let dims = ctx.dims(id);
        [vec![1; rank - dims.len()], dims.to_vec()].concat()
    });
    let result: Vec<usize> = a.iter().zip(&b).map(|(&a, &b)| if a == 1 { b } else { a }).collect();
    if b.iter().zip(&result).any(|(&b, &r)| b != r && b != 1) {
        return Err(Problem::malformed(format!("{:?} and {:?} do not broadcast", a, b)));
    }
    ctx.gives(&result)?;
    // Neighbouring axes are one long axis where each operand repeats along both, or along neither.
    let axes = fold(&result, |axis| (a[axis] == result[axis], b[axis] == result[axis]), |_| true)?;
    let part = |dims: &[usize]| {
        let mut extents = [1; 4];
        dims.iter().zip(&axes.of).for_each(|(extent, &slot)| extents[slot] *= extent);
        Shape::from(extents)
    };
    let inputs = [ctx.view(inputs[0], part(&a))?, ctx.view(inputs[1], part(&b))?];
    ctx.emit_as(op, &inputs, act, axes.extents.into())
}

pub(super) fn mean(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let keep = ctx.options::<ReducerOptions<'static>>()?.keep_dims();
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let mut reduced = vec![false; dims.len()];
    for index in ctx.integers(1, "axes")? {
        reduced[axis(index, dims.len())?] = true;
    }
    let kept = dims.iter().zip(&reduced).filter(|(_, reduced)| keep || !**reduced);
    ctx.gives(&kept.map(|(&extent, &reduced)| if reduced { 1 } else { extent }).collect::<Vec<_>>())?;
    let folded = fold(&dims, |axis| reduced[axis], |_| true)?;
    let mut axes = [false; 4];
    let mut shape = folded.extents;
    for (axis, &slot) in folded.of.iter().enumerate() {
        if reduced[axis] && dims[axis] > 1 {
            axes[slot] = true;
            shape[slot] = 1;
        }
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::Reduce { kind: Reduce::Mean, axes }, &[x], Act::None, shape.into())
}

/// Over the last axis, whatever the rank.
pub(super) fn softmax(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let beta = ctx.options::<SoftmaxOptions<'static>>()?.beta();
    let x = ctx.operand(0)?;
    ctx.gives(ctx.dims(x))?;
    ctx.emit(Op::Softmax { beta, log: false }, &[x], Act::None)
}

/// To integers or back. All is computed as the reals that integers stand for, so the values pass through as they are.
pub(super) fn requantise(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    if ctx.known(0)? {
        return ctx.fold();
    }
    let x = ctx.operand(0)?;
    ctx.gives(ctx.dims(x))?;
    ctx.emit(Op::Reshape, &[x], Act::None)
}
