//! Lowers operators whose results have an extent that depends on values: NonZero, Compress and NonMaxSuppression.
//!
//! Flags say which places of a list are meant. Each of these places is found by the running sums of the flags; the sum
//! of all flags is the extent.

use super::{
    align::placed_as,
    basic::{one, selected, two},
    concat::joined,
    gather::{picked, picked_by},
    shapes::reshaped,
    slice::take,
};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        array::{Array, strides},
        fold::math,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        open_extents::view,
        value::{BoundedAxis, Computed, MOST_PLACES, Size, Value},
    },
    op_registry::{All, Floats},
};
use texpool_ops::graph::{
    Binary, CumSum, ElementType, NonMaxSuppression, Op, Reduce, ReduceKind, Shape, Threshold, Unary,
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("NonZero", 9, All, "binary, cum_sum, locate, reduce, unary", Any, non_zero)
        .limits("not inside loops and functions, unless the input is known")
        .fold(known_non_zero),
    OnnxOpEntry::new("Compress", 9, All, "cum_sum, gather, locate, reduce", Any, compress)
        .limits("not inside loops and functions, unless the condition is known")
        .fold(compress),
    OnnxOpEntry::new(
        "NonMaxSuppression",
        10,
        Floats,
        "binary, cum_sum, gather, locate, non_max_suppression, reduce, unary",
        Any,
        suppress,
    )
    .limits("number and the limit of overlaps must be known; 98304 boxes; not inside loops and functions"),
];

/// Most flags whose running sums are computed one after the other.
const ROW: usize = 1024;

/// Places that flags mean.
struct Found {
    /// Numbers of the places, and behind them that of the last place.
    places: Computed,
    /// Number of places that are meant.
    count: Computed,
}

/// Finds the places of a list of flags, which are zeros and ones.
fn found(ctx: &mut NodeLowering<'_>, flags: &Value) -> Result<Found, Problem> {
    let number = flags.len();
    if !ctx.keeps_extents {
        return Err(Problem::unsupported("the extent of its result is found in a run, inside a loop or function"));
    }
    if number > MOST_PLACES {
        return Err(Problem::limit(format!("it selects among {number} places, at most {MOST_PLACES} are supported")));
    }
    // Rows and columns are equally many, so that both sums are short.
    let columns = if number <= ROW { number } else { number.isqrt().next_multiple_of(4) };
    let rows = number.div_ceil(columns);
    let mut flags = reshaped(ctx.lowering, flags, &[number])?;
    let missing = rows * columns - number;
    if missing > 0 {
        let none = Array::of_ints(vec![1], ElementType::Bool, vec![0]).broadcast(&[missing], ctx.meter())?;
        flags = joined(ctx, &[flags, Value::Known(none)], 0)?;
    }
    let dims = [rows, columns];
    let flags = reshaped(ctx.lowering, &flags, &dims)?;
    let flags = placed_as(ctx.lowering, &flags, &AtomLayout::of(&dims, &[vec![], vec![0], vec![], vec![1]]))?;
    let (running, sum) = (
        Op::CumSum(CumSum { axis: 3, exclusive: false, reverse: false }),
        Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: [false, false, false, true] }),
    );
    let sums = ctx.emit(running.clone(), &[flags], Shape::new(1, rows, 1, columns))?;
    let totals = ctx.emit(sum.clone(), &[flags], Shape::new(1, rows, 1, 1))?;
    let (ends, count) = if rows == 1 {
        (totals, totals)
    } else {
        let shape = Shape::new(1, 1, 1, rows);
        let totals = ctx.lowering.reshape(totals, shape)?;
        (ctx.emit(running, &[totals], shape)?, ctx.emit(sum, &[totals], Shape::new(1, 1, 1, 1))?)
    };
    let row = AtomLayout::of(&[number], &[vec![], vec![], vec![], vec![0]]);
    let places = ctx.emit(Op::Locate, &[sums, ends], row.shape())?;
    let elem = ElementType::I64;
    Ok(Found {
        places: Computed { tensor: places, dims: vec![number], layout: row, elem },
        count: Computed { tensor: count, dims: vec![1], layout: AtomLayout::natural(&[1]), elem },
    })
}

/// Returns whether elements are not zero.
fn not_zero(ctx: &mut NodeLowering<'_>, x: &Value) -> Result<Value, Problem> {
    let x = ctx.compute(x)?;
    if x.elem == ElementType::Bool {
        return Ok(Value::Computed(x));
    }
    Ok(Value::Computed(one(ctx, Unary::NotZero, &x, ElementType::Bool)?))
}

/// Returns a list of integers as a value of these extents.
fn integers(dims: &[usize], list: &[usize]) -> Value {
    let list = list.iter().map(|&integer| integer as i64).collect();
    Value::Known(Array::of_ints(dims.to_vec(), ElementType::I64, list))
}

