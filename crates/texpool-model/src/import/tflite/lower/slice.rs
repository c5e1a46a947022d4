//! Lowers operators that select parts of a tensor: STRIDED_SLICE with its five masks, negative indices and strides,
//! REVERSE_V2, and operators that split a tensor into consecutive parts.

use super::axes::fold;
use crate::import::{
    common::axes::{AxisRange, axis, clamped, named_axes},
    error::Problem,
    tflite::{
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::{StridedSliceOptions, UnpackOptions},
    },
};
use texpool_ops::graph::{Act, Op, StridedSlice, TensorId};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("STRIDED_SLICE", LikeOnnx("Slice"), strided_slice),
    TfLiteOpEntry::new("SLICE", LikeOnnx("Slice"), slice),
    TfLiteOpEntry::new("REVERSE_V2", LikeOnnx("Slice"), reverse),
    TfLiteOpEntry::new("SPLIT", LikeOnnx("Split"), split).several_results(),
    TfLiteOpEntry::new("SPLIT_V", LikeOnnx("Split"), split_v).several_results(),
    TfLiteOpEntry::new("UNPACK", LikeOnnx("Split"), unpack).several_results(),
];

fn strided_slice(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(4, 4)?;
    let options = ctx.options::<StridedSliceOptions<'static>>()?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let [begin, end, stride] =
        [ctx.integers(1, "first indices")?, ctx.integers(2, "last indices")?, ctx.integers(3, "strides")?];
    if begin.len() != end.len() || begin.len() != stride.len() || begin.len() > 31 {
        let reason = format!("{} first indices, {} last, {} strides", begin.len(), end.len(), stride.len());
        return Err(Problem::malformed(reason));
    }
    let bounds: Vec<[i64; 3]> = (0..begin.len()).map(|i| [begin[i], end[i], stride[i]]).collect();
    let (ranges, result) = plan(&options, &dims, &bounds)?;
    give(ctx, x, &ranges, &result)
}

/// Selects a range of each axis of `x` as the result, which has these extents in the file.
fn give(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, ranges: &[AxisRange], dims: &[usize]) -> Result<(), Problem> {
    if dims.contains(&0) {
        return ctx.gives_empty(dims);
    }
    ctx.gives(dims)?;
    take(ctx, x, ranges)
}

/// Selects a range of each axis of `x` as the result.
fn take(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, ranges: &[AxisRange]) -> Result<(), Problem> {
    let dims = ctx.dims(x).to_vec();
    let whole = |axis: usize| ranges[axis] == AxisRange::whole(dims[axis]);
    let folded = fold(&dims, |axis| (!whole(axis)).then_some(axis), whole)?;
    let (mut begin, mut stride, mut shape) = ([0; 4], [1; 4], folded.extents);
    for (axis, &slot) in folded.of.iter().enumerate().filter(|&(axis, _)| !whole(axis)) {
        // An axis that is not selected completely has a unique role, so no other axis was merged with it.
        (begin[slot], stride[slot], shape[slot]) = (ranges[axis].begin, ranges[axis].stride, ranges[axis].count);
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::StridedSlice(StridedSlice { begin, stride }), &[x], Act::None, shape.into())
}

/// Selects by first index and extent of each axis. An extent of -1 selects all remaining elements.
fn slice(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let [begin, size] = [ctx.integers(1, "first indices")?, ctx.integers(2, "extents")?];
    if [begin.len(), size.len()] != [dims.len(); 2] {
        return Err(Problem::malformed(format!("{} first indices, {} extents of {dims:?}", begin.len(), size.len())));
    }
    let mut ranges = Vec::with_capacity(dims.len());
    for (axis, (&begin, &size)) in begin.iter().zip(&size).enumerate() {
        let begin = usize::try_from(begin).ok().filter(|&begin| begin <= dims[axis]);
        let rest = begin.map_or(0, |begin| dims[axis] - begin);
        let count = if size == -1 { Some(rest) } else { usize::try_from(size).ok().filter(|&n| n <= rest) };
        match (begin, count) {
            (Some(begin), Some(count)) => ranges.push(AxisRange::run(begin, count)),
            _ => return Err(Problem::malformed(format!("{size} elements of axis {axis} of {dims:?}"))),
        }
    }
    let result: Vec<usize> = ranges.iter().map(|range| range.count).collect();
    give(ctx, x, &ranges, &result)
}

/// Reverses the listed axes.
fn reverse(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let reversed = named_axes(&ctx.integers(1, "axes")?, dims.len())?;
    let range = |(axis, &extent): (usize, &usize)| match reversed.contains(&axis) && extent > 1 {
        true => AxisRange { begin: extent - 1, stride: -1, count: extent },
        false => AxisRange::whole(extent),
    };
    let ranges: Vec<AxisRange> = dims.iter().enumerate().map(range).collect();
    ctx.gives(&dims)?;
    take(ctx, x, &ranges)
}

/// Splits an axis into equal parts. The first operand contains the axis.
fn split(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let along = ctx.integer(0, "axis")?;
    let x = ctx.operand(1)?;
    let along = axis(along, ctx.dims(x).len())?;
    let (extent, count) = (ctx.dims(x)[along], ctx.result_count());
    if extent % count != 0 {
        return Err(Problem::malformed(format!("an axis of {extent} into {count} parts")));
    }
    parts(ctx, x, along, &vec![extent / count; count])
}

