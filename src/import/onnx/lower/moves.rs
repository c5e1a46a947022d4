//! Operators that move elements: joined, cut, repeated, picked.

use super::align::placed_as;
use crate::{
    graph::{Op, Shape},
    import::{
        common::{
            axes::named_axes,
            extents,
            range::{AxisRange, clamped},
        },
        error::Problem,
        onnx::{
            arrange::{isolated, resized},
            array::{Array, count, strides, walk},
            call::Call,
            layout::Layout,
            op_registry::{InputLayout::LikeOperand, OnnxOpEntry},
            value::{Computed, Value},
        },
        op_registry::All,
    },
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Concat", 1, All, "concat", LikeOperand, concat).fold(concat),
    OnnxOpEntry::new("Slice", 1, All, "rearrange", LikeOperand, slice).limits("indices must be known").fold(slice),
    OnnxOpEntry::new("Split", 1, All, "rearrange", LikeOperand, split).limits("sizes must be known").fold(split),
];

/// A tensor with each of these axes alone on a physical one, and which; at most three axes at once.
pub(super) fn isolate(call: &mut Call<'_>, x: &Computed, axes: &[usize]) -> Result<(Computed, Vec<usize>), Problem> {
    let (layout, slots) = isolated(&x.layout, &x.dims, axes)?;
    let tensor = call.site.bring(x, &layout)?;
    Ok((Computed { tensor, layout, ..x.clone() }, slots))
}

/// Takes of some axes what is named.
pub(super) fn take(call: &mut Call<'_>, value: &Value, all: &[(usize, AxisRange)]) -> Result<Value, Problem> {
    match value {
        Value::Known(array) => {
            let mut dims = array.dims().to_vec();
            let by = strides(&dims);
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
            call.meter().work(elements.saturating_mul(dims.len()))?;
            Ok(Value::Known(array.taken(dims.clone(), at, call.meter())?))
        }
        Value::Computed(x) => {
            let mut x = x.clone();
            for group in all.chunks(3) {
                let axes: Vec<usize> = group.iter().map(|&(axis, _)| axis).collect();
                let (y, slots) = isolate(call, &x, &axes)?;
                let mut extents = y.layout.shape().dims();
                let (mut begin, mut stride) = ([0; 4], [1; 4]);
                let (mut layout, mut dims) = (y.layout.clone(), y.dims.clone());
                for (&(axis, range), &slot) in group.iter().zip(&slots) {
                    (begin[slot], stride[slot], extents[slot]) = (range.begin, range.stride, range.count);
                    layout = resized(&layout, &dims, axis, slot, range.count);
                    dims[axis] = range.count;
                }
                let shape: Shape = extents.into();
                if shape.is_empty() {
                    return Err(Problem::unsupported("nothing is left of its input"));
                }
                let tensor = call.emit(Op::StridedSlice { begin, stride }, &[y.tensor], shape)?;
                x = Computed { tensor, dims, layout, elem: y.elem };
            }
            x.layout = x.layout.tidy(&x.dims);
            Ok(Value::Computed(x))
        }
    }
}

