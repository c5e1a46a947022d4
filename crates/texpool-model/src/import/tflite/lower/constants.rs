//! Lowers operators whose results are constants where their arguments are: extents, ranks, ranges, and tensors of one
//! value.

use super::layout::repeat;
use crate::import::{
    error::Problem,
    op_registry::{All, Numbers, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
    },
};
use texpool_ops::graph::{Constant, Shape};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("SHAPE", LikeOnnx("Shape"), shape),
    TfLiteOpEntry::new("RANK", Alone(Support::new(All, "none")), rank),
    TfLiteOpEntry::new("RANGE", LikeOnnx("Range"), range),
    TfLiteOpEntry::new("FILL", LikeOnnx("Expand"), fill),
    TfLiteOpEntry::new("ZEROS_LIKE", Alone(Support::new(Numbers, "none")), zeros_like),
];

/// Turns the operand's extents, which every file states, into a constant.
fn shape(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.measured(0)?;
    let dims = ctx.dims(x).iter().map(|&extent| i32::try_from(extent));
    let dims = dims.collect::<Result<Vec<_>, _>>().map_err(|_| Problem::limit("an extent is no integer of 32 bits"))?;
    ctx.give_integers(&dims)
}

/// Turns the operand's number of axes into a constant.
fn rank(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.measured(0)?;
    let axes = i32::try_from(ctx.dims(x).len()).map_err(|_| Problem::limit("its operand has too many axes"))?;
    ctx.meter().memory(size_of::<i32>())?;
    ctx.give_constant(&[], Constant::from_i32(&[axes]))
}

/// Counts from a start to a limit, which is left out.
fn range(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let names = ["start", "limit", "delta"];
    if let [true, false] = ctx.gives_integers() {
        let [start, limit, delta] = [0, 1, 2].map(|position| ctx.integer(position, names[position]));
        let (start, limit, delta) = (start?, limit?, delta?);
        let none = || no_range(&format!("{start} to {limit} by {delta}"));
        let distance = if delta > 0 { limit.checked_sub(start) } else { start.checked_sub(limit) };
        let distance = distance.filter(|&distance| delta != 0 && distance >= 0).ok_or_else(none)?;
        let count = usize::try_from(distance.unsigned_abs().div_ceil(delta.unsigned_abs())).unwrap_or(usize::MAX);
        Problem::check_result(&[count])?;
        let value = |i: usize| i32::try_from(start + i as i64 * delta);
        // Values between the first and the last one, which fit.
        if value(0).is_err() || value(count - 1).is_err() {
            return Err(Problem::limit(format!(
                "its result counts from {start} to {limit}, beyond integers of 32 bits"
            )));
        }
        let values = ctx.meter().filled(count, (0..count).map(|i| value(i).unwrap_or_default()))?;
        return ctx.give_integers(&values);
    }
    let [start, limit, delta] = [0, 1, 2].map(|position| ctx.scalar(position, names[position]));
    let (start, limit, delta) = (start?, limit?, delta?);
    let count = ((limit - start) / delta).abs().ceil();
    let forwards = if delta > 0.0 { limit >= start } else { delta < 0.0 && limit <= start };
    if !forwards || !count.is_finite() {
        return Err(no_range(&format!("{start} to {limit} by {delta}")));
    }
    // The conversion saturates; the check below refuses such counts.
    let count = count as usize;
    Problem::check_result(&[count])?;
    // TensorFlow Lite adds up in 32 bits as well.
    let values = std::iter::successors(Some(start), |value| Some(value + delta));
    let values = ctx.meter().filled(count, values)?;
    ctx.meter().memory(size_of_val(&*values))?;
    ctx.give_constant(&[count], Constant::from_f32(&values))
}

fn no_range(range: &str) -> Problem {
    Problem::malformed(format!("it counts from {range}, which leads nowhere"))
}

/// Repeats one value.
fn fill(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let stated = ctx.integers(0, "extents")?;
    let dims: Option<Vec<usize>> = stated.iter().map(|&extent| usize::try_from(extent).ok()).collect();
    let dims = dims.ok_or_else(|| Problem::malformed(format!("its extents are {stated:?}")))?;
    Problem::check_result(&dims)?;
    let value = ctx.operand(1)?;
    if ctx.shape(value).len() != 1 {
        return Err(Problem::malformed(format!("it repeats {:?}, which is no single value", ctx.dims(value))));
    }
    if !ctx.is_constant(value) {
        let ones = vec![1; dims.len()];
        let value = ctx.view(value, Shape::new(1, 1, 1, 1))?;
        return repeat(ctx, value, &ones, &dims);
    }
    let constant = ctx.repeated(value, dims.iter().product())?;
    ctx.give_constant(&dims, constant)
}

/// Gives zeros in the operand's extents. TensorFlow Lite has them of floats and of integers without a scale.
fn zeros_like(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.measured(0)?;
    let dims = ctx.dims(x).to_vec();
    Problem::check_result(&dims)?;
    let output = ctx.output()?;
    let zero = match ctx.gives_integers() {
        [_, true] => return Err(Problem::unsupported("its result holds truth values")),
        [true, false] => Constant::from_i32(&[0]),
        [false, false] if !ctx.is_float(output) => {
            return Err(Problem::unsupported("its result holds integers with a scale"));
        }
        [false, false] => Constant::from_f32(&[0.0]),
    };
    let zeros = ctx.repeated_constant(Some(zero), dims.iter().product())?;
    ctx.give_constant(&dims, zeros)
}
