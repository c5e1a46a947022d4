//! Extents that a run gives or finds, behind operators that are given the extents of their results.

use super::{
    bounded_axes::SliceStarts,
    derived_extents::{derived, difference, factored},
    integers::mark_nodes,
    lower::{picked_by, two},
    node_lowering::NodeLowering,
    passed::Passed,
    value::{BoundedAxis, Computed, Size, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// An extent in a list: a number, or one that a run gives or finds.
#[derive(Clone, Debug)]
enum Extent {
    Is(usize),
    Size(Size),
}

impl Extent {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(a), Self::Is(b)) => a == b,
            (Self::Size(a), Self::Size(b)) => a.is_like(b),
            _ => false,
        }
    }
}

/// Returns the extents of an operand.
fn extents_of(ctx: &NodeLowering<'_>, position: usize) -> Vec<Extent> {
    let dims = ctx.optional(position).map(|value| value.dims().to_vec()).unwrap_or_default();
    let bounds = ctx.bounds.get(position).map(Vec::as_slice).unwrap_or_default();
    let extent = |(axis, &extent): (usize, &usize)| match bounds.iter().find(|bounded| bounded.axis == axis) {
        Some(bounded) => Extent::Size(bounded.size.clone()),
        None => Extent::Is(extent),
    };
    dims.iter().enumerate().map(extent).collect()
}

/// Returns the axes of a list of extents that a run gives or finds.
fn bounded(extents: &[Extent]) -> Vec<BoundedAxis> {
    let one = |(axis, extent): (usize, &Extent)| match extent {
        Extent::Size(size) => Some(BoundedAxis { axis, size: size.clone() }),
        Extent::Is(_) => None,
    };
    extents.iter().enumerate().filter_map(one).collect()
}

/// Returns the element of a known operand that is an extent of a run.
fn size<'c>(ctx: &'c NodeLowering<'_>, position: usize, place: usize) -> Option<&'c Size> {
    ctx.sizes.get(position)?.get(place)?.as_ref()
}

/// Each such extent stays an axis of its own, or is divided into one and a number, with as many elements between it and the
/// next one. Then the elements keep their places for every extent.
pub(super) fn reshape(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let stated = ctx.integers(1, "new extents")?;
    let own = extents_of(ctx, 0);
    let keeps_zero = ctx.flag("allowzero", false)?;
    let mut open = None;
    let mut new = Vec::with_capacity(stated.len());
    for (place, &number) in stated.iter().enumerate() {
        new.push(match (size(ctx, 1, place), number) {
            (Some(size), _) => Extent::Size(size.clone()),
            (None, 0) if !keeps_zero => own.get(place).cloned().unwrap_or(Extent::Is(0)),
            (None, -1) => {
                open = Some(place);
                Extent::Is(1)
            }
            (None, number) => Extent::Is(usize::try_from(number).unwrap_or(0)),
        });
    }
    let from = Split::of(ctx, &own);
    if let Some(place) = open {
        // The remaining elements are a multiple of such an extent, or else a number.
        let before = new[..place].iter().filter(|extent| matches!(extent, Extent::Size(_))).count();
        if let Some(size) = from.sizes.get(before) {
            let mut as_size = new.clone();
            as_size[place] = Extent::Size(size.clone());
            let behind = Split::of(ctx, &as_size).between.get(before + 1).copied();
            if let Some(factor) = quotient(from.between.get(before + 1).copied(), behind) {
                as_size[place] = Extent::Size(derived(ctx, size, [factor as i64, 0, 1])?);
                if from.is(&Split::of(ctx, &as_size)) {
                    return Ok(Some(bounded(&as_size)));
                }
            }
        }
        let to = Split::of(ctx, &new);
        if let Some(rest) = quotient(from.between.get(before).copied(), to.between.get(before).copied()) {
            new[place] = Extent::Is(rest);
        }
    }
    Ok(from.is(&Split::of(ctx, &new)).then(|| bounded(&new)))
}

/// Returns how often a number contains another, if it is a multiple of that.
fn quotient(all: Option<usize>, by: Option<usize>) -> Option<usize> {
    let (all, by) = (all?, by?);
    (by > 0 && all.is_multiple_of(by)).then(|| all / by)
}

/// A list of extents, divided at those that a run gives or finds.
struct Split {
    /// The extents that those in the list are multiples of.
    sizes: Vec<Size>,
    /// Number of elements before, between and behind them.
    between: Vec<usize>,
}

