//! Extents that depend on values: which axis of a value has one, and how operators pass it on.
//!
//! A tensor has room for the most that its extent can be. The first places along the axis are those that the file means;
//! those behind them hold values without a meaning. So an operator may read such a tensor only if each place of its
//! result depends on one place of the operand. All others are refused here.

use super::{
    array::Array,
    model::own_domain,
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, Value},
};
use crate::import::{
    common::axes::{axis, named_axes, permutation},
    error::Problem,
};
use texpool_ops::graph::{Binary, ElementType, Op};

/// Operators that compute each element of the result from the elements of the operands at the same place.
const BY_ELEMENT: [&str; 62] = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Tan",
    "Tanh",
    "Where",
];

/// Returns the axis of a node's results whose extent is found in a run. `None` if its operands have none.
pub(super) fn of_results(ctx: &mut NodeLowering<'_>) -> Result<Option<BoundedAxis>, Problem> {
    let Some(first) = ctx.bounds.iter().flatten().next().cloned() else { return Ok(None) };
    let node = ctx.node;
    let own = if own_domain(&node.domain).is_empty() { node.op.as_str() } else { "" };
    let passed = match own {
        own if BY_ELEMENT.contains(&own) => by_element(ctx),
        "Concat" => concat(ctx)?,
        _ if ctx.bounds.iter().flatten().count() > 1 => None,
        "Gather" => gather(ctx)?,
        "GatherND" => ctx.bounds.get(1).cloned().flatten().filter(|bounded| {
            ctx.size("batch_dims", 0).is_ok_and(|batch| batch == 0) && bounded.axis + 1 < rank(ctx, 1)
        }),
        "MatMul" | "Gemm" => product(ctx)?,
        // All others read rows of their first operand.
        _ if ctx.bounds.first().is_none_or(Option::is_none) => None,
        "Transpose" => transpose(ctx, &first)?,
        "Unsqueeze" => unsqueeze(ctx, &first)?,
        "Squeeze" => squeeze(ctx, &first)?,
        "Reshape" => reshape(ctx, &first)?,
        "Slice" => return slice(ctx, &first).and_then(|passed| passed.map(Some).ok_or_else(|| mixed(&first))),
        "Split" | "Softmax" | "LogSoftmax" => other_axis(ctx, &first)?,
        _ => None,
    };
    passed.map(Some).ok_or_else(|| mixed(&first))
}

fn mixed(bounded: &BoundedAxis) -> Problem {
    let (axis, bound) = (bounded.axis, bounded.bound);
    let reason = format!(
        "the extent of its operand along axis {axis} is found in a run, and is at most {bound}; it would read the \
         places behind it"
    );
    Problem::new(reason, "cut the graph in front of it, and compute the rest on the results")
}

fn rank(ctx: &NodeLowering<'_>, position: usize) -> usize {
    ctx.optional(position).map_or(0, |value| value.dims().len())
}

/// Operands broadcast from the last axis. Those without a bound must repeat along the axis, so that each of their places
/// belongs to all of the others.
fn by_element(ctx: &NodeLowering<'_>) -> Option<BoundedAxis> {
    let values: Vec<(Value, Option<BoundedAxis>)> = ctx
        .operands
        .iter()
        .zip(&ctx.bounds)
        .filter_map(|(value, bounded)| Some((value.clone()?, bounded.clone())))
        .collect();
    let rank = values.iter().map(|(value, _)| value.dims().len()).max()?;
    let mut aligned = values.iter().filter_map(|(value, bounded)| {
        bounded.as_ref().map(|bounded| bounded.on(rank - value.dims().len() + bounded.axis))
    });
    let first = aligned.next()?;
    let repeats = |(value, bounded): &(Value, Option<BoundedAxis>)| {
        let own = (first.axis + value.dims().len()).checked_sub(rank);
        bounded.is_some() || own.is_none_or(|axis| value.dims()[axis] == 1)
    };
    (aligned.all(|other| other.is_like(&first)) && values.iter().all(repeats)).then_some(first)
}

/// Tensors are joined along another axis, and all have the same extent.
fn concat(ctx: &NodeLowering<'_>) -> Result<Option<BoundedAxis>, Problem> {
    let all: Option<Vec<BoundedAxis>> = ctx.bounds.iter().cloned().collect();
    let Some([first, others @ ..]) = all.as_deref() else { return Ok(None) };
    let along = ctx.axis(rank(ctx, 0), 1)?;
    Ok((along != first.axis && others.iter().all(|other| other.is_like(first))).then(|| first.clone()))
}

/// Indices replace the axis that they look up along.
fn gather(ctx: &NodeLowering<'_>) -> Result<Option<BoundedAxis>, Problem> {
    let along = ctx.axis(rank(ctx, 0), 0)?;
    Ok(match (&ctx.bounds[0], ctx.bounds.get(1)) {
        (Some(bounded), _) if bounded.axis < along => Some(bounded.clone()),
        (Some(bounded), _) if bounded.axis > along => Some(bounded.on(bounded.axis - 1 + rank(ctx, 1))),
        (None, Some(Some(bounded))) => Some(bounded.on(along + bounded.axis)),
        _ => None,
    })
}

