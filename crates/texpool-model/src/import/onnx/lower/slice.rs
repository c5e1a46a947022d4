//! Lowers Slice, Split and ReverseSequence, which select ranges of axes.

use super::{align::isolate, concat::joined};
use crate::import::{
    common::axes::{AxisRange, axis, clamped, named_axes},
    error::Problem,
    onnx::{
        array::{Array, count, strides, walk},
        layout_selection::resized,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::LikeOperand, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::All,
};
use texpool_ops::graph::{Op, StridedSlice};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Slice", 1, All, "rearrange", LikeOperand, slice).limits("indices must be known").fold(slice),
    OnnxOpEntry::new("Split", 1, All, "rearrange", LikeOperand, split).limits("sizes must be known").fold(split),
    OnnxOpEntry::new("ReverseSequence", 10, All, "concat, rearrange", LikeOperand, reverse_sequence)
        .limits("lengths must be known")
        .fold(reverse_sequence),
];

/// Selects a range along some of the axes.
pub(super) fn take(ctx: &mut NodeLowering<'_>, value: &Value, all: &[(usize, AxisRange)]) -> Result<Value, Problem> {
    match value {
        Value::Known(array) => {
            let mut dims = array.dims().to_vec();
            let by = strides(&dims);
            // Signed, because steps may go backwards.
            let mut first = 0isize;
            let mut steps: Vec<isize> = by.iter().map(|&s| s as isize).collect();
            for &(axis, range) in all {
                dims[axis] = range.count;
                first += (range.begin * by[axis]) as isize;
                steps[axis] *= range.stride;
            }
            let elements = count(&dims)?;
            let index: Vec<Vec<isize>> =
                steps.iter().zip(&dims).map(|(&s, &d)| (0..d as isize).map(|i| i * s).collect()).collect();
            let ones: Vec<usize> = strides(&dims);
            let at = walk(&dims, &ones).map(|flat| {
                let mut at = first;
                for (axis, list) in index.iter().enumerate() {
                    at += list[flat / ones[axis] % dims[axis]];
                }
                at as usize
            });
            ctx.meter().work(elements.saturating_mul(dims.len()))?;
            Ok(Value::Known(array.gathered(dims.clone(), at, ctx.meter())?))
        }
        Value::Computed(x) if all.iter().any(|(_, range)| range.count == 0) => {
            let mut dims = x.dims.clone();
            all.iter().for_each(|&(axis, range)| dims[axis] = range.count);
            Ok(Value::Known(Array::nothing(dims, x.elem)))
        }
        Value::Computed(x) => {
            let mut x = x.clone();
            // At most three axes can be isolated at once, because the fourth physical axis holds all others.
            for group in all.chunks(3) {
                let axes: Vec<usize> = group.iter().map(|&(axis, _)| axis).collect();
                let (y, slots) = isolate(ctx, &x, &axes)?;
                let mut extents = y.layout.shape().dims();
                let (mut begin, mut stride) = ([0; 4], [1; 4]);
                let (mut layout, mut dims) = (y.layout.clone(), y.dims.clone());
                for (&(axis, range), &slot) in group.iter().zip(&slots) {
                    (begin[slot], stride[slot], extents[slot]) = (range.begin, range.stride, range.count);
                    layout = resized(&layout, &dims, axis, slot, range.count);
                    dims[axis] = range.count;
                }
                let slice = Op::StridedSlice(StridedSlice { begin, stride });
                let tensor = ctx.emit(slice, &[y.tensor], extents.into())?;
                x = Computed { tensor, dims, layout, elem: y.elem };
            }
            x.layout = x.layout.tidy(&x.dims);
            Ok(Value::Computed(x))
        }
    }
}

fn slice(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let rank = x.dims().len();
    let need = |list: Option<Vec<i64>>| list.ok_or_else(|| Problem::malformed("it names no indices"));
    let starts = need(ctx.list("starts", 1)?)?;
    let ends = need(ctx.list("ends", 2)?)?;
    let named = ctx.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if ctx.optional(4).is_some() { ctx.integers(4, "steps")? } else { vec![1; starts.len()] };
    if [ends.len(), named.len(), steps.len()] != [starts.len(); 3] {
        return Err(Problem::malformed("its lists of indices differ in length"));
    }
    let named = named_axes(&named, rank)?;
    let mut all: Vec<(usize, AxisRange)> = Vec::new();
    for (i, &axis) in named.iter().enumerate() {
        let extent = x.dims()[axis];
        let range = range(extent, starts[i], ends[i], steps[i])?;
        if range != AxisRange::whole(extent) {
            all.push((axis, range));
        }
    }
    let result = if all.is_empty() { x } else { take(ctx, &x, &all)? };
    ctx.give(0, result);
    Ok(())
}

