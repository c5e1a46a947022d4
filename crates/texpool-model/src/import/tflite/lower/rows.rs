//! Lowers operators that read or write the rows that tuples of indices name, and sums of segments of rows.

use crate::import::{
    error::Problem,
    op_registry::{Numbers, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
    },
};
use texpool_ops::graph::{Act, Binary, Gather, Op, Reduce, ReduceKind, SegmentKind, SegmentReduce, Shape, TensorId};

/// Support of sums of rows.
const SEGMENTS: Support = Support::new(Numbers, "segment_reduce");

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("GATHER_ND", LikeOnnx("GatherND"), gather),
    TfLiteOpEntry::new(
        "SCATTER_ND",
        Alone(Support::new(Numbers, "binary, reduce, segment_reduce").limits("extents must be known")),
        scatter,
    ),
    TfLiteOpEntry::new("SEGMENT_SUM", Alone(SEGMENTS.limits("segments must be known")), segment_sum),
    TfLiteOpEntry::new("UNSORTED_SEGMENT_SUM", Alone(SEGMENTS.limits("their number must be known")), |c| {
        unsorted(c, SegmentKind::Sum)
    }),
    TfLiteOpEntry::new("UNSORTED_SEGMENT_PROD", Alone(SEGMENTS.limits("their number must be known")), |c| {
        unsorted(c, SegmentKind::Prod)
    }),
];

/// Greatest number of rows that floats tell apart.
const MOST_ROWS: usize = 1 << f32::MANTISSA_DIGITS;

/// Rows that tuples name.
struct Rows {
    /// `[1, 1, 1, count]`.
    numbers: TensorId,
    count: usize,
}

/// Returns the rows that the tuples along the last axis of an operand name, among those of the first axes of `dims`,
/// and the extents of a row. Fails if an index that is known lies outside its axis.
fn named(ctx: &mut OperatorLowering<'_, '_>, indices: TensorId, dims: &[usize]) -> Result<(Rows, Vec<usize>), Problem> {
    let tuples = ctx.dims(indices).to_vec();
    let fits = tuples.last().is_some_and(|&width| (1..=dims.len()).contains(&width));
    let (Some((&width, outer)), true) = (tuples.split_last(), fits) else {
        return Err(Problem::malformed(format!("indices of {tuples:?} into {dims:?}")));
    };
    let (named, row) = dims.split_at(width);
    let rows: usize = named.iter().product();
    if rows > MOST_ROWS {
        return Err(Problem::limit(format!("it tells {rows} rows apart: at most {MOST_ROWS} are supported")));
    }
    let count: usize = outer.iter().product();
    let strides: Vec<f32> = (0..width).map(|axis| named[axis + 1..].iter().product::<usize>() as f32).collect();
    if ctx.is_constant(indices) {
        ctx.meter().work(count.saturating_mul(width))?;
        let list = ctx.values(indices)?;
        let mut numbers = Vec::with_capacity(count);
        for tuple in list.chunks_exact(width) {
            if !tuple.iter().zip(named).all(|(&index, &extent)| (0.0..extent as f32).contains(&index)) {
                return Err(Problem::malformed(format!("the indices {tuple:?} lie outside {named:?}")));
            }
            numbers.push(tuple.iter().zip(&strides).map(|(index, stride)| index * stride).sum());
        }
        let numbers = ctx.new_constant(Shape::new(1, 1, 1, count), &numbers)?;
        return Ok((Rows { numbers, count }, row.to_vec()));
    }
    let mut numbers = ctx.view(indices, Shape::new(1, 1, count, width))?;
    if width > 1 {
        let strides = ctx.new_constant(Shape::new(1, 1, 1, width), &strides)?;
        let scaled = ctx.between(Op::Binary(Binary::Mul), &[numbers, strides], Shape::new(1, 1, count, width))?;
        let sum = Reduce { kind: ReduceKind::Sum, axes: [false, false, false, true] };
        numbers = ctx.between(Op::Reduce(sum), &[scaled], Shape::new(1, 1, count, 1))?;
    }
    let numbers = ctx.view(numbers, Shape::new(1, 1, 1, count))?;
    Ok((Rows { numbers, count }, row.to_vec()))
}