/// Rows of the first operand are multiplied one by one, if the second has no batches.
fn product(ctx: &NodeLowering<'_>) -> Result<Option<BoundedAxis>, Problem> {
    let Some(Some(bounded)) = ctx.bounds.first() else { return Ok(None) };
    let (rank_a, rank_b) = (rank(ctx, 0), rank(ctx, 1));
    let addend = ctx.optional(2).is_none_or(|addend| addend.dims().len() < 2 || addend.dims()[0] == 1);
    let plain = !ctx.flag("transA", false)? && addend;
    Ok((bounded.axis + 2 == rank_a && rank_b <= 2 && plain).then(|| bounded.clone()))
}

fn transpose(ctx: &NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let rank = rank(ctx, 0);
    let perm = match ctx.ints("perm") {
        Some(perm) => permutation(&perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    Ok(perm.iter().position(|&from| from == bounded.axis).map(|to| bounded.on(to)))
}

fn unsqueeze(ctx: &NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let named = ctx.list("axes", 1)?.unwrap_or_default();
    let rank = rank(ctx, 0) + named.len();
    let added = named_axes(&named, rank)?;
    Ok((0..rank).filter(|axis| !added.contains(axis)).nth(bounded.axis).map(|to| bounded.on(to)))
}

/// Only named axes are dropped, since others may be ones in a run.
fn squeeze(ctx: &NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let Some(named) = ctx.list("axes", 1)? else { return Ok(None) };
    let rank = rank(ctx, 0);
    let dropped = named_axes(&named, rank)?;
    Ok((0..rank).filter(|axis| !dropped.contains(axis)).position(|axis| axis == bounded.axis).map(|to| bounded.on(to)))
}

/// The axis stays as it is, with as many elements before it, and the file states no number for it.
fn reshape(ctx: &NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let stated = ctx.integers(1, "new extents")?;
    let dims = ctx.operand(0)?.dims().to_vec();
    let open = stated.iter().position(|&extent| extent == -1);
    let kept = stated.get(bounded.axis).is_some_and(|&extent| extent == 0) && !ctx.flag("allowzero", false)?;
    let Some(to) = open.or(kept.then_some(bounded.axis)) else { return Ok(None) };
    let extent = |place: usize| match stated[place] {
        0 => dims.get(place).copied().unwrap_or(0),
        stated => usize::try_from(stated).unwrap_or(0),
    };
    let before = |extents: &[usize]| extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    let new: Vec<usize> = (0..to).map(extent).collect();
    let rest: Vec<usize> = (to + 1..stated.len()).map(extent).collect();
    let same = before(&new) == before(&dims[..bounded.axis]) && before(&rest) == before(&dims[bounded.axis + 1..]);
    Ok(same.then(|| bounded.on(to)))
}

/// A range of the axis begins at its first place, so that the result has as many places as the range, or as there are.
fn slice(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let starts = ctx.list("starts", 1)?.unwrap_or_default();
    let ends = ctx.list("ends", 2)?.unwrap_or_default();
    let named = ctx.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if ctx.optional(4).is_some() { ctx.integers(4, "steps")? } else { vec![1; starts.len()] };
    let named = named_axes(&named, rank(ctx, 0))?;
    let Some(place) = named.iter().position(|&axis| axis == bounded.axis) else { return Ok(Some(bounded.clone())) };
    match (starts.get(place), ends.get(place), steps.get(place)) {
        (Some(0), Some(&end), Some(1)) if end >= bounded.bound as i64 => Ok(Some(bounded.clone())),
        (Some(0), Some(&end @ 1..), Some(1)) => {
            let shape = bounded.count.layout.shape();
            let most = ctx.lowering.constant(&Array::of_ints(vec![1], ElementType::I64, vec![end]), shape)?;
            let tensor = ctx.emit(Op::Binary(Binary::Minimum), &[bounded.count.tensor, most], shape)?;
            let count = Computed { tensor, ..bounded.count.clone() };
            Ok(Some(BoundedAxis { count, bound: end as usize, ..bounded.clone() }))
        }
        _ => Ok(None),
    }
}

/// The operator computes along another axis.
fn other_axis(ctx: &NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    // Softmax flattened the axes from the named one on before operator set 13.
    let default = if ctx.node.op == "Split" { 0 } else { -1 };
    let along = axis(ctx.int("axis")?.unwrap_or(default), rank(ctx, 0))?;
    let is_plain = ctx.node.op == "Split" || ctx.opset >= 13;
    Ok((is_plain && along != bounded.axis).then(|| bounded.clone()))
}
