//! Replaces the places behind an extent that a run gives or finds, so that operators may mix the places of an axis.

use super::{
    array::Array,
    fold::math,
    lower::{reshaped, two},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, MOST_PLACES, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType, ReduceKind};

/// A value that has no effect on an operator's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Neutral {
    Zero,
    One,
    /// Less than or equal to all values.
    Least,
    /// Greater than or equal to all values.
    Greatest,
    /// A place that an index names without an effect.
    Place(usize),
}

impl Neutral {
    /// Returns the value that has no effect on a reduction.
    pub(super) const fn of(kind: ReduceKind) -> Self {
        match kind {
            ReduceKind::Sum
            | ReduceKind::Mean
            | ReduceKind::SumSquare
            | ReduceKind::L1
            | ReduceKind::L2
            | ReduceKind::LogSum => Self::Zero,
            ReduceKind::Prod => Self::One,
            ReduceKind::Max | ReduceKind::ArgMax { .. } | ReduceKind::LogSumExp => Self::Least,
            ReduceKind::Min | ReduceKind::ArgMin { .. } => Self::Greatest,
        }
    }

    /// Returns the value as an array of no axes.
    fn number(self, elem: ElementType) -> Array {
        let number = match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
            Self::Place(place) => place as f32,
            Self::Least if elem.is_float() => f32::NEG_INFINITY,
            Self::Greatest if elem.is_float() => f32::INFINITY,
            Self::Least if elem == ElementType::Bool => 0.0,
            Self::Greatest if elem == ElementType::Bool => 1.0,
            Self::Least => -(MOST_PLACES as f32),
            Self::Greatest => MOST_PLACES as f32,
        };
        if elem.is_float() {
            Array::of_floats(vec![], elem, &[number])
        } else {
            Array::of_ints(vec![], elem, vec![number as i64])
        }
    }
}

/// Replaces the places of an operand behind the extents of these axes. What they held, even NaN, has no effect then.
pub(super) fn mask(
    ctx: &mut NodeLowering<'_>,
    position: usize,
    bounds: &[BoundedAxis],
    neutral: Neutral,
) -> Result<(), Problem> {
    if bounds.is_empty() {
        return Ok(());
    }
    let x = ctx.operand(position)?;
    ctx.operands[position] = Some(masked(ctx, &x, bounds, neutral)?);
    Ok(())
}

/// Replaces the places of the first operand behind the extents of these axes by a single number, which may be one of a
/// run.
pub(super) fn mask_by(ctx: &mut NodeLowering<'_>, bounds: &[BoundedAxis], number: &Value) -> Result<(), Problem> {
    if bounds.is_empty() {
        return Ok(());
    }
    let x = ctx.operand(0)?;
    let inside = Value::Computed(inside(ctx, bounds, x.dims().len())?);
    let number = reshaped(ctx.lowering, number, &[])?;
    ctx.operands[0] = Some(added(ctx, [&inside, &x, &number], x.element_type())?);
    Ok(())
}

/// Returns a value with its places behind the extents of these axes replaced.
pub(super) fn masked(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    bounds: &[BoundedAxis],
    neutral: Neutral,
) -> Result<Value, Problem> {
    let elem = x.element_type();
    let inside = Value::Computed(inside(ctx, bounds, x.dims().len())?);
    let number = Value::Known(neutral.number(elem));
    let is_zero = number.known().is_some_and(|number| number.to_f32().first() == Some(&0.0));
    // Integers have no NaN, and a sum would have to hold twice the greatest one.
    if elem.is_integer() && !is_zero {
        let (limit, pick) = match neutral {
            Neutral::Least => (Neutral::Greatest, Binary::Minimum),
            Neutral::Greatest => (Neutral::Least, Binary::Maximum),
            Neutral::Zero | Neutral::One | Neutral::Place(_) => return added(ctx, [&inside, x, &number], elem),
        };
        let limit = Value::Known(limit.number(elem));
        let limits = added(ctx, [&inside, &limit, &number], elem)?;
        return Ok(Value::Computed(two(ctx, pick, x, &limits, elem)?));
    }
    if is_zero {
        return Ok(Value::Computed(two(ctx, Binary::ZeroUnless, &inside, x, elem)?));
    }
    added(ctx, [&inside, x, &number], elem)
}

/// Returns `inside ? x : number`.
fn added(ctx: &mut NodeLowering<'_>, [inside, x, number]: [&Value; 3], elem: ElementType) -> Result<Value, Problem> {
    let x = Value::Computed(two(ctx, Binary::ZeroUnless, inside, x, elem)?);
    let number = Value::Computed(two(ctx, Binary::ZeroIf, inside, number, elem)?);
    Ok(Value::Computed(two(ctx, Binary::Add, &x, &number, elem)?))
}

/// Returns whether each place along these axes is before the extents, for values of this number of axes.
fn inside(ctx: &mut NodeLowering<'_>, bounds: &[BoundedAxis], rank: usize) -> Result<Computed, Problem> {
    let key = |bounded: &BoundedAxis| (bounded.size.count.tensor, bounded.size.bound, rank - 1 - bounded.axis);
    let key: Vec<_> = bounds.iter().map(key).collect();
    if let Some(known) = ctx.lowering.open.masks.get(&key) {
        return Ok(known.clone());
    }
    let inside = match bounds {
        [bounded] => {
            let mut dims = vec![1; rank - bounded.axis];
            dims[0] = bounded.size.bound;
            ctx.budget_for(&dims, size_of::<i64>(), 1)?;
            let places = Array::of_ints(dims, ElementType::I64, (0..bounded.size.bound as i64).collect());
            let count = Value::Computed(bounded.size.count.clone());
            two(ctx, Binary::Less, &Value::Known(places), &count, ElementType::Bool)?
        }
        // Computed once for all layers of these extents, so that each of them is masked in one step.
        [others @ .., last] => {
            let others = Value::Computed(inside(ctx, others, rank)?);
            let last = Value::Computed(inside(ctx, std::slice::from_ref(last), rank)?);
            two(ctx, Binary::ZeroUnless, &others, &last, ElementType::Bool)?
        }
        [] => return Err(Problem::malformed("no axis of it is open")),
    };
    ctx.lowering.open.masks.insert(key, inside.clone());
    Ok(inside)
}

/// Returns the number by which a mean over masked places is multiplied: the bound divided by the extent, for each axis.
pub(super) fn share(ctx: &mut NodeLowering<'_>, bounds: &[BoundedAxis]) -> Result<Option<Value>, Problem> {
    let mut share: Option<Value> = None;
    for bounded in bounds {
        let (bound, elem) = (math::scalar(bounded.size.bound as f32), ElementType::F32);
        let count = Value::Computed(Computed { elem, ..bounded.size.count.clone() });
        let next = Value::Computed(two(ctx, Binary::Div, &bound, &count, elem)?);
        share = Some(match share {
            Some(before) => Value::Computed(two(ctx, Binary::Mul, &before, &next, elem)?),
            None => next,
        });
    }
    // The count has an axis, which would be one of the result's, too.
    share.map(|share| reshaped(ctx.lowering, &share, &[])).transpose()
}
