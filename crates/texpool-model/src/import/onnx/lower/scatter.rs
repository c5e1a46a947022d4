//! Lowers ScatterElements and Scatter, which write elements to indices along an axis. A device cannot write to computed places in a
//! texture, so each element of the result looks for its index among all of them.

use super::{
    align::placed_as,
    basic::{selected, two},
    gather::place_mask,
    reduce::reduced_over,
    shapes::reshaped,
};
use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        array::{Array, strides},
        fold::math,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Numbers,
};
use texpool_ops::graph::{Binary, ElementType, Op, ReduceKind, SegmentKind, SegmentReduce, TensorId};

const LIMITS: &str = "indices of a run have the data's extents on all other axes, and repeat only with a reduction";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("ScatterElements", 11, Numbers, "binary, reduce, segment_reduce", Any, computed_scatter)
        .limits(LIMITS)
        .fold(known_scatter),
    // The name of the same operator before operator set 11.
    OnnxOpEntry::new("Scatter", 9, Numbers, "binary, reduce, segment_reduce", Any, computed_scatter)
        .limits(LIMITS)
        .fold(known_scatter),
];

/// Treatment of a value that is already at the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Replace,
    Add,
    Multiply,
    Maximum,
    Minimum,
}

impl Reduction {
    /// Reads that of a node.
    pub(super) fn of(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        Ok(match ctx.text("reduction", "none")?.as_str() {
            "none" => Self::Replace,
            "add" => Self::Add,
            "mul" => Self::Multiply,
            "max" => Self::Maximum,
            "min" => Self::Minimum,
            other => return Err(Problem::malformed(format!("its reduction is `{other}`"))),
        })
    }

    /// The function of the old and the new value, unless the new one replaces the old one.
    pub(super) const fn binary(self) -> Option<Binary> {
        match self {
            Self::Replace => None,
            Self::Add => Some(Binary::Add),
            Self::Multiply => Some(Binary::Mul),
            Self::Maximum => Some(Binary::Maximum),
            Self::Minimum => Some(Binary::Minimum),
        }
    }
}

/// A node's attributes and operands.
struct Scatter {
    data: Value,
    indices: Value,
    updates: Value,
    along: usize,
    reduction: Reduction,
}

impl Scatter {
    fn of(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        let (data, indices, updates) = (ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?);
        let rank = data.dims().len();
        let along = ctx.axis(rank, 0)?;
        let dims = indices.dims();
        if dims.len() != rank || (0..rank).any(|a| a != along && dims[a] > data.dims()[a]) || dims != updates.dims() {
            let (into, updates) = (data.dims(), updates.dims());
            return Err(Problem::malformed(format!("it writes {updates:?} to indices of {dims:?} in {into:?}")));
        }
        let reduction = Reduction::of(ctx)?;
        Ok(Self { data, indices, updates, along, reduction })
    }

    /// Returns the extents of the indices with further extents in place of the one along the axis.
    fn dims_with(&self, extents: &[usize]) -> Vec<usize> {
        let mut dims = self.indices.dims().to_vec();
        dims.splice(self.along..=self.along, extents.iter().copied());
        dims
    }
}

/// Evaluates the operator in the order of the indices, so that the last of several values remains.
fn known_scatter(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let scatter = Scatter::of(ctx)?;
    let (Value::Known(data), Value::Known(indices), Value::Known(updates)) =
        (&scatter.data, &scatter.indices, &scatter.updates)
    else {
        return computed_scatter(ctx);
    };
    let list = indices.to_i64().ok_or_else(|| Problem::malformed("its indices are no integers"))?;
    ctx.budget_for(data.dims(), 2 * size_of::<i64>(), 2)?;
    ctx.budget_for(indices.dims(), size_of::<usize>(), 2 * data.dims().len().max(1))?;
    let (from, to) = (strides(indices.dims()), strides(data.dims()));
    let extent = data.dims()[scatter.along];
    let places = list.iter().enumerate().map(|(flat, &index)| {
        let at = axis(index, extent)
            .map_err(|_| Problem::malformed(format!("the index {index} lies outside {extent} elements")))?;
        let coordinate = |a: usize| if a == scatter.along { at } else { flat / from[a] % indices.dims()[a] };
        Ok((0..to.len()).map(|a| coordinate(a) * to[a]).sum())
    });
    let places = places.collect::<Result<Vec<usize>, Problem>>()?;
    let result = reduced_into(data, updates, &places, scatter.reduction);
    ctx.give(0, Value::Known(result));
    Ok(())
}

