//! STRIDED_SLICE: five masks, negative indices and strides, made plain numbers.

use super::axes::fold;
use crate::{
    graph::{Act, Op},
    import::{context::Context, error::Problem, schema::StridedSliceOptions},
};

/// What is taken of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    begin: usize,
    stride: isize,
    count: usize,
}

pub(super) fn strided_slice(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
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
    let (taken, result) = plan(&options, &dims, &bounds)?;
    ctx.gives(&result)?;

    let whole = |axis: usize| taken[axis] == Taken { begin: 0, stride: 1, count: dims[axis] };
    let folded = fold(&dims, |axis| (!whole(axis)).then_some(axis), whole)?;
    let (mut begin, mut stride, mut shape) = ([0; 4], [1; 4], folded.extents);
    for (axis, &slot) in folded.of.iter().enumerate().filter(|&(axis, _)| !whole(axis)) {
        (begin[slot], stride[slot], shape[slot]) = (taken[axis].begin, taken[axis].stride, taken[axis].count);
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::StridedSlice { begin, stride }, &[x], Act::None, shape.into())
}

/// What is taken of every axis, and the extents of the result.
fn plan(
    options: &StridedSliceOptions<'_>,
    dims: &[usize],
    bounds: &[[i64; 3]],
) -> Result<(Vec<Taken>, Vec<usize>), Problem> {
    let bit = |mask: i32, i: usize| mask >> i & 1 == 1;
    let ellipsis = |i: usize| bit(options.ellipsis_mask(), i);
    let new_axis = |i: usize| bit(options.new_axis_mask(), i) && !ellipsis(i);
    let indices = 0..bounds.len();
    let dots = indices.clone().filter(|&i| ellipsis(i)).count();
    let named = indices.filter(|&i| !ellipsis(i) && !new_axis(i)).count();
    if dots > 1 || named > dims.len() {
        return Err(Problem::malformed(format!("its masks name {named} axes and {dots} ellipses of {dims:?}")));
    }

    let mut taken = Vec::with_capacity(dims.len());
    let mut result = Vec::new();
    let rest = |taken: &mut Vec<Taken>, result: &mut Vec<usize>, until: usize| {
        for &extent in &dims[taken.len()..until] {
            taken.push(Taken { begin: 0, stride: 1, count: extent });
            result.push(extent);
        }
    };
    for (i, &bound) in bounds.iter().enumerate() {
        if ellipsis(i) {
            let after = (i + 1..bounds.len()).filter(|&j| !new_axis(j)).count();
            rest(&mut taken, &mut result, dims.len() - after);
        } else if new_axis(i) {
            result.push(1);
        } else {
            let axis = taken.len();
            let open = [bit(options.begin_mask(), i), bit(options.end_mask(), i)];
            let shrinks = bit(options.shrink_axis_mask(), i);
            let one = if shrinks {
                index(dims[axis], bound, open[0])?
            } else {
                range(dims[axis], bound, open, options.offset())?
            };
            taken.push(one);
            if !shrinks {
                result.push(one.count);
            }
        }
    }
    rest(&mut taken, &mut result, dims.len());
    Ok((taken, result))
}

/// One index, whose axis disappears.
fn index(extent: usize, [begin, _, stride]: [i64; 3], open: bool) -> Result<Taken, Problem> {
    let begin = if open { 0 } else { begin };
    let at = if begin < 0 { begin.checked_add(extent as i64) } else { Some(begin) };
    match at.and_then(|at| usize::try_from(at).ok()) {
        Some(begin) if begin < extent && stride > 0 => Ok(Taken { begin, stride: 1, count: 1 }),
        _ => Err(Problem::malformed(format!("index {begin} of an axis of {extent}, stride {stride}"))),
    }
}

/// A range; indices may be negative or beyond the axis, as in Python.
fn range(
    extent: usize,
    [begin, end, stride]: [i64; 3],
    [begin_open, end_open]: [bool; 2],
    relative: bool,
) -> Result<Taken, Problem> {
    let empty = || Problem::dynamic(format!("{begin}..{end} by {stride} of an axis of {extent} is empty"));
    let size = extent as i64;
    let (lowest, highest) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let clamp = |i: i64| if i < 0 { i.saturating_add(size) } else { i }.clamp(lowest, highest);
    let first = match (begin_open, stride > 0) {
        (true, true) => 0,
        (true, false) => size - 1,
        (false, _) => clamp(begin),
    };
    let last = match (end_open, stride > 0) {
        (true, true) => size,
        (true, false) => -1,
        (false, _) if relative => first.saturating_add(end).clamp(lowest, highest),
        (false, _) => clamp(end),
    };
    let distance = if stride > 0 { last - first } else { first - last };
    if stride == 0 || distance <= 0 {
        return Err(empty());
    }
    let count = distance.unsigned_abs().div_ceil(stride.unsigned_abs());
    match (usize::try_from(first), isize::try_from(stride), usize::try_from(count)) {
        (Ok(begin), Ok(_), Ok(1)) => Ok(Taken { begin, stride: 1, count: 1 }),
        (Ok(begin), Ok(stride), Ok(count)) => Ok(Taken { begin, stride, count }),
        _ => Err(empty()),
    }
}
