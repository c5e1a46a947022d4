//! Lowers operators that look up elements by index, and operators that repeat elements.

use super::{
    align::{isolate, placed_as},
    basic::two,
    shapes::reshaped,
    slice::take,
};
use crate::import::{
    common::{
        axes::{AxisRange, axis},
        extents,
    },
    error::Problem,
    onnx::{
        array::{Array, count, ranked, strides, walk},
        fold::{
            math,
            one_hot::{self, OneHot},
        },
        layout::AtomLayout,
        layout_selection::resized,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::{All, Numbers},
};
use texpool_ops::graph::{Binary, ElementType, Gather, GatherElements, Op, Shape};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Gather", 1, All, "gather, rearrange", Any, gather).fold(gather),
    OnnxOpEntry::new("GatherElements", 11, All, "gather", Any, gather_elements)
        .limits("up to four axes above one, of which all but the one looked up along have the extents of the indices"),
    OnnxOpEntry::new("Expand", 8, All, "rearrange", Any, expand).limits("extents must be known").fold_repeated(expand),
    OnnxOpEntry::new("Tile", 1, All, "rearrange", Any, tile).limits("repeats must be known").fold_repeated(tile),
    OnnxOpEntry::new("OneHot", 9, Numbers, "binary", Any, one_hot)
        .limits("depth and values must be known")
        .fold(one_hot::one_hot),
    OnnxOpEntry::new("Trilu", 14, All, "binary", Any, trilu).limits("the diagonal must be known"),
];

fn gather(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, indices) = (ctx.operand(0)?, ctx.operand(1)?);
    let along = ctx.axis(x.dims().len(), 0)?;
    let dims = extents::gathered(x.dims(), along, indices.dims());
    let extent = x.dims()[along];
    let selected = match &indices {
        Value::Known(indices) => {
            let list = indices.to_i64().ok_or_else(|| Problem::malformed("its indices are no integers"))?;
            // Many nodes may share the list. Charged for the indices, and for the constant that a step reads.
            ctx.budget_for(&[list.len()], 4 * size_of::<usize>(), 2)?;
            let within = |&i: &i64| axis(i, extent).map_err(|_| outside(i, along, x.dims()));
            let list = list.iter().map(within).collect::<Result<Vec<_>, _>>()?;
            picked(ctx, &x, along, &list)?
        }
        Value::Computed(indices) => {
            match x.known().map(|table| table.parted(along, ctx.meter())).transpose()?.flatten() {
                // Rows of bytes, and the scale of each, so that the table stays one of bytes.
                Some(parts) => {
                    let [rows, scales] = parts.map(|part| picked_by(ctx, &Value::Known(part), along, indices));
                    Value::Computed(two(ctx, Binary::Mul, &rows?, &scales?, ElementType::F32)?)
                }
                None => picked_by(ctx, &x, along, indices)?,
            }
        }
    };
    let result = reshaped(ctx.lowering, &selected, &dims)?;
    ctx.give(0, result);
    Ok(())
}

/// Selects elements along an axis by indices that are known, and in range.
pub(super) fn picked(ctx: &mut NodeLowering<'_>, x: &Value, along: usize, list: &[usize]) -> Result<Value, Problem> {
    match (x, stepped(list)) {
        (_, Some(range)) if range == AxisRange::whole(x.dims()[along]) => Ok(x.clone()),
        (Value::Known(array), _) => known_picked(ctx, array, along, list).map(Value::Known),
        (Value::Computed(_), None) if list.is_empty() => {
            let mut dims = x.dims().to_vec();
            dims[along] = 0;
            Ok(Value::Known(Array::nothing(dims, x.element_type())))
        }
        (Value::Computed(_), Some(range)) => take(ctx, x, &[(along, range)]),
        (Value::Computed(_), None) => {
            let indices = Array::of_ints(vec![list.len()], ElementType::I64, list.iter().map(|&i| i as i64).collect());
            let row = ctx.lowering.constant(&indices, Shape::new(1, 1, 1, list.len()))?;
            looked_up(ctx, x, along, row, list.len())
        }
    }
}

/// Selects elements along an axis by indices of a run.
pub(in crate::import::onnx) fn picked_by(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    along: usize,
    indices: &Computed,
) -> Result<Value, Problem> {
    let count = indices.dims.iter().product();
    let row = reshaped(ctx.lowering, &Value::Computed(indices.clone()), &[count])?;
    let row = placed_as(ctx.lowering, &row, &AtomLayout::of(&[count], &[vec![], vec![], vec![], vec![0]]))?;
    looked_up(ctx, x, along, row, count)
}

/// An index that the file states, outside the axis that it looks up along.
fn outside(index: i64, along: usize, dims: &[usize]) -> Problem {
    Problem::malformed(format!("the index {index} lies outside axis {along} of {dims:?}"))
}

/// Returns the indices as a range, if they are equidistant.
fn stepped(list: &[usize]) -> Option<AxisRange> {
    let &first = list.first()?;
    let stride = list.get(1).map_or(1, |&second| second as isize - first as isize);
    let fits = list.iter().enumerate().all(|(i, &index)| index as isize == first as isize + i as isize * stride);
    (fits && (stride != 0 || list.len() == 1)).then_some(AxisRange { begin: first, stride, count: list.len() })
}