/// Writes values to places of known data, in their order, so that the last of several values remains.
pub(super) fn reduced_into(data: &Array, updates: &Array, places: &[usize], reduction: Reduction) -> Array {
    let dims = data.dims().to_vec();
    match (data.to_i64(), updates.to_i64()) {
        (Some(data_ints), Some(updates)) => {
            let reduce = |old: i64, new: i64| match reduction {
                Reduction::Replace => new,
                Reduction::Add => old.wrapping_add(new),
                Reduction::Multiply => old.wrapping_mul(new),
                Reduction::Maximum => old.max(new),
                Reduction::Minimum => old.min(new),
            };
            let mut values = data_ints.to_vec();
            places.iter().zip(updates).for_each(|(&at, &new)| values[at] = reduce(values[at], new));
            Array::of_ints(dims, data.element_type(), values)
        }
        _ => {
            let reduce = |old: f32, new: f32| match reduction {
                Reduction::Replace => new,
                Reduction::Add => old + new,
                Reduction::Multiply => old * new,
                Reduction::Maximum => Binary::Maximum.of(old, new),
                Reduction::Minimum => Binary::Minimum.of(old, new),
            };
            let mut values = data.to_f32().into_owned();
            places.iter().zip(&*updates.to_f32()).for_each(|(&at, &new)| values[at] = reduce(values[at], new));
            Array::of_floats(dims, data.element_type(), &values)
        }
    }
}