/// Returns `numbers / divisors % extents`, in integers.
fn digits(ctx: &mut NodeLowering<'_>, numbers: &Value, divisors: &Value, extents: &Value) -> Result<Value, Problem> {
    let quotients = Value::Computed(two(ctx, Binary::TruncDiv, numbers, divisors, ElementType::I64)?);
    Ok(Value::Computed(two(ctx, Binary::Mod, &quotients, extents, ElementType::I64)?))
}

fn known_non_zero(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    ctx.budget_for(&[x.dims().len().max(1), x.len()], 3 * size_of::<i64>(), 2)?;
    let values = x.to_f32();
    let nonzero: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0.0).collect();
    let by = strides(x.dims());
    let index = |axis: usize| nonzero.iter().map(move |_| axis).zip(&nonzero);
    let indices: Vec<i64> = (0..x.dims().len())
        .flat_map(|axis| index(axis).map(|(axis, &flat)| (flat / by[axis] % x.dims()[axis]) as i64).collect::<Vec<_>>())
        .collect();
    ctx.give(0, Value::Known(Array::of_ints(vec![x.dims().len(), nonzero.len()], ElementType::I64, indices)));
    Ok(())
}

fn non_zero(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let (dims, number) = (x.dims().to_vec(), x.len());
    if dims.is_empty() {
        return Err(Problem::unsupported("its input has no axes"));
    }
    // Exporters look up the same places for each use of a mask. Then all have one extent.
    let key = view(&x);
    if let Some((places, size)) = key.as_ref().and_then(|key| ctx.lowering.open.non_zero.get(key).cloned()) {
        ctx.give_bounded(Value::Computed(places), BoundedAxis { axis: 1, size });
        return Ok(());
    }
    let x = reshaped(ctx.lowering, &x, &[number])?;
    let flags = not_zero(ctx, &x)?;
    let Found { places, count } = found(ctx, &flags)?;
    let mut result = reshaped(ctx.lowering, &Value::Computed(places), &[1, number])?;
    if let rank @ 2.. = dims.len() {
        let (divisors, extents) = (integers(&[rank, 1], &strides(&dims)), integers(&[rank, 1], &dims));
        result = digits(ctx, &result, &divisors, &extents)?;
    }
    let size = Size { count, least: 0, bound: number };
    if let Some(key) = key {
        let places = ctx.compute(&result)?;
        ctx.lowering.open.non_zero.insert(key, (places, size.clone()));
    }
    ctx.give_bounded(result, BoundedAxis { axis: 1, size });
    Ok(())
}

fn compress(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (mut x, condition) = (ctx.operand(0)?, ctx.operand(1)?);
    let along = match ctx.has("axis") {
        true => ctx.axis(x.dims().len(), 0)?,
        false => {
            x = reshaped(ctx.lowering, &x, &[x.len()])?;
            0
        }
    };
    let (extent, length) = (x.dims()[along], condition.len());
    if condition.dims().len() != 1 || length > extent {
        let condition = condition.dims();
        return Err(Problem::malformed(format!("its condition of {condition:?} does not fit {extent} places")));
    }
    let (flags, bound) = match &condition {
        Value::Known(flags) => {
            ctx.budget_for(&[length], 2 * size_of::<usize>(), 1)?;
            let flags = flags.to_f32();
            let list: Vec<usize> = (0..length).filter(|&place| flags[place] != 0.0).collect();
            let result = picked(ctx, &x, along, &list)?;
            ctx.give(0, result);
            return Ok(());
        }
        Value::Computed(_) => (not_zero(ctx, &condition)?, length),
    };
    let Found { places, count } = found(ctx, &flags)?;
    let result = picked_by(ctx, &x, along, &places)?;
    ctx.give_bounded(result, BoundedAxis { axis: along, size: Size { count, least: 0, bound } });
    Ok(())
}

