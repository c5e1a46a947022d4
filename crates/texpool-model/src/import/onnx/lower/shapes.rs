//! Lowers operators that only change extents. No element moves, unless axes that are not adjacent in memory are
//! merged.

use std::ops::Range;

use super::align::joined;
use crate::import::{
    common::{
        axes::{axis, named_axes, permutation},
        extents::squeezed,
    },
    error::Problem,
    onnx::{
        array::{Array, count, ranked},
        graph_lowering::GraphLowering,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{Any, Transposed},
            OnnxOpEntry,
        },
        value::{Computed, Value},
    },
    op_registry::{All, Numbers},
};
use texpool_ops::graph::ElementType;

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Shape", 1, All, "none", Any, shape).fold_repeated(shape),
    OnnxOpEntry::new("Size", 1, All, "none", Any, size).fold_repeated(size),
    OnnxOpEntry::new("Reshape", 1, All, "strided", Any, reshape).limits("extents must be known").fold_repeated(reshape),
    OnnxOpEntry::new("Flatten", 1, All, "strided", Any, flatten).fold_repeated(flatten),
    OnnxOpEntry::new("Squeeze", 1, All, "none", Any, squeeze).fold_repeated(squeeze),
    OnnxOpEntry::new("Unsqueeze", 1, All, "none", Any, unsqueeze).fold_repeated(unsqueeze),
    OnnxOpEntry::new("Transpose", 1, All, "rearrange", Transposed, transpose).fold_repeated(transpose),
    OnnxOpEntry::new("Constant", 1, All, "none", Any, constant).fold(constant),
    OnnxOpEntry::new("ConstantOfShape", 9, All, "none", Any, filled)
        .limits("extents must be known")
        .fold_repeated(filled),
    OnnxOpEntry::new("Range", 11, Numbers, "none", Any, range)
        .limits("bounds must be known; the limit may be an extent of a run")
        .fold(range),
    OnnxOpEntry::new("EyeLike", 9, All, "none", Any, eye).fold(eye),
];

/// Changes the extents of a value.
pub(in crate::import::onnx) fn reshaped(
    lowering: &mut GraphLowering,
    value: &Value,
    dims: &[usize],
) -> Result<Value, Problem> {
    match value {
        Value::Known(array) => array.reshaped(dims).map(Value::Known),
        Value::Computed(x) => {
            if count(dims)? != value.len() {
                return Err(Problem::malformed(format!("{:?} and {dims:?} are not the same elements", x.dims)));
            }
            let mut x = x.clone();
            // Each iteration merges at least two atoms, so the number of atoms limits the iterations.
            for _ in 0..=x.layout.atoms.len() {
                let mut layout = x.layout.clone();
                match layout.refine(dims) {
                    Ok(()) => {
                        let layout = layout.tidy(dims);
                        return Ok(Value::Computed(Computed { layout, dims: dims.to_vec(), ..x }));
                    }
                    // The run refers to the atoms after the split, so those are merged.
                    Err(run) => x = joined(lowering, &Computed { layout, ..x }, run)?,
                }
            }
            Err(Problem::unsupported(format!("{:?} cannot be seen as {dims:?}", x.dims)))
        }
    }
}

fn answer(ctx: &mut NodeLowering<'_>, dims: &[usize]) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let result = reshaped(ctx.lowering, &x, dims)?;
    ctx.give(0, result);
    Ok(())
}

/// Returns the axes whose extents a Shape node returns, for an operand of `rank` axes.
pub(in crate::import::onnx) fn kept_range(ctx: &NodeLowering<'_>, rank: usize) -> Result<Range<usize>, Problem> {
    let rank = rank as i64;
    let bound = |name: &str, default: i64| -> Result<usize, Problem> {
        let index = ctx.int(name)?.unwrap_or(default);
        let index = if index < 0 { index.saturating_add(rank) } else { index };
        Ok(index.clamp(0, rank) as usize)
    };
    Ok(bound("start", 0)?..bound("end", rank)?)
}