impl Split {
    fn of(ctx: &NodeLowering<'_>, extents: &[Extent]) -> Self {
        let (mut sizes, mut between) = (Vec::new(), vec![1usize]);
        for extent in extents {
            let number = match extent {
                Extent::Is(number) => *number,
                Extent::Size(size) => {
                    let (size, factor) = factored(ctx, size);
                    sizes.push(size);
                    between.push(1);
                    factor
                }
            };
            if let Some(last) = between.last_mut() {
                *last = last.saturating_mul(number);
            }
        }
        Self { sizes, between }
    }

    fn is(&self, other: &Self) -> bool {
        let are_like = self.sizes.iter().zip(&other.sizes).all(|(a, b)| a.is_like(b));
        self.between == other.between && are_like
    }
}

/// An axis of extent one is repeated to such an extent, or an axis that has it stays.
pub(super) fn expand(ctx: &NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let stated = ctx.integers(1, "extents")?;
    let own = extents_of(ctx, 0);
    let rank = own.len().max(stated.len());
    let aligned = |axis: usize, len: usize| (axis + len).checked_sub(rank);
    let mut result = Vec::with_capacity(rank);
    for axis in 0..rank {
        let from = aligned(axis, own.len()).map_or(Extent::Is(1), |axis| own[axis].clone());
        let to = aligned(axis, stated.len()).map_or(Extent::Is(1), |place| match size(ctx, 1, place) {
            Some(size) => Extent::Size(size.clone()),
            None => Extent::Is(usize::try_from(stated[place]).unwrap_or(0)),
        });
        result.push(match (&from, &to) {
            (Extent::Is(1), _) => to,
            (_, Extent::Is(1)) => from,
            _ if from.is(&to) => from,
            (Extent::Is(_), Extent::Is(_)) => to,
            _ => return Ok(None),
        });
    }
    Ok(Some(bounded(&result)))
}

/// Returns the axes of a value that is made for a list of extents.
pub(super) fn filled(ctx: &NodeLowering<'_>) -> Vec<BoundedAxis> {
    let sizes = ctx.sizes.first().map(Vec::as_slice).unwrap_or_default();
    let one = |(axis, size): (usize, &Option<Size>)| Some(BoundedAxis { axis, size: size.clone()? });
    sizes.iter().enumerate().filter_map(one).collect()
}

/// Numbers from one on up to such an extent, or from such an extent up to another one that is greater by a number, or by an
/// extent.
pub(super) fn range(ctx: &mut NodeLowering<'_>) -> Result<Option<Passed>, Problem> {
    let number = |ctx: &NodeLowering<'_>, position: usize| {
        let number = *ctx.optional(position)?.known()?.to_f32().first()?;
        (number.fract() == 0.0).then_some(number as i64)
    };
    let Some(limit) = size(ctx, 1, 0).cloned().filter(|_| size(ctx, 2, 0).is_none() && number(ctx, 2) == Some(1))
    else {
        return Ok(None);
    };
    let Some(start) = size(ctx, 0, 0).cloned() else {
        let from = number(ctx, 0).filter(|from| (0..=limit.least as i64).contains(from));
        let Some(from) = from else { return Ok(None) };
        let size = derived(ctx, &limit, [1, -from, 1])?;
        return Ok(Some(Passed::on(vec![BoundedAxis { axis: 0, size }])));
    };
    let (first, elem) = (ctx.lowering.graph.nodes.len(), ctx.operand(0)?.element_type());
    match span(ctx, &start, &Extent::Size(limit))? {
        Some((places, extent)) if elem.is_integer() => {
            let places = Computed { elem, ..places };
            mark_nodes(&mut ctx.lowering.graph, first, &places);
            let passed = Passed::on(bounded(&[extent]));
            Ok(Some(Passed { result: Some(Value::Computed(places)), ..passed }))
        }
        _ => Ok(None),
    }
}

/// Returns the places from an extent of a run up to another extent, and their number. `None` if the second may be less.
fn span(ctx: &mut NodeLowering<'_>, start: &Size, end: &Extent) -> Result<Option<(Computed, Extent)>, Problem> {
    let more = match end {
        Extent::Size(end) => difference(ctx, end, start),
        Extent::Is(end) => Some((start.clone(), [-1, *end as i64])),
    };
    let Some((from, [factor, more])) = more else { return Ok(None) };
    if [from.least, from.bound].iter().any(|&extent| factor * (extent as i64) + more < 0) {
        return Ok(None);
    }
    let (extent, most) = match factor {
        0 => (Extent::Is(more as usize), more as usize),
        _ => {
            let size = derived(ctx, &from, [factor, more, 1])?;
            let bound = size.bound;
            (Extent::Size(size), bound)
        }
    };
    if most == 0 {
        return Ok(None);
    }
    ctx.budget_for(&[most], size_of::<i64>(), 1)?;
    let places = Value::integers((0..most as i64).collect());
    let start = Value::Computed(start.count.clone());
    Ok(Some((two(ctx, Binary::Add, &places, &start, ElementType::I64)?, extent)))
}

