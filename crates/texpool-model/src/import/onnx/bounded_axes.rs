//! Rules of operators that treat each axis alone, for axes whose extent a run gives or finds.

use super::{
    bounded_joins::last_places,
    derived_extents::{derived, limited},
    lower::{picked_by, two},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Value},
};
use crate::import::{
    common::axes::{named_axes, permutation},
    error::Problem,
};
use texpool_ops::graph::{Binary, ElementType};

/// Operators of an image or signal that compute each item of a batch alone. Batches are their first axis.
const BY_ITEM: [&str; 4] = ["BatchNormalization", "GlobalLpPool", "GroupNormalization", "LRN"];

/// Applies the rule of an operator to each axis of its first operand alone.
pub(super) fn each(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let mut passed = Vec::new();
    for bounded in &ctx.bounds[0].clone() {
        if own == "Slice" {
            match slice(ctx, bounded)? {
                Some(to) => passed.extend(to),
                None => return Err(mixed(bounded)),
            }
            continue;
        }
        let to = match own {
            "Transpose" => transpose(ctx, bounded)?,
            "Unsqueeze" => unsqueeze(ctx, bounded)?,
            "Squeeze" => squeeze(ctx, bounded)?,
            "Split" => (ctx.axis(rank(ctx, 0), 0)? != bounded.axis).then(|| bounded.clone()),
            // Their elements keep their places.
            "RandomNormalLike" | "RandomUniformLike" | "Trilu" => Some(bounded.clone()),
            "Tile" => tile(ctx, bounded)?,
            "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" => {
                let first = ctx.axis(rank(ctx, 0), -1)?;
                (bounded.axis < first).then(|| bounded.clone())
            }
            "LpNormalization" => (ctx.axis(rank(ctx, 0), -1)? != bounded.axis).then(|| bounded.clone()),
            // Its statistics are those of all items.
            "BatchNormalization" if ctx.flag("training_mode", false)? => None,
            own if BY_ITEM.contains(&own) && bounded.axis == 0 => Some(bounded.clone()),
            // Each channel has its own numbers, or each pixel.
            "BatchNormalization" | "LRN" if bounded.axis > 1 => Some(bounded.clone()),
            own if BY_ITEM.contains(&own) => None,
            _ => return Err(without_rule(bounded)),
        };
        match to {
            Some(to) => passed.push(to),
            None => return Err(mixed(bounded)),
        }
    }
    Ok(Some(passed))
}

/// Returns the axis with at most a number of places. `None` if it always has that many.
pub(super) fn at_most(
    ctx: &mut NodeLowering<'_>,
    bounded: &BoundedAxis,
    most: usize,
) -> Result<Option<BoundedAxis>, Problem> {
    let size = limited(ctx, &bounded.size, Binary::Minimum, most)?;
    Ok(size.map(|size| BoundedAxis { size, ..bounded.clone() }))
}