fn shape(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let kept = kept_range(ctx, x.dims().len())?;
    let extents: Vec<i64> = x.dims().get(kept).unwrap_or_default().iter().map(|&d| d as i64).collect();
    ctx.give(0, Value::Known(Array::of_ints(vec![extents.len()], ElementType::I64, extents)));
    Ok(())
}

fn size(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let elements = ctx.operand(0)?.len();
    ctx.give(0, Value::Known(Array::of_ints(Vec::new(), ElementType::I64, vec![elements as i64])));
    Ok(())
}

/// In the new extents, 0 means the operand's extent at the same position, and -1 means the remaining elements.
fn reshape(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let new_extents = ctx.integers(1, "new extents")?;
    let keep_zero = ctx.flag("allowzero", false)?;
    let x = ctx.operand(0)?;
    let mut dims = Vec::with_capacity(new_extents.len());
    let mut open = None;
    for (place, &extent) in new_extents.iter().enumerate() {
        dims.push(match extent {
            0 if !keep_zero => {
                let own = x.dims().get(place).copied();
                own.ok_or_else(|| Problem::malformed(format!("new extents {new_extents:?} for {:?}", x.dims())))?
            }
            -1 if open.is_none() => {
                open = Some(place);
                1
            }
            n => usize::try_from(n).map_err(|_| Problem::malformed(format!("its new extents are {new_extents:?}")))?,
        });
    }
    if let Some(place) = open {
        let elements = count(&dims)?;
        if elements == 0 {
            return Err(Problem::malformed(format!("{:?} and {new_extents:?} are not the same elements", x.dims())));
        }
        if !x.len().is_multiple_of(elements) {
            let (dims, len) = (x.dims(), x.len());
            // Some exporters trace a network with a batch whose parts they then tell apart.
            let reason = format!(
                "{dims:?} and {new_extents:?} are not the same elements, since {len} is no multiple of {elements}; a batch \
                 that makes it one may do"
            );
            return Err(Problem::malformed(reason));
        }
        dims[place] = x.len() / elements;
    }
    answer(ctx, &dims)
}

fn flatten(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let dims = ctx.operand(0)?.dims().to_vec();
    let at = ctx.int("axis")?.unwrap_or(1);
    // The position behind the last axis is valid, too: all axes then become rows.
    let at = if at == dims.len() as i64 { dims.len() } else { axis(at, dims.len())? };
    answer(ctx, &[dims[..at].iter().product(), dims[at..].iter().product()])
}

fn squeeze(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let dims = ctx.operand(0)?.dims().to_vec();
    let named = ctx.list("axes", 1)?;
    let named = named.map(|named| named_axes(&named, dims.len())).transpose()?;
    answer(ctx, &squeezed(&dims, named.as_deref())?)
}

fn unsqueeze(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let dims = ctx.operand(0)?.dims().to_vec();
    let named = ctx.list("axes", 1)?.ok_or_else(|| Problem::malformed("it names no axes"))?;
    let rank = dims.len() + named.len();
    ranked(rank)?;
    let added = named_axes(&named, rank)?;
    let mut own = dims.into_iter();
    let dims: Vec<usize> =
        (0..rank).map(|axis| if added.contains(&axis) { 1 } else { own.next().unwrap_or(1) }).collect();
    answer(ctx, &dims)
}

/// Permutes the axes of a value to the order `perm`. The iterations of a loop share arrays that are permuted.
pub(super) fn transposed(lowering: &mut GraphLowering, value: &Value, perm: &[usize]) -> Result<Value, Problem> {
    match value {
        Value::Known(array) => lowering.transposed(array, perm).map(Value::Known),
        Value::Computed(computed) => Ok(Value::Computed(computed.transposed(perm))),
    }
}

