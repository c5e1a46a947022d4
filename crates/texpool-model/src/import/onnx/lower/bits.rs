//! Evaluates functions of the bits of integers that are known. Floats that hold integers in a run have no such bits.

use crate::import::{
    common::extents,
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Integers,
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    row("BitwiseAnd", 18, |c| pairs(c, |a, b| a & b)),
    row("BitwiseOr", 18, |c| pairs(c, |a, b| a | b)),
    row("BitwiseXor", 18, |c| pairs(c, |a, b| a ^ b)),
    row("BitwiseNot", 18, not),
    row("BitShift", 11, shift),
];

const fn row(name: &'static str, since: i64, fold: fn(&mut NodeLowering<'_>) -> Result<(), Problem>) -> OnnxOpEntry {
    OnnxOpEntry::new(name, since, Integers, "none", Any, fold).limits("operands must be known").fold(fold)
}

/// Returns an operand that must be known as its integers.
fn integers(ctx: &NodeLowering<'_>, position: usize) -> Result<Array, Problem> {
    let array = ctx.known(position, "input")?;
    if array.to_i64().is_none() {
        return Err(Problem::malformed(format!("its operand {position} has no integers")));
    }
    Ok(array)
}

/// Evaluates a function of two integers. Results beyond the type of the first one are cut off.
fn pairs(ctx: &mut NodeLowering<'_>, function: impl Fn(i64, i64) -> i64) -> Result<(), Problem> {
    let [a, b] = [integers(ctx, 0)?, integers(ctx, 1)?];
    let dims = extents::broadcast(&[a.dims(), b.dims()])?;
    ctx.budget_for(&dims, 4 * size_of::<i64>(), 4)?;
    let [x, y] = [a.broadcast(&dims, ctx.meter())?, b.broadcast(&dims, ctx.meter())?];
    let (x, y) = (x.to_i64().unwrap_or_default(), y.to_i64().unwrap_or_default());
    let values = x.iter().zip(y).map(|(&x, &y)| function(x, y)).collect();
    ctx.give(0, Value::Known(Array::of_ints(dims, a.element_type(), values)));
    Ok(())
}

fn not(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = integers(ctx, 0)?;
    ctx.budget_for(x.dims(), 2 * size_of::<i64>(), 2)?;
    let values = x.to_i64().unwrap_or_default().iter().map(|&value| !value).collect();
    ctx.give(0, Value::Known(Array::of_ints(x.dims().to_vec(), x.element_type(), values)));
    Ok(())
}

/// Shifts unsigned integers. A shift by all bits leaves none.
fn shift(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let by = |amount: i64| u32::try_from(amount).ok();
    match ctx.text("direction", "")?.as_str() {
        "LEFT" => pairs(ctx, |x, amount| by(amount).and_then(|n| (x as u64).checked_shl(n)).unwrap_or(0) as i64),
        "RIGHT" => pairs(ctx, |x, amount| by(amount).and_then(|n| (x as u64).checked_shr(n)).unwrap_or(0) as i64),
        other => Err(Problem::malformed(format!("its direction is `{other}`"))),
    }
}