/// The result has a row for each selected box: its batch, its class and its number.
fn suppress(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (boxes, scores) = (ctx.computed(0)?, ctx.computed(1)?);
    let [batches, classes, number] = match (&boxes.dims[..], &scores.dims[..]) {
        (&[b, n, 4], &[of, classes, each]) if b == of && n == each => [b, classes, n],
        (boxes, scores) => {
            return Err(Problem::malformed(format!("{boxes:?} are no boxes of the scores {scores:?}")));
        }
    };
    let most = if ctx.optional(2).is_some() { ctx.integer(2, "number of boxes")? } else { 0 };
    let places = usize::try_from(most).unwrap_or(0).min(number);
    // A row finds its boxes one after another, so the first ones are the same if it finds no further ones.
    let places = ctx.node.taken.map_or(places, |taken| places.min(taken));
    if places == 0 {
        ctx.give(0, Value::Known(Array::nothing(vec![0, 3], ElementType::I64)));
        return Ok(());
    }
    let overlap = ctx.scalar(3, "limit of the overlap")?.unwrap_or(0.0);
    let (scores, score) = match ctx.optional(4) {
        Some(limit @ Value::Computed(_)) => (above(ctx, scores, &limit)?, None),
        _ => (scores, ctx.scalar(4, "limit of the score")?),
    };
    if !(0.0..=1.0).contains(&overlap) || score.is_some_and(f32::is_nan) {
        let score = score.unwrap_or_default();
        return Err(Problem::malformed(format!("its limits are {overlap} for the overlap and {score} for the score")));
    }
    let boxes = match ctx.int("center_point_box")?.unwrap_or(0) {
        0 => boxes,
        1 => corners(ctx, &boxes)?,
        other => return Err(Problem::malformed(format!("its boxes have the form {other}"))),
    };
    let by_pixel = AtomLayout::of(&boxes.dims, &[vec![0], vec![], vec![1], vec![2]]);
    let boxes = placed_as(ctx.lowering, &Value::Computed(boxes), &by_pixel)?;
    let by_row = AtomLayout::of(&scores.dims, &[vec![0], vec![1], vec![], vec![2]]);
    let scores = placed_as(ctx.lowering, &Value::Computed(scores), &by_row)?;
    // Without a limit, every score counts.
    let score = match score {
        Some(value) => Threshold { value, is_included: false },
        None => Threshold { value: f32::MIN, is_included: true },
    };
    let overlap = Threshold { value: overlap, is_included: false };
    let op = NonMaxSuppression { places, score, overlap, unused: [0.0; 2] };
    let dims = vec![batches, classes, places + 1, 2];
    let layout = AtomLayout::of(&dims, &[vec![0], vec![1], vec![2], vec![3]]);
    let tensor = ctx.emit(Op::NonMaxSuppression(op), &[boxes, scores], layout.shape())?;
    let rows = Value::Computed(Computed { tensor, dims, layout, elem: ElementType::I64 });
    let column = (3, AxisRange::run(0, 1));
    let indices = take(ctx, &rows, &[(2, AxisRange::run(0, places)), column])?;
    let counts = take(ctx, &rows, &[(2, AxisRange::run(places, 1)), column])?;

    // A place of a row is meant if the row selected that many boxes.
    let numbers: Vec<usize> = (0..places).collect();
    let numbers = integers(&[1, 1, places, 1], &numbers);
    let flags = Value::Computed(two(ctx, Binary::Less, &numbers, &counts, ElementType::Bool)?);
    let Found { places: rows, count } = found(ctx, &flags)?;
    let all = batches * classes * places;
    let indices = reshaped(ctx.lowering, &indices, &[all])?;
    let boxes = picked_by(ctx, &indices, 0, &rows)?;
    let boxes = ctx.compute(&boxes)?;
    // They have these bounds already. Nodes that read them as integers must know it.
    let clip = Unary::Clip { min: 0.0, max: (number - 1) as f32 };
    let boxes = one(ctx, clip, &boxes, ElementType::I64)?;
    let boxes = Value::Computed(one(ctx, Unary::Trunc, &boxes, ElementType::I64)?);
    let boxes = reshaped(ctx.lowering, &boxes, &[all, 1])?;
    let rows = reshaped(ctx.lowering, &Value::Computed(rows), &[all, 1])?;
    let divisors = integers(&[1, 2], &[classes * places, places]);
    let rows = digits(ctx, &rows, &divisors, &integers(&[1, 2], &[batches, classes]))?;
    let result = joined(ctx, &[rows, boxes], 1)?;
    ctx.give_bounded(result, BoundedAxis { axis: 0, size: Size { count, least: 0, bound: all } });
    Ok(())
}

/// Returns scores of which those that do not exceed a limit, which a run computes, are minus infinity.
fn above(ctx: &mut NodeLowering<'_>, scores: Computed, limit: &Value) -> Result<Computed, Problem> {
    if limit.len() != 1 {
        return Err(Problem::malformed("operand 4, its limit of the score, is no single number"));
    }
    let (scores, limit) = (Value::Computed(scores), reshaped(ctx.lowering, limit, &[])?);
    let exceed = Value::Computed(two(ctx, Binary::Greater, &scores, &limit, ElementType::Bool)?);
    selected(ctx, &exceed, [&scores, &math::scalar(f32::NEG_INFINITY)])
}

/// Returns two corners of boxes that are given by centre, width and height.
fn corners(ctx: &mut NodeLowering<'_>, boxes: &Computed) -> Result<Computed, Problem> {
    let boxes = Value::Computed(boxes.clone());
    let [centre, size] = [0, 2].map(|begin| take(ctx, &boxes, &[(2, AxisRange::run(begin, 2))]));
    let (centre, elem) = (centre?, ElementType::F32);
    let half = Value::Computed(two(ctx, Binary::Mul, &size?, &math::scalar(0.5), elem)?);
    let low = Value::Computed(two(ctx, Binary::Sub, &centre, &half, elem)?);
    let high = Value::Computed(two(ctx, Binary::Add, &centre, &half, elem)?);
    let corners = joined(ctx, &[low, high], 2)?;
    ctx.compute(&corners)
}