fn transpose(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let rank = x.dims().len();
    let perm = match ctx.ints("perm") {
        Some(perm) => permutation(&perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    let result = transposed(ctx.lowering, &x, &perm)?;
    ctx.give(0, result);
    Ok(())
}

fn constant(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let array = if let Some(array) = ctx.tensor("value")? {
        array
    } else if let Some(value) = ctx.int("value_int")? {
        Array::of_ints(Vec::new(), ElementType::I64, vec![value])
    } else if ctx.has("value_float") {
        Array::of_floats(Vec::new(), ElementType::F32, &[ctx.float("value_float", 0.0)?])
    } else if let Some(values) = ctx.ints("value_ints") {
        Array::of_ints(vec![values.len()], ElementType::I64, values)
    } else if let Some(values) = ctx.floats("value_floats") {
        Array::of_floats(vec![values.len()], ElementType::F32, &values)
    } else {
        return Err(Problem::unsupported("it is sparse, or holds texts"));
    };
    ctx.give(0, Value::Known(array));
    Ok(())
}

fn filled(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let extents = ctx.integers(0, "extents")?;
    let dims = extents.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<Vec<_>>>();
    let dims = dims.ok_or_else(|| Problem::malformed(format!("its extents are {extents:?}")))?;
    let value = match ctx.tensor("value")? {
        Some(value) if value.len() == 1 => value,
        Some(value) => return Err(Problem::malformed(format!("its value has extents {:?}", value.dims()))),
        None => Array::of_floats(vec![1], ElementType::F32, &[0.0]),
    };
    let array = value.repeat(dims, ctx.meter())?;
    ctx.give(0, Value::Known(array));
    Ok(())
}

fn range(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [start, limit, delta] = [ctx.known(0, "start")?, ctx.known(1, "limit")?, ctx.known(2, "delta")?];
    let array = match (start.to_i64(), limit.to_i64(), delta.to_i64()) {
        (Some(&[start]), Some(&[limit]), Some(&[delta])) if delta != 0 => {
            let span = if delta > 0 { limit.saturating_sub(start) } else { start.saturating_sub(limit) };
            let length = usize::try_from(span.max(0).unsigned_abs().div_ceil(delta.unsigned_abs()));
            let length = ctx.budget_for(&[length.unwrap_or(usize::MAX)], size_of::<i64>(), 1)?;
            let values = (0..length as i64).map(|i| start.wrapping_add(i.wrapping_mul(delta)));
            Array::of_ints(vec![length], ElementType::I64, values.collect())
        }
        (None, None, None) => {
            let (&[start], &[limit], &[delta]) = (&*start.to_f32(), &*limit.to_f32(), &*delta.to_f32()) else {
                return Err(Problem::malformed("its bounds are no single numbers"));
            };
            // A step of 0 yields NaN, which `max` drops, or infinity, which exceeds every budget.
            let length = (f64::from(limit - start) / f64::from(delta)).ceil().max(0.0) as usize;
            let length = ctx.budget_for(&[length], 2 * size_of::<f32>(), 1)?;
            let values: Vec<f32> = (0..length).map(|i| start + i as f32 * delta).collect();
            Array::of_floats(vec![length], ElementType::F32, &values)
        }
        _ => return Err(Problem::malformed("its bounds are no single numbers of one type, or it goes nowhere")),
    };
    ctx.give(0, Value::Known(array));
    Ok(())
}

fn eye(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let &[rows, columns] = x.dims() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims())));
    };
    let elem = ctx.stated_type("dtype")?.unwrap_or_else(|| x.element_type());
    let k = ctx.int("k")?.unwrap_or(0);
    let one = |i: usize| ((i / columns) as i64).saturating_add(k) == (i % columns) as i64;
    let elements = ctx.budget_for(&[rows, columns], 3 * size_of::<i64>(), 2)?;
    let values: Vec<i64> = (0..elements).map(|i| i64::from(one(i))).collect();
    let array = match elem.is_float() {
        true => Array::of_floats(vec![rows, columns], elem, &values.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        false => Array::of_ints(vec![rows, columns], elem, values),
    };
    ctx.give(0, Value::Known(array));
    Ok(())
}