/// Flattening keeps such an extent, or a multiple of it, if it is the only one of its side and the first axis apart from ones.
pub(super) fn flatten(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let own = extents_of(ctx, 0);
    let rank = own.len() as i64;
    let at = ctx.int("axis")?.unwrap_or(1);
    let at = if at < 0 { at + rank } else { at }.clamp(0, rank) as usize;
    let mut sides = Vec::with_capacity(2);
    for extents in [&own[..at], &own[at..]] {
        let Split { sizes, between } = Split::of(ctx, extents);
        sides.push(match (&sizes[..], &between[..]) {
            ([], _) => Extent::Is(between[0]),
            ([size], [1, factor]) => Extent::Size(derived(ctx, size, [*factor as i64, 0, 1])?),
            _ => return Ok(None),
        });
    }
    Ok(Some(bounded(&sides)))
}

/// Returns the axes along which a slice takes the places before such an extent, or from one on.
pub(super) fn sliced_to_sizes(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    if ctx.sizes.iter().enumerate().any(|(position, sizes)| !matches!(position, 1 | 2) && !sizes.is_empty()) {
        return Ok(None);
    }
    let SliceStarts { mut starts, steps, axes } = SliceStarts::of(ctx)?;
    let mut ends = ctx.list("ends", 2)?.unwrap_or_default();
    let own = extents_of(ctx, 0);
    let mut result = own.clone();
    for (place, &axis) in axes.iter().enumerate() {
        let [start, end] = [1, 2].map(|position| size(ctx, position, place).cloned());
        let (Some(from), Some(to)) = (starts.get_mut(place), ends.get_mut(place)) else { return Ok(None) };
        let end = match (end, &own[axis]) {
            (Some(end), _) => Extent::Size(end),
            (None, Extent::Is(_)) if start.is_none() => continue,
            (None, Extent::Is(extent)) if *to < 0 => Extent::Is(extent.saturating_add_signed(*to as isize)),
            (None, Extent::Is(extent)) => Extent::Is(*extent.min(&(*to as usize))),
            (None, Extent::Size(own)) if start.is_some() && *to >= own.bound as i64 => Extent::Size(own.clone()),
            (None, Extent::Size(_)) => return Ok(None),
        };
        let has_all = match (&own[axis], &end) {
            (Extent::Size(own), Extent::Size(end)) => {
                difference(ctx, own, end).is_some_and(|(_, [factor, more])| factor == 0 && more >= 0)
            }
            (Extent::Is(extent), Extent::Size(end)) => *extent >= end.bound,
            (_, Extent::Is(_)) => true,
        };
        if !has_all || steps.get(place) != Some(&1) {
            return Ok(None);
        }
        result[axis] = match (start, end) {
            (Some(start), end) => {
                let Some((places, extent)) = span(ctx, &start, &end)? else { return Ok(None) };
                (*from, *to) = (0, i64::MAX);
                pick(ctx, axis, &start, places)?;
                extent
            }
            (None, Extent::Size(end)) if (0..=end.least as i64).contains(from) => {
                *to = end.bound as i64;
                Extent::Size(derived(ctx, &end, [1, -*from, 1])?)
            }
            (None, _) => return Ok(None),
        };
    }
    (ctx.operands[1], ctx.operands[2]) = (Some(Value::integers(starts)), Some(Value::integers(ends)));
    Ok(Some(bounded(&result)))
}

/// Replaces the first operand by places of an axis, the first of which is such an extent.
fn pick(ctx: &mut NodeLowering<'_>, axis: usize, first: &Size, places: Computed) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let (extent, most) = (x.dims()[axis], places.dims.iter().product::<usize>());
    let mut places = places;
    if first.bound + most > extent {
        // Places behind the extent of the result exist, too.
        let last = Value::integers(vec![extent as i64 - 1]);
        places = two(ctx, Binary::Minimum, &Value::Computed(places), &last, ElementType::I64)?;
    }
    ctx.operands[0] = Some(picked_by(ctx, &x, axis, &places)?);
    Ok(())
}