fn known_picked(ctx: &mut NodeLowering<'_>, array: &Array, along: usize, list: &[usize]) -> Result<Array, Problem> {
    let mut dims = array.dims().to_vec();
    let by = strides(&dims);
    let (extent, inner) = (dims[along], by[along]);
    dims[along] = list.len();
    let elements = count(&dims)?;
    // If the result is empty, the file may state any number of rows, so the loop is skipped.
    let outer: usize = if elements == 0 { 0 } else { dims[..along].iter().product() };
    let indices = (0..outer)
        .flat_map(|o| list.iter().flat_map(move |&i| (0..inner).map(move |rest| (o * extent + i) * inner + rest)));
    array.gathered(dims, indices, ctx.meter())
}

/// Looks up elements along an axis by a row of indices.
fn looked_up(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    along: usize,
    row: texpool_ops::graph::TensorId,
    count: usize,
) -> Result<Value, Problem> {
    let (tensor, layout, slot) = match x {
        Value::Computed(x) => {
            let (x, slots) = isolate(ctx, x, &[along])?;
            (x.tensor, x.layout, slots.first().copied().unwrap_or(0))
        }
        Value::Known(array) => {
            // A constant table: elements with the same index go to C, so that each lookup reads whole texels.
            let others: Vec<usize> = (0..array.dims().len()).filter(|&axis| axis != along).collect();
            let layout = AtomLayout::of(array.dims(), &[vec![], vec![], vec![along], others]);
            (ctx.lowering.place(x, &layout)?, layout, 2)
        }
    };
    let result = resized(&layout, x.dims(), along, slot, count);
    let tensor = ctx.emit(Op::Gather(Gather { axis: slot }), &[tensor, row], result.shape())?;
    let mut dims = x.dims().to_vec();
    dims[along] = count;
    Ok(Value::Computed(Computed { tensor, layout: result, dims, elem: x.element_type() }))
}

fn gather_elements(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, indices) = (ctx.operand(0)?, ctx.operand(1)?);
    let rank = x.dims().len();
    let along = ctx.axis(rank, 0)?;
    let dims = indices.dims().to_vec();
    let fits = dims.len() == rank && (0..rank).all(|a| a == along || dims[a] <= x.dims()[a]);
    if !fits {
        return Err(Problem::malformed(format!("indices of {dims:?} into {:?}", x.dims())));
    }
    if let Value::Known(list) = &indices
        && let Some(list) = list.to_i64()
    {
        ctx.budget_for(&[list.len()], 0, 1)?;
        let extent = x.dims()[along];
        if let Some(&index) = list.iter().find(|&&index| axis(index, extent).is_err()) {
            return Err(outside(index, along, x.dims()));
        }
    }
    if dims.contains(&0) {
        ctx.give(0, Value::Known(Array::nothing(dims, x.element_type())));
        return Ok(());
    }
    // One physical axis per logical axis, so that both operands have the same ones. If there are too many, all axes
    // for which both operands have equal extents are merged.
    let mut open: Vec<Vec<usize>> = (0..rank).filter(|&a| a == along || x.dims()[a] != 1).map(|a| vec![a]).collect();
    if open.len() > 4 {
        let (alike, other): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|list| list[0] != along && dims[list[0]] == x.dims()[list[0]]);
        open = std::iter::once(alike.concat()).chain(other).collect();
    }
    if open.len() > 4 {
        return Err(Problem::unsupported(format!("it looks up in {:?}, more than four axes", x.dims())));
    }
    let mut axes: [Vec<usize>; 4] = Default::default();
    axes[4 - open.len()..].clone_from_slice(&open);
    let slot = axes.iter().position(|list| list == &[along]).unwrap_or(3);
    let table = placed_as(ctx.lowering, &x, &AtomLayout::of(x.dims(), &axes))?;
    let layout = AtomLayout::of(&dims, &axes);
    let row = placed_as(ctx.lowering, &indices, &layout)?;
    let tensor = ctx.emit(Op::GatherElements(GatherElements { axis: slot }), &[table, row], layout.shape())?;
    ctx.answer(tensor, dims, layout, x.element_type());
    Ok(())
}