fn concat(call: &mut Call<'_>) -> Result<(), Problem> {
    let values = (0..call.count()).map(|i| call.operand(i)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = values.first() else { return Err(Problem::malformed("it has no operands")) };
    let along = call.axis(first.dims().len(), 1)?;
    let result = joined(call, &values, along)?;
    call.give(0, result);
    Ok(())
}

/// Values one behind the other.
pub(super) fn joined(call: &mut Call<'_>, values: &[Value], along: usize) -> Result<Value, Problem> {
    let dims = extents::concatenated(&values.iter().map(Value::dims).collect::<Vec<_>>(), along)?;
    let known: Option<Vec<&Array>> = values.iter().map(Value::known).collect();
    if let Some(arrays) = known {
        // Each is looked at as it lies, and what is put together becomes bytes at the end.
        call.room_for(&dims, 4 * size_of::<i64>(), 1)?;
        return known_joined(&arrays, dims, along).map(Value::Known);
    }
    let values: Vec<&Value> = values.iter().filter(|value| value.len() > 0).collect();
    // The layout of the largest, with the axis alone.
    let largest = values.iter().filter_map(|value| match value {
        Value::Computed(computed) => Some(computed),
        Value::Known(_) => None,
    });
    let Some(main) = largest.max_by_key(|x| x.dims.iter().product::<usize>()) else {
        return Err(Problem::unsupported("nothing is left of its operands"));
    };
    // Other axes are one atom each here: the operands may be divided in different ways.
    let others: Vec<usize> = (0..dims.len()).filter(|&a| a != along).collect();
    let order = axis_order(main, &others);
    let (layout, slot) = joint_layout(&dims, along, &order, main)?;
    let mut tensors = Vec::with_capacity(values.len());
    for value in values {
        let part = resized(&layout, &dims, along, slot, value.dims()[along]);
        let tensor = placed_as(call.site, value, &part)?;
        tensors.push(tensor);
    }
    let tensor = match tensors.as_slice() {
        [one] => *one,
        _ => call.emit(Op::Concat { axis: slot }, &tensors, layout.shape())?,
    };
    let elem = main.elem;
    Ok(Value::Computed(Computed { tensor, layout: layout.tidy(&dims), dims, elem }))
}

/// Logical axes by where their first atoms lie.
fn axis_order(x: &Computed, axes: &[usize]) -> [Vec<usize>; 4] {
    let runs = x.layout.runs(&x.dims);
    let mut order: [Vec<usize>; 4] = Default::default();
    for (slot, list) in x.layout.places.iter().enumerate() {
        for &atom in list {
            order[slot].extend(axes.iter().filter(|&&axis| runs[axis].start == atom && !runs[axis].is_empty()));
        }
    }
    order
}

/// The result's layout: other axes whole as in `order`, `along` alone on the axis where the largest operand has it.
fn joint_layout(
    dims: &[usize],
    along: usize,
    order: &[Vec<usize>; 4],
    main: &Computed,
) -> Result<(Layout, usize), Problem> {
    let run = main.layout.runs(&main.dims)[along].clone();
    let own = main.layout.places.iter().position(|list| list.contains(&run.start) && !run.is_empty());
    let free = own.filter(|&slot| order[slot].is_empty()).or_else(|| (0..4).find(|&slot| order[slot].is_empty()));
    let mut axes = order.clone();
    let slot = match free {
        Some(slot) => slot,
        None => {
            let last = std::mem::take(&mut axes[1]);
            axes[0].extend(last);
            1
        }
    };
    axes[slot] = vec![along];
    Ok((Layout::of(dims, &axes), slot))
}

fn known_joined(arrays: &[&Array], dims: Vec<usize>, along: usize) -> Result<Array, Problem> {
    let elements = count(&dims)?;
    let inner: usize = dims[along + 1..].iter().product();
    // Of nothing there are no pieces, however many rows of it are stated.
    let outer: usize = if elements == 0 { 0 } else { dims[..along].iter().product() };
    let elem = arrays[0].elem();
    let pieces = |outer: usize| {
        arrays.iter().map(move |array| (array, outer * array.dims()[along] * inner, array.dims()[along] * inner))
    };
    let ints: Option<Vec<&[i64]>> = arrays.iter().map(|array| array.to_i64()).collect();
    Ok(match ints {
        Some(ints) => {
            let mut values = Vec::with_capacity(elements);
            for o in 0..outer {
                for (list, (_, start, length)) in ints.iter().zip(pieces(o)) {
                    values.extend_from_slice(&list[start..start + length]);
                }
            }
            Array::of_ints(dims, elem, values)
        }
        None => {
            let floats: Vec<_> = arrays.iter().map(|array| array.to_f32()).collect();
            let mut values = Vec::with_capacity(elements);
            for o in 0..outer {
                for (list, (_, start, length)) in floats.iter().zip(pieces(o)) {
                    values.extend_from_slice(&list[start..start + length]);
                }
            }
            Array::of_floats(dims, elem, &values)
        }
    })
}

fn slice(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.operand(0)?;
    let rank = x.dims().len();
    let need = |list: Option<Vec<i64>>| list.ok_or_else(|| Problem::malformed("it names no indices"));
    let starts = need(call.list("starts", 1)?)?;
    let ends = need(call.list("ends", 2)?)?;
    let named = call.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if call.optional(4).is_some() { call.integers(4, "steps")? } else { vec![1; starts.len()] };
    if [ends.len(), named.len(), steps.len()] != [starts.len(); 3] {
        return Err(Problem::malformed("its lists of indices differ in length"));
    }
    let named = named_axes(&named, rank)?;
    let mut all: Vec<(usize, AxisRange)> = Vec::new();
    for (i, &axis) in named.iter().enumerate() {
        let extent = x.dims()[axis];
        let taken = range(extent, starts[i], ends[i], steps[i])?;
        if taken != AxisRange::whole(extent) {
            all.push((axis, taken));
        }
    }
    let result = if all.is_empty() { x } else { take(call, &x, &all)? };
    call.give(0, result);
    Ok(())
}

/// A range of an axis; indices may be negative or beyond it, as in Python. A range backwards from before the axis takes
/// its first index, as ONNX says.
fn range(extent: usize, start: i64, end: i64, step: i64) -> Result<AxisRange, Problem> {
    if step == 0 {
        return Err(Problem::malformed("it takes steps of 0"));
    }
    if extent == 0 {
        return Ok(AxisRange::whole(0));
    }
    let taken = AxisRange::between(clamped(start, extent, step).max(0), clamped(end, extent, step), step);
    taken.ok_or_else(|| Problem::malformed(format!("it takes {start} to {end} by {step} of {extent}")))
}

fn split(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.operand(0)?;
    let along = call.axis(x.dims().len(), 0)?;
    let (extent, parts) = (x.dims()[along], call.results.len());
    let sizes: Vec<usize> = match call.list("split", 1)? {
        Some(sizes) => sizes.iter().map(|&s| usize::try_from(s).unwrap_or(usize::MAX)).collect(),
        None => {
            let each = extent.div_ceil(parts.max(1));
            (0..parts).map(|i| each.min(extent.saturating_sub(i * each))).collect()
        }
    };
    if sizes.len() != parts || sizes.iter().try_fold(0usize, |n, &s| n.checked_add(s)) != Some(extent) {
        return Err(Problem::malformed(format!("it splits {extent} into {sizes:?}, {parts} results")));
    }
    let mut begin = 0;
    for (position, size) in sizes.into_iter().enumerate() {
        if call.wants(position) {
            let result = match size == extent {
                true => x.clone(),
                false => take(call, &x, &[(along, AxisRange::run(begin, size))])?,
            };
            call.give(position, result);
        }
        begin += size;
    }
    Ok(())
}
