//! Lowers operators that work along one line of values: softmax, hardmax and TopK.

use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        array::Array,
        layout_selection::{last, resized},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::{Floats, Numbers},
};
use texpool_ops::graph::{Binary, ElementType, Op, Reduce, ReduceKind, Shape, Softmax, TopK};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Softmax", 1, Floats, "softmax", Any, |c| softmax(c, false)),
    OnnxOpEntry::new("LogSoftmax", 1, Floats, "softmax", Any, |c| softmax(c, true)),
    OnnxOpEntry::new("Hardmax", 1, Floats, "reduce, binary", Any, hardmax).limits("one axis"),
    OnnxOpEntry::new("TopK", 1, Numbers, "top_k", Any, top_k).limits("the number must be known"),
];

/// Returns a tensor with the atoms of some axes on C.
pub(super) fn channels(ctx: &mut NodeLowering<'_>, x: &Computed, axes: &[usize]) -> Result<Computed, Problem> {
    let layout = last(&x.layout, &x.dims, axes, None);
    let tensor = ctx.lowering.bring(x, &layout)?;
    Ok(Computed { tensor, layout, ..x.clone() })
}

/// Returns the axes that form a line. Before operator set 13 these are all axes from `axis` on.
fn line(ctx: &NodeLowering<'_>, rank: usize) -> Result<Vec<usize>, Problem> {
    let old = ctx.opset < 13;
    let at = ctx.int("axis")?.unwrap_or(if old { 1 } else { -1 });
    // Old operator sets flatten at `axis`. At the end position, each value forms a separate line.
    if old && at == rank as i64 {
        return Ok(Vec::new());
    }
    let axis = axis(at, rank)?;
    Ok(if old { (axis..rank).collect() } else { vec![axis] })
}

pub(super) fn softmax(ctx: &mut NodeLowering<'_>, log: bool) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let line = line(ctx, x.dims.len())?;
    let result = normalised(ctx, &x, &line, log)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Returns the softmax along some axes, or its logarithm.
pub(super) fn normalised(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    line: &[usize],
    log: bool,
) -> Result<Computed, Problem> {
    let x = channels(ctx, x, line)?;
    let tensor = ctx.emit(Op::Softmax(Softmax { beta: 1.0, log }), &[x.tensor], x.layout.shape())?;
    Ok(Computed { tensor, layout: x.layout.tidy(&x.dims), ..x })
}

/// Writes 1 at the first maximum and 0 elsewhere.
fn hardmax(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let line = line(ctx, x.dims.len())?;
    let x = channels(ctx, &x, &line)?;
    let shape = x.layout.shape();
    let axes = [false, false, false, true];
    let kind = ReduceKind::ArgMax { last: false };
    let best = ctx.emit(Op::Reduce(Reduce { kind, axes }), &[x.tensor], Shape { c: 1, ..shape })?;
    ctx.budget_for(&[shape.c], size_of::<i64>(), 1)?;
    let numbers = Array::of_ints(vec![shape.c], ElementType::I64, (0..shape.c as i64).collect());
    let numbers = ctx.lowering.constant(&numbers, Shape::new(1, 1, 1, shape.c))?;
    let tensor = ctx.emit(Op::Binary(Binary::Equal), &[best, numbers], shape)?;
    ctx.answer(tensor, x.dims, x.layout, x.elem);
    Ok(())
}

fn top_k(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let along = ctx.axis(x.dims.len(), -1)?;
    let k = match ctx.optional(1) {
        Some(_) => usize::try_from(ctx.integer(1, "number")?).unwrap_or(0),
        None => ctx.size("k", 0)?,
    };
    if k == 0 {
        return Err(Problem::empty("it takes none of its values"));
    }
    if k > x.dims[along] {
        return Err(Problem::malformed(format!("it takes {k} of axis {along} of {:?}", x.dims)));
    }
    let largest = ctx.flag("largest", true)?;
    let x = channels(ctx, &x, &[along])?;
    let layout = resized(&x.layout, &x.dims, along, 3, k);
    let mut dims = x.dims.clone();
    dims[along] = k;
    for (position, indices) in [(0, false), (1, true)] {
        if ctx.wants(position) {
            let tensor = ctx.emit(Op::TopK(TopK { k, largest, indices }), &[x.tensor], layout.shape())?;
            let elem = if indices { ElementType::I64 } else { x.elem };
            let layout = layout.clone().tidy(&dims);
            ctx.give(position, Value::Computed(Computed { tensor, dims: dims.clone(), layout, elem }));
        }
    }
    Ok(())
}