/// Repeats a value along its axes.
fn repeated(ctx: &mut NodeLowering<'_>, value: &Value, repeats: &[usize]) -> Result<Value, Problem> {
    let dims = extents::repeated(value.dims(), repeats);
    match value {
        Value::Known(array) => {
            ctx.budget_for(&dims, 0, if array.repeated().is_some() { 0 } else { dims.len() })?;
            let (from, to) = (strides(array.dims()), strides(&dims));
            let own = array.dims().to_vec();
            let at =
                walk(&dims, &to).map(|flat| (0..own.len()).map(|a| flat / to[a] % dims[a] % own[a] * from[a]).sum());
            Ok(Value::Known(array.gathered(dims.clone(), at, ctx.meter())?))
        }
        Value::Computed(x) if dims.contains(&0) => Ok(Value::Known(Array::nothing(dims, x.elem))),
        Value::Computed(x) => {
            Problem::check_result(&dims)?;
            let mut x = x.clone();
            let repeated_axes: Vec<usize> = (0..dims.len()).filter(|&axis| repeats[axis] != 1).collect();
            // At most three axes can be isolated at once, because the fourth physical axis holds all others.
            for axes in repeated_axes.chunks(3) {
                let (y, slots) = isolate(ctx, &x, axes)?;
                let (mut layout, mut extents) = (y.layout.clone(), y.dims.clone());
                for (&axis, &slot) in axes.iter().zip(&slots) {
                    layout = resized(&layout, &extents, axis, slot, dims[axis]);
                    extents[axis] = dims[axis];
                }
                let shape = layout.shape();
                let tensor = ctx.emit(Op::Tile, &[y.tensor], shape)?;
                x = Computed { tensor, layout, dims: extents, elem: y.elem };
            }
            x.layout = x.layout.tidy(&x.dims);
            Ok(Value::Computed(x))
        }
    }
}

fn expand(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let shape = ctx.integers(1, "extents")?;
    ranked(shape.len())?;
    let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    let result = expanded(ctx, &x, &shape)?;
    ctx.give(0, result);
    Ok(())
}

/// Repeats a value along its axes of extent one, and along new ones in front of them, to these extents or greater own ones.
pub(in crate::import::onnx) fn expanded(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    shape: &[usize],
) -> Result<Value, Problem> {
    let dims = extents::broadcast(&[x.dims(), shape])?;
    let own = extents::with_leading_ones(x.dims(), dims.len());
    let repeats: Vec<usize> = dims.iter().zip(&own).map(|(&d, &o)| if d == o { 1 } else { d }).collect();
    let x = reshaped(ctx.lowering, x, &own)?;
    let result = repeated(ctx, &x, &repeats)?;
    if let (Value::Computed(from), Value::Computed(to)) = (x, &result) {
        ctx.lowering.note_repeated(from, to.clone());
    }
    Ok(result)
}

fn tile(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let repeats: Vec<usize> =
        ctx.integers(1, "repeats")?.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    if repeats.len() != x.dims().len() {
        return Err(Problem::malformed(format!(
            "its repeats are {repeats:?}, which is not one for each axis of {:?}",
            x.dims()
        )));
    }
    let result = repeated(ctx, &x, &repeats)?;
    ctx.give(0, result);
    Ok(())
}

/// Lowers OneHot. Negative indices count from the end.
fn one_hot(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let indices = ctx.operand(0)?;
    let OneHot { depth, along, values } = OneHot::of(ctx, indices.dims().len())?;
    let &[off, on] = &*values.to_f32() else { return Err(Problem::malformed("it has no two values")) };
    let mut dims = indices.dims().to_vec();
    dims.insert(along, 1);
    let indices = reshaped(ctx.lowering, &indices, &dims)?;
    let elem = values.element_type();
    let hot = Computed { elem, ..place_mask(ctx, &indices, along, depth)? };
    let scaled = two(ctx, Binary::Mul, &Value::Computed(hot), &math::scalar(on - off), elem)?;
    let result = two(ctx, Binary::Add, &Value::Computed(scaled), &math::scalar(off), elem)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Compares indices with each place along an axis, where their own extent is 1. Negative indices count from the end.
pub(super) fn place_mask(
    ctx: &mut NodeLowering<'_>,
    indices: &Value,
    along: usize,
    places: usize,
) -> Result<Computed, Problem> {
    let mut dims = vec![1; indices.dims().len()];
    dims[along] = ctx.budget_for(&[places], 2 * size_of::<i64>(), 2)?;
    let row = |first: i64| {
        let numbers = (0..places as i64).map(|place| place + first).collect();
        Value::Known(Array::of_ints(dims.clone(), ElementType::I64, numbers))
    };
    let here = two(ctx, Binary::Equal, indices, &row(0), ElementType::Bool)?;
    let behind = two(ctx, Binary::Equal, indices, &row(-(places as i64)), ElementType::Bool)?;
    two(ctx, Binary::Or, &Value::Computed(here), &Value::Computed(behind), ElementType::Bool)
}

/// Lowers Trilu, which clears the elements on one side of a diagonal.
fn trilu(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let upper = ctx.flag("upper", true)?;
    let k = if ctx.optional(1).is_some() { ctx.integers(1, "diagonal")?.first().copied().unwrap_or(0) } else { 0 };
    let &[.., rows, columns] = x.dims() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims())));
    };
    let elements = ctx.budget_for(&[rows, columns], size_of::<i64>(), 2)?;
    let mask_value = |i: usize| {
        let distance = (i % columns) as i64 - (i / columns) as i64;
        i64::from(if upper { distance >= k } else { distance <= k })
    };
    let mask = Array::of_ints(vec![rows, columns], ElementType::Bool, (0..elements).map(mask_value).collect());
    // Selects elements instead of multiplying, so that NaN and infinities on the other side become zeros, too.
    let result = two(ctx, Binary::ZeroUnless, &Value::Known(mask), &x, x.element_type())?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}