/// Splits an axis into parts with the stated extents, one of which may be -1.
fn split_v(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let x = ctx.operand(0)?;
    let along = axis(ctx.integer(2, "axis")?, ctx.dims(x).len())?;
    let stated = ctx.integers(1, "extents")?;
    let stated_sum = stated.iter().filter(|&&n| n > 0).fold(0i64, |sum, &n| sum.saturating_add(n));
    let extent = ctx.dims(x)[along];
    let open = stated.iter().filter(|&&n| n == -1).count();
    // Negative results become larger than any axis, so that the check below fails.
    let part = |&n: &i64| usize::try_from(if n == -1 { extent as i64 - stated_sum } else { n }).unwrap_or(usize::MAX);
    let extents: Vec<usize> = stated.iter().map(part).collect();
    if open > 1 || extents.iter().fold(0usize, |sum, &n| sum.saturating_add(n)) != extent {
        return Err(Problem::malformed(format!("an axis of {extent} into parts of {stated:?}")));
    }
    ctx.results(extents.len())?;
    parts(ctx, x, along, &extents)
}

fn parts(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, along: usize, extents: &[usize]) -> Result<(), Problem> {
    let dims = ctx.dims(x).to_vec();
    let mut begin = 0;
    // A part without elements gets no value, and operators that read it are refused.
    for (result, &count) in extents.iter().enumerate().filter(|(_, count)| **count > 0) {
        ctx.select(result)?;
        let mut ranges: Vec<AxisRange> = dims.iter().copied().map(AxisRange::whole).collect();
        ranges[along] = AxisRange::run(begin, count);
        ctx.gives(&ranges.iter().map(|range| range.count).collect::<Vec<_>>())?;
        take(ctx, x, &ranges)?;
        begin += count;
    }
    Ok(())
}

/// Returns one result per index of an axis. The axis is dropped.
fn unpack(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let options = ctx.options::<UnpackOptions<'static>>()?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let along = axis(i64::from(options.axis()), dims.len())?;
    ctx.results(dims[along])?;
    let mut rest = dims.clone();
    rest.remove(along);
    for begin in 0..dims[along] {
        ctx.select(begin)?;
        ctx.gives(&rest)?;
        let mut ranges: Vec<AxisRange> = dims.iter().copied().map(AxisRange::whole).collect();
        ranges[along] = AxisRange::run(begin, 1);
        take(ctx, x, &ranges)?;
    }
    Ok(())
}

/// Returns the range of each axis, and the extents of the result.
fn plan(
    options: &StridedSliceOptions<'_>,
    dims: &[usize],
    bounds: &[[i64; 3]],
) -> Result<(Vec<AxisRange>, Vec<usize>), Problem> {
    let bit = |mask: i32, i: usize| mask >> i & 1 == 1;
    let ellipsis = |i: usize| bit(options.ellipsis_mask(), i);
    let new_axis = |i: usize| bit(options.new_axis_mask(), i) && !ellipsis(i);
    let indices = 0..bounds.len();
    let dots = indices.clone().filter(|&i| ellipsis(i)).count();
    let named = indices.filter(|&i| !ellipsis(i) && !new_axis(i)).count();
    if dots > 1 || named > dims.len() {
        return Err(Problem::malformed(format!("its masks name {named} axes and {dots} ellipses of {dims:?}")));
    }

    let mut ranges = Vec::with_capacity(dims.len());
    let mut result = Vec::new();
    let rest = |ranges: &mut Vec<AxisRange>, result: &mut Vec<usize>, until: usize| {
        for &extent in &dims[ranges.len()..until] {
            ranges.push(AxisRange::whole(extent));
            result.push(extent);
        }
    };
    for (i, &bound) in bounds.iter().enumerate() {
        if ellipsis(i) {
            // The number of named axes was checked above, so the number left for the ellipsis is not negative.
            let after = (i + 1..bounds.len()).filter(|&j| !new_axis(j)).count();
            rest(&mut ranges, &mut result, dims.len() - after);
        } else if new_axis(i) {
            result.push(1);
        } else {
            let axis = ranges.len();
            let open = [bit(options.begin_mask(), i), bit(options.end_mask(), i)];
            let shrinks = bit(options.shrink_axis_mask(), i);
            let one = if shrinks {
                index(dims[axis], bound, open[0])?
            } else {
                range(dims[axis], bound, open, options.offset())?
            };
            ranges.push(one);
            if !shrinks {
                result.push(one.count);
            }
        }
    }
    rest(&mut ranges, &mut result, dims.len());
    Ok((ranges, result))
}

/// Selects a single index. The axis is dropped from the result.
fn index(extent: usize, [begin, _, stride]: [i64; 3], open: bool) -> Result<AxisRange, Problem> {
    let begin = if open { 0 } else { begin };
    let at = if begin < 0 { begin.checked_add(extent as i64) } else { Some(begin) };
    match at.and_then(|at| usize::try_from(at).ok()) {
        Some(begin) if begin < extent && stride > 0 => Ok(AxisRange::run(begin, 1)),
        _ => Err(Problem::malformed(format!("index {begin} of an axis of {extent}, stride {stride}"))),
    }
}

/// Selects a range. Indices may be negative or out of range, as in Python.
fn range(
    extent: usize,
    [begin, end, stride]: [i64; 3],
    [begin_open, end_open]: [bool; 2],
    relative: bool,
) -> Result<AxisRange, Problem> {
    let size = extent as i64;
    let [first, behind_last] = if stride > 0 { [0, size] } else { [size - 1, -1] };
    let first = if begin_open { first } else { clamped(begin, extent, stride) };
    let last = match end_open {
        true => behind_last,
        // Relative to the first index, so a negative number does not count from the end.
        false if relative => first.saturating_add(end).clamp(first.min(behind_last), first.max(behind_last)),
        false => clamped(end, extent, stride),
    };
    AxisRange::between(first, last, stride)
        .ok_or_else(|| Problem::malformed(format!("{begin}..{end} by {stride} of an axis of {extent}")))
}