/// Compares every index with every place along the axis, and reduces the values whose indices are equal to the place.
fn computed_scatter(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let scatter = Scatter::of(ctx)?;
    let along = scatter.along;
    let places = scatter.data.dims()[along];
    let count = scatter.indices.dims()[along];
    if scatter.indices.len() == 0 {
        ctx.give(0, scatter.data);
        return Ok(());
    }
    if scatter.dims_with(&[places]) != scatter.data.dims() {
        let (dims, into) = (scatter.indices.dims(), scatter.data.dims());
        return Err(Problem::unsupported(format!("its indices have the extents {dims:?}, and its data {into:?}")));
    }
    if let Some(shared) = shared_indices(ctx, &scatter)? {
        let Scatter { data, updates, reduction, .. } = &scatter;
        let result = written_by(ctx, data, updates, &shared, along, *reduction)?;
        ctx.give(0, Value::Computed(result));
        return Ok(());
    }
    // Places lie on the axis, and the indices on a new one after it.
    let indices = reshaped(ctx.lowering, &scatter.indices, &scatter.dims_with(&[1, count]))?;
    let updates = reshaped(ctx.lowering, &scatter.updates, &scatter.dims_with(&[1, count]))?;
    let hit = place_mask(ctx, &indices, along, places)?;
    let result = written(ctx, &scatter.data, &updates, &hit, along, scatter.reduction)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Returns the indices as a list, if they are the same along all other axes.
fn shared_indices(ctx: &mut NodeLowering<'_>, scatter: &Scatter) -> Result<Option<Value>, Problem> {
    let is_list = |dims: &[usize]| dims.iter().enumerate().all(|(axis, &extent)| axis == scatter.along || extent == 1);
    if is_list(scatter.indices.dims()) {
        return Ok(Some(scatter.indices.clone()));
    }
    if let Value::Known(indices) = &scatter.indices {
        ctx.budget_for(indices.dims(), size_of::<i64>(), 1)?;
        return Ok(repeated_list(indices, scatter.along).map(Value::Known));
    }
    let repeated = ctx.lowering.before_repeating(&scatter.indices).filter(|repeated| is_list(&repeated.dims));
    Ok(repeated.cloned().map(Value::Computed))
}

/// Returns the elements along an axis, if they are the same along all other axes.
fn repeated_list(indices: &Array, along: usize) -> Option<Array> {
    let (list, extent, inner) = (indices.to_i64()?, indices.dims()[along], strides(indices.dims())[along]);
    let own: Vec<i64> = (0..extent).map(|i| list[i * inner]).collect();
    let is_own = |(flat, &index): (usize, &i64)| index == own[flat / inner % extent];
    list.iter().enumerate().all(is_own).then(|| Array::of_ints(vec![extent], indices.element_type(), own))
}

/// Writes updates to data by a list of indices, one for each place of the updates along an axis.
pub(super) fn written_by(
    ctx: &mut NodeLowering<'_>,
    data: &Value,
    updates: &Value,
    indices: &Value,
    along: usize,
    reduction: Reduction,
) -> Result<Computed, Problem> {
    let kind = match reduction {
        Reduction::Replace | Reduction::Add => SegmentKind::Sum,
        Reduction::Multiply => SegmentKind::Prod,
        Reduction::Maximum => SegmentKind::Max,
        Reduction::Minimum => SegmentKind::Min,
    };
    let count = indices.len();
    let indices = reshaped(ctx.lowering, indices, &[count])?;
    let row = AtomLayout::of(&[count], &[vec![], vec![], vec![], vec![0]]);
    let indices = placed_as(ctx.lowering, &indices, &row)?;
    let written = segments(ctx, updates, indices, (along, data.dims()[along]), kind)?;
    if let Some(binary) = reduction.binary() {
        return two(ctx, binary, data, &Value::Computed(written), data.element_type());
    }
    let mut dims = vec![1; data.dims().len()];
    dims[along] = count;
    let ones = Array::of_ints(vec![], ElementType::Bool, vec![1]).broadcast(&dims, ctx.meter())?;
    let is_written = segments(ctx, &Value::Known(ones), indices, (along, data.dims()[along]), SegmentKind::Sum)?;
    selected(ctx, &Value::Computed(is_written), [&Value::Computed(written), data])
}

/// Combines the places of a value along an axis by a row of their segments. `places` is their number.
pub(super) fn segments(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    row: TensorId,
    (along, places): (usize, usize),
    kind: SegmentKind,
) -> Result<Computed, Problem> {
    let others: Vec<usize> = (0..x.dims().len()).filter(|&axis| axis != along).collect();
    let by_pixel = |dims: &[usize]| AtomLayout::of(dims, &[vec![], vec![], vec![along], others.clone()]);
    let mut dims = x.dims().to_vec();
    let from = placed_as(ctx.lowering, x, &by_pixel(&dims))?;
    let from = if x.known().is_some() { ctx.lowering.stored(from)? } else { from };
    dims[along] = places;
    let layout = by_pixel(&dims);
    let tensor = ctx.emit(Op::SegmentReduce(SegmentReduce { kind, sorted: false }), &[from, row], layout.shape())?;
    Ok(Computed { tensor, layout: layout.tidy(&dims), dims, elem: x.element_type() })
}

/// Writes updates to data where they hit: `hit` has places on an axis, and the updates of each on the one after it.
fn written(
    ctx: &mut NodeLowering<'_>,
    data: &Value,
    updates: &Value,
    hit: &Computed,
    along: usize,
    reduction: Reduction,
) -> Result<Computed, Problem> {
    let (kind, neutral) = match reduction {
        Reduction::Replace | Reduction::Add => (ReduceKind::Sum, 0.0),
        Reduction::Multiply => (ReduceKind::Prod, 1.0),
        Reduction::Maximum => (ReduceKind::Max, f32::NEG_INFINITY),
        Reduction::Minimum => (ReduceKind::Min, f32::INFINITY),
    };
    let hit_value = Value::Computed(hit.clone());
    let written = match neutral {
        0.0 => two(ctx, Binary::ZeroUnless, &hit_value, updates, updates.element_type())?,
        neutral => selected(ctx, &hit_value, [updates, &math::scalar(neutral)])?,
    };
    let written = reduced_over(ctx, &written, kind, &[along + 1])?;
    let written = reshaped(ctx.lowering, &Value::Computed(written), data.dims())?;
    match reduction.binary() {
        Some(binary) => two(ctx, binary, data, &written, data.element_type()),
        None => {
            let is_written = reduced_over(ctx, hit, ReduceKind::Max, &[along + 1])?;
            let mut dims = hit.dims.clone();
            dims.remove(along + 1);
            let is_written = reshaped(ctx.lowering, &Value::Computed(is_written), &dims)?;
            selected(ctx, &is_written, [&written, data])
        }
    }
}