fn gather(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let (x, indices) = (ctx.operand(0)?, ctx.operand(1)?);
    let dims = ctx.dims(x).to_vec();
    let (rows, row) = named(ctx, indices, &dims)?;
    let tuples = ctx.dims(indices);
    ctx.gives(&[&tuples[..tuples.len() - 1], &row].concat())?;
    let width: usize = row.iter().product();
    let all = ctx.shape(x).len() / width.max(1);
    let table = ctx.view(x, Shape::new(1, 1, all, width))?;
    let shape = Shape::new(1, 1, rows.count, width);
    ctx.emit_as(Op::Gather(Gather { axis: 2 }), &[table, rows.numbers], Act::None, shape)
}

/// Adds up the updates of a row. Rows without updates are zeros.
fn scatter(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let (indices, updates) = (ctx.operand(0)?, ctx.operand(1)?);
    let stated = ctx.integers(2, "extents")?;
    let dims: Vec<usize> = stated.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
    if stated.contains(&0) {
        return Err(Problem::empty_result(&dims));
    }
    let elements = dims.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    if dims.contains(&0) || elements.is_none() {
        return Err(Problem::malformed(format!("its extents are {stated:?}")));
    }
    let (rows, row) = named(ctx, indices, &dims)?;
    let tuples = ctx.dims(indices);
    let expected = [&tuples[..tuples.len() - 1], &row].concat();
    if ctx.dims(updates) != expected {
        return Err(Problem::malformed(format!("updates of {:?} for {expected:?}", ctx.dims(updates))));
    }
    ctx.gives(&dims)?;
    let all = elements.unwrap_or(0) / row.iter().product::<usize>().max(1);
    reduced(ctx, updates, &rows, SegmentKind::Sum, all)
}

/// Reduces the rows of each segment.
fn reduced(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    segments: &Rows,
    kind: SegmentKind,
    count: usize,
) -> Result<(), Problem> {
    let width = ctx.shape(x).len() / segments.count.max(1);
    let rows = ctx.view(x, Shape::new(1, 1, segments.count, width))?;
    let shape = Shape::new(1, 1, count, width);
    ctx.emit_as(Op::SegmentReduce(SegmentReduce { kind, sorted: false }), &[rows, segments.numbers], Act::None, shape)
}

/// The last segment decides how many there are.
fn segment_sum(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let (x, segments) = (ctx.operand(0)?, ctx.constant(1, "segments")?);
    let last = ctx.values(segments)?.last().copied().unwrap_or(-1.0);
    if ctx.dims(segments).len() != 1 || !(0.0..MOST_ROWS as f32).contains(&last) {
        return Err(Problem::malformed(format!("its segments are {:?}, the last one {last}", ctx.dims(segments))));
    }
    by_segment(ctx, x, segments, SegmentKind::Sum, last as usize + 1)
}

fn unsorted(ctx: &mut OperatorLowering<'_, '_>, kind: SegmentKind) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let (x, segments) = (ctx.operand(0)?, ctx.operand(1)?);
    let count = ctx.integer(2, "number of segments")?;
    let count = usize::try_from(count).ok().filter(|&count| (1..=MOST_ROWS).contains(&count));
    let count = count.ok_or_else(|| Problem::malformed("its number of segments is no extent"))?;
    by_segment(ctx, x, segments, kind, count)
}

/// The segments are those of the first axes.
fn by_segment(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    segments: TensorId,
    kind: SegmentKind,
    count: usize,
) -> Result<(), Problem> {
    let (dims, own) = (ctx.dims(x).to_vec(), ctx.dims(segments).to_vec());
    let Some(row) = dims.strip_prefix(own.as_slice()).filter(|_| !own.is_empty()) else {
        return Err(Problem::malformed(format!("segments of {own:?} for {dims:?}")));
    };
    ctx.gives(&[&[count], row].concat())?;
    let all: usize = own.iter().product();
    let numbers = ctx.view(segments, Shape::new(1, 1, 1, all))?;
    reduced(ctx, x, &Rows { numbers, count: all }, kind, count)
}