/// Resolves a range of an axis. Indices may be negative or out of range, as in Python. A backward range that starts
/// before the axis takes the first index, as ONNX specifies.
fn range(extent: usize, start: i64, end: i64, step: i64) -> Result<AxisRange, Problem> {
    if step == 0 {
        return Err(Problem::malformed("it takes steps of 0"));
    }
    if extent == 0 {
        return Ok(AxisRange::whole(0));
    }
    let range = AxisRange::between(clamped(start, extent, step).max(0), clamped(end, extent, step), step);
    range.ok_or_else(|| Problem::malformed(format!("it takes {start} to {end} by {step} of {extent}")))
}

fn split(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let along = ctx.axis(x.dims().len(), 0)?;
    let (extent, parts) = (x.dims()[along], ctx.results.len());
    let sizes: Vec<usize> = match ctx.list("split", 1)? {
        Some(sizes) => sizes.iter().map(|&s| usize::try_from(s).unwrap_or(usize::MAX)).collect(),
        None => {
            // If the axis is not divisible, the last part is shorter.
            let each = extent.div_ceil(parts.max(1));
            (0..parts).map(|i| each.min(extent.saturating_sub(i * each))).collect()
        }
    };
    if sizes.len() != parts || sizes.iter().try_fold(0usize, |n, &s| n.checked_add(s)) != Some(extent) {
        return Err(Problem::malformed(format!("it splits {extent} into {sizes:?}, {parts} results")));
    }
    let mut begin = 0;
    for (position, size) in sizes.into_iter().enumerate() {
        if ctx.wants(position) {
            let result = match size == extent {
                true => x.clone(),
                false => take(ctx, &x, &[(along, AxisRange::run(begin, size))])?,
            };
            ctx.give(position, result);
        }
        begin += size;
    }
    Ok(())
}

/// Reverses the first elements of each sequence of a batch; how many is stated for each sequence.
fn reverse_sequence(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let rank = x.dims().len();
    let (batch, time) =
        (axis(ctx.int("batch_axis")?.unwrap_or(1), rank)?, axis(ctx.int("time_axis")?.unwrap_or(0), rank)?);
    let lengths = ctx.known(1, "lengths")?;
    let lengths = lengths.to_i64().unwrap_or_default();
    let (sequences, steps) = (x.dims()[batch], x.dims()[time]);
    let within = |&length: &i64| usize::try_from(length).ok().filter(|&length| length <= steps);
    let within: Option<Vec<usize>> = lengths.iter().map(within).collect();
    let Some(lengths) = within.filter(|lengths| lengths.len() == sequences && batch != time) else {
        return Err(Problem::malformed(format!("it reverses {lengths:?} of {sequences} sequences of {steps} steps")));
    };
    // A node for each sequence, unless all of them have the same length.
    let result = match lengths.first() {
        Some(&length) if lengths.iter().any(|&other| other != length) => {
            ctx.budget_for(&[sequences], 0, x.len() / sequences.max(1))?;
            let mut parts = Vec::with_capacity(sequences);
            for (index, &length) in lengths.iter().enumerate() {
                let sequence = take(ctx, &x, &[(batch, AxisRange::run(index, 1))])?;
                parts.push(reversed(ctx, &sequence, time, length)?);
            }
            joined(ctx, &parts, batch)?
        }
        Some(&length) => reversed(ctx, &x, time, length)?,
        None => x,
    };
    ctx.give(0, result);
    Ok(())
}

/// Reverses the first `length` elements of an axis.
fn reversed(ctx: &mut NodeLowering<'_>, x: &Value, along: usize, length: usize) -> Result<Value, Problem> {
    if length < 2 {
        return Ok(x.clone());
    }
    let extent = x.dims()[along];
    let first = take(ctx, x, &[(along, AxisRange { begin: length - 1, stride: -1, count: length })])?;
    if length == extent {
        return Ok(first);
    }
    let rest = take(ctx, x, &[(along, AxisRange::run(length, extent - length))])?;
    joined(ctx, &[first, rest], along)
}