/// The places of an axis are looked up one repetition after another, by their remainder. The operator repeats the others.
fn tile(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<BoundedAxis>, Problem> {
    let mut repeats = ctx.integers(1, "repeats")?;
    let repeated = match repeats.get(bounded.axis) {
        Some(1) => return Ok(Some(bounded.clone())),
        Some(&repeated @ 2..) => repeated,
        _ => return Ok(None),
    };
    let size = derived(ctx, &bounded.size, [repeated, 0, 1])?;
    ctx.budget_for(&[size.bound], size_of::<i64>(), 1)?;
    let elem = ElementType::I64;
    let places = Value::integers((0..size.bound as i64).collect());
    // An extent of no places has no remainders.
    let count = Value::Computed(bounded.size.count.clone());
    let count = Value::Computed(two(ctx, Binary::Maximum, &count, &Value::integers(vec![1]), elem)?);
    let before = Value::Computed(two(ctx, Binary::FloorDiv, &places, &count, elem)?);
    let before = Value::Computed(two(ctx, Binary::Mul, &before, &count, elem)?);
    let indices = two(ctx, Binary::Sub, &places, &before, elem)?;
    let x = ctx.operand(0)?;
    ctx.operands[0] = Some(picked_by(ctx, &x, bounded.axis, &indices)?);
    repeats[bounded.axis] = 1;
    ctx.operands[1] = Some(Value::integers(repeats));
    Ok(Some(BoundedAxis { size, ..bounded.clone() }))
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

/// Starts and steps of a Slice, and the axes that they are for.
pub(super) struct SliceStarts {
    pub(super) starts: Vec<i64>,
    pub(super) steps: Vec<i64>,
    pub(super) axes: Vec<usize>,
}

impl SliceStarts {
    pub(super) fn of(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        let starts = ctx.list("starts", 1)?.unwrap_or_default();
        let named = ctx.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = if ctx.optional(4).is_some() { ctx.integers(4, "steps")? } else { vec![1; starts.len()] };
        Ok(Self { steps, axes: named_axes(&named, rank(ctx, 0))?, starts })
    }
}

/// A range of the axis ends at its end or before it; or it begins at the first place, so that the result has as many places
/// as the range, or as there are; or it has the last places, of which there are always as many.
fn slice(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis) -> Result<Option<Option<BoundedAxis>>, Problem> {
    let ends = ctx.list("ends", 2)?.unwrap_or_default();
    let SliceStarts { starts, steps, axes } = SliceStarts::of(ctx)?;
    let Some(place) = axes.iter().position(|&axis| axis == bounded.axis) else {
        return Ok(Some(Some(bounded.clone())));
    };
    let (least, bound) = (bounded.size.least as i64, bounded.size.bound as i64);
    match (starts.get(place), ends.get(place), steps.get(place)) {
        // From a place to the end, or to one before it.
        (Some(&start @ 0..), Some(&end), Some(&step @ 1..))
            if (end < 0 || end >= bound) && least + end.min(0) >= start.saturating_add(1) =>
        {
            let more = if end < 0 { end } else { 0 } - start + step - 1;
            let size = derived(ctx, &bounded.size, [1, more, step])?;
            Ok(Some(Some(BoundedAxis { size, ..bounded.clone() })))
        }
        (Some(0), Some(&end @ 1..), Some(1)) => at_most(ctx, bounded, end as usize).map(Some),
        (Some(start @ ..0), Some(&end), Some(1))
            if end >= bounded.size.bound as i64 && start.unsigned_abs() <= bounded.size.least as u64 =>
        {
            last_places(ctx, 0, bounded, start.unsigned_abs() as usize)?;
            Ok(Some(None))
        }
        _ => Ok(None),
    }
}

/// Returns the number of axes of an operand.
pub(super) fn rank(ctx: &NodeLowering<'_>, position: usize) -> usize {
    ctx.optional(position).map_or(0, |value| value.dims().len())
}

/// Refuses a node whose operator has no rule for such an extent.
pub(super) fn without_rule(bounded: &BoundedAxis) -> Problem {
    let (axis, bound) = (bounded.axis, bounded.size.bound);
    let reason = format!(
        "the extent of its operand along axis {axis} is found in a run, and is at most {bound}; the operator is only \
         supported for extents that are the same in each run"
    );
    Problem::new(reason, ONE_NUMBER)
}

/// Hint for an operator that needs an extent to be the same in each run.
const ONE_NUMBER: &str = "bind the extent to one number if it is that of an input; else cut the graph in front of the \
                          operator, and compute the rest on the results";

/// Refuses a node that would read places behind an extent.
pub(super) fn mixed(bounded: &BoundedAxis) -> Problem {
    let (axis, bound) = (bounded.axis, bounded.size.bound);
    let reason = format!(
        "the extent of its operand along axis {axis} is found in a run, and is at most {bound}; the operator would also read \
         the places behind the extent, which belong to no run"
    );
    Problem::new(reason, ONE_NUMBER)
}
