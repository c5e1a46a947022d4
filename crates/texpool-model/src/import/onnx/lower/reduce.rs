//! Lowers reductions, ArgMax and ArgMin, and running sums.

use super::{align::isolate, basic::one, volumes::stacked};
use crate::import::{
    common::{axes::axis, extents},
    error::Problem,
    onnx::{
        fold::reduce as fold,
        layout_selection::uniform,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::{All, Numbers},
};
use texpool_ops::graph::{CumSum, ElementType, Op, Reduce, ReduceKind, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("ReduceMean", 1, Numbers, "mean", Any, |c| reduce(c, ReduceKind::Mean))
        .fold(|c| fold::reduce(c, ReduceKind::Mean)),
    OnnxOpEntry::new("ReduceSum", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::Sum))
        .fold(|c| fold::reduce(c, ReduceKind::Sum)),
    OnnxOpEntry::new("ReduceSumSquare", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::SumSquare))
        .fold(|c| fold::reduce(c, ReduceKind::SumSquare)),
    OnnxOpEntry::new("ReduceMax", 1, All, "reduce", Any, |c| reduce(c, ReduceKind::Max))
        .fold(|c| fold::reduce(c, ReduceKind::Max)),
    OnnxOpEntry::new("ReduceMin", 1, All, "reduce", Any, |c| reduce(c, ReduceKind::Min))
        .fold(|c| fold::reduce(c, ReduceKind::Min)),
    OnnxOpEntry::new("ReduceProd", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::Prod))
        .fold(|c| fold::reduce(c, ReduceKind::Prod)),
    OnnxOpEntry::new("ReduceL1", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::L1))
        .fold(|c| fold::reduce(c, ReduceKind::L1)),
    OnnxOpEntry::new("ReduceL2", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::L2))
        .fold(|c| fold::reduce(c, ReduceKind::L2)),
    OnnxOpEntry::new("ReduceLogSum", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::LogSum))
        .fold(|c| fold::reduce(c, ReduceKind::LogSum)),
    OnnxOpEntry::new("ReduceLogSumExp", 1, Numbers, "reduce", Any, |c| reduce(c, ReduceKind::LogSumExp))
        .fold(|c| fold::reduce(c, ReduceKind::LogSumExp)),
    OnnxOpEntry::new("ArgMax", 1, Numbers, "reduce", Any, |c| index(c, true)),
    OnnxOpEntry::new("ArgMin", 1, Numbers, "reduce", Any, |c| index(c, false)),
    OnnxOpEntry::new("CumSum", 11, Numbers, "cum_sum", Any, cum_sum).limits("axis must be known"),
];

pub(super) fn reduce(ctx: &mut NodeLowering<'_>, kind: ReduceKind) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let keep = ctx.flag("keepdims", true)?;
    let Some(over) = ctx.reduced_axes(x.dims.len())? else {
        // Without axes to reduce, squares, magnitudes and logarithms are still applied to each element.
        let unary = match kind {
            ReduceKind::SumSquare => Some(Unary::Square),
            ReduceKind::L1 | ReduceKind::L2 => Some(Unary::Abs),
            ReduceKind::LogSum => Some(Unary::Log),
            ReduceKind::Mean
            | ReduceKind::Sum
            | ReduceKind::Max
            | ReduceKind::Min
            | ReduceKind::Prod
            | ReduceKind::LogSumExp => None,
            ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => {
                return Err(Problem::malformed("an index is along one axis"));
            }
        };
        let result = match unary {
            Some(unary) => one(ctx, unary, &x, x.elem)?,
            None => x,
        };
        ctx.give(0, Value::Computed(result));
        return Ok(());
    };
    let dims = extents::reduced(&x.dims, &over, keep);
    let result = reduced_over(ctx, &x, kind, &over)?;
    ctx.give(0, Value::Computed(Computed { layout: result.layout.tidy(&dims), dims, ..result }));
    Ok(())
}

/// Reduces a tensor over some axes, whose extents become 1.
pub(in crate::import::onnx) fn reduced_over(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    kind: ReduceKind,
    over: &[usize],
) -> Result<Computed, Problem> {
    let dims = extents::reduced(&x.dims, over, true);
    let reduced_atoms = x.layout.atoms_of(&x.dims, over);
    let layout = uniform(&x.layout, |atom| reduced_atoms.contains(&atom))?;
    let tensor = ctx.lowering.bring(x, &layout)?;
    let marks = layout.places.each_ref().map(|list| list.first().is_some_and(|atom| reduced_atoms.contains(atom)));
    if reduced_atoms.is_empty() && kind.keeps_one() {
        return Ok(Computed { dims, ..x.clone() });
    }
    // If all reduced axes have extent one, squares and logarithms are still applied. The node then reduces any
    // physical axis without atoms.
    let mut axes = marks;
    if reduced_atoms.is_empty()
        && let Some(slot) = layout.places.iter().position(Vec::is_empty)
    {
        axes[slot] = true;
    }
    let atoms: Vec<usize> = (0..layout.atoms.len()).filter(|atom| !reduced_atoms.contains(atom)).collect();
    let result = layout.renumbered(&atoms);
    let tensor = ctx.emit(Op::Reduce(Reduce { kind, axes }), &[tensor], result.shape())?;
    Ok(Computed { tensor, layout: result.tidy(&dims), dims, elem: x.elem })
}

/// Reduces over the spatial axes of an image or a volume, that is, all axes except the first two.
pub(super) fn over_image(ctx: &mut NodeLowering<'_>, kind: ReduceKind) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let x = stacked(ctx, x)?;
    let over: Vec<usize> = (2..x.dims.len()).collect();
    let result = reduced_over(ctx, &x, kind, &over)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn index(ctx: &mut NodeLowering<'_>, greatest: bool) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let axis = ctx.axis(x.dims.len(), 0)?;
    let (keep, last) = (ctx.flag("keepdims", true)?, ctx.flag("select_last_index", false)?);
    let kind = if greatest { ReduceKind::ArgMax { last } } else { ReduceKind::ArgMin { last } };
    let dims = extents::reduced(&x.dims, &[axis], keep);
    let (x, slots) = isolate(ctx, &x, &[axis])?;
    let mut axes = [false; 4];
    slots.iter().for_each(|&slot| axes[slot] = true);
    let run = x.layout.runs(&x.dims)[axis].clone();
    let atoms: Vec<usize> = (0..x.layout.atoms.len()).filter(|atom| !run.contains(atom)).collect();
    let layout = x.layout.renumbered(&atoms);
    let tensor = ctx.emit(Op::Reduce(Reduce { kind, axes }), &[x.tensor], layout.shape())?;
    ctx.answer(tensor, dims, layout, ElementType::I64);
    Ok(())
}

fn cum_sum(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let along = axis(ctx.integer(1, "axis")?, x.dims.len())?;
    let (exclusive, reverse) = (ctx.flag("exclusive", false)?, ctx.flag("reverse", false)?);
    let (x, slots) = isolate(ctx, &x, &[along])?;
    let slot = slots.first().copied().unwrap_or(0);
    let tensor = ctx.emit(Op::CumSum(CumSum { axis: slot, exclusive, reverse }), &[x.tensor], x.layout.shape())?;
    ctx.answer(tensor, x.dims, x.layout, x.elem);
    Ok(())
}
