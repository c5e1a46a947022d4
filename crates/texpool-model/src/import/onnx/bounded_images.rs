//! Rules of operators that enlarge, shrink, surround or fold images and signals along axes whose extent a run gives or finds.

use super::{
    derived_extents::{derived, quotient, step},
    lower::{picked_by, resize_is_old, resized_axes, two},
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, Size, Value},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType};

/// Greatest denominator of a scale. Such scales are exact in 32 bits.
const MAX_DENOMINATOR: i64 = 64;

/// A resize keeps the quotient of the extents, so that it maps places alike for every extent. `None` if it does not, or if
/// its results depend on the extent otherwise.
pub(super) fn resized(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let axes = resized_axes(ctx, ctx.operand(0)?.dims())?;
    let has_sizes = ctx.optional(3).is_some();
    let policy = ctx.text("keep_aspect_ratio_policy", "stretch")?;
    if policy != "stretch" || ctx.flag("antialias", false)? {
        return Ok(None);
    }
    let mut passed = Vec::new();
    for bounded in ctx.bounds[0].clone() {
        let Some(place) = axes.iter().position(|(axis, _)| *axis == bounded.axis) else {
            passed.push(bounded);
            continue;
        };
        let scale = match has_sizes {
            true => {
                let size = ctx.sizes.get(3).and_then(|sizes| sizes.get(place)?.clone());
                size.and_then(|size| quotient(ctx, &size, &bounded.size))
            }
            false => fraction(axes[place].1),
        };
        let Some([factor, stride]) = scale else { return Ok(None) };
        let size = derived(ctx, &bounded.size, [factor, 0, stride])?;
        if factor != stride && !maps_alike(ctx, &size, &bounded, factor % stride == 0)? {
            return Ok(None);
        }
        passed.push(BoundedAxis { size, ..bounded });
    }
    // A size that follows from another tensor would be the bound for an axis whose extent is fixed.
    let is_open = |place: usize| axes.get(place).is_some_and(|(axis, _)| passed.iter().any(|own| own.axis == *axis));
    let sizes = ctx.sizes.get(3).map(Vec::as_slice).unwrap_or_default();
    Ok(sizes.iter().enumerate().all(|(place, size)| size.is_none() || is_open(place)).then_some(passed))
}

/// Returns whether the places of a result are computed from the same places of the operand for every extent, apart from
/// those behind the extent, which are made to repeat the last one.
fn maps_alike(
    ctx: &mut NodeLowering<'_>,
    size: &Size,
    bounded: &BoundedAxis,
    is_multiple: bool,
) -> Result<bool, Problem> {
    let [coordinates, rounding] = match resize_is_old(ctx) {
        true => ["asymmetric".to_owned(), "floor".to_owned()],
        false => {
            [ctx.text("coordinate_transformation_mode", "half_pixel")?, ctx.text("nearest_mode", "round_prefer_floor")?]
        }
    };
    let is_asymmetric = coordinates == "asymmetric";
    match coordinates.as_str() {
        "asymmetric" | "half_pixel" => {}
        // The only place of an axis has a position of its own.
        "pytorch_half_pixel" if size.least > 1 => {}
        _ => return Ok(false),
    }
    if ctx.flag("exclude_outside", false)? {
        return Ok(false);
    }
    let is_nearest = ctx.text("mode", "nearest")? == "nearest";
    let stays_before = is_multiple && if is_asymmetric { rounding == "floor" } else { rounding != "ceil" };
    if !(is_nearest && stays_before) {
        repeat_last(ctx, bounded)?;
    }
    Ok(true)
}

/// Makes the places behind the extent of the operand repeat its last place.
fn repeat_last(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis) -> Result<(), Problem> {
    let places = Value::integers((0..bounded.size.bound as i64).collect());
    let last = from_count(ctx, bounded, Binary::Sub, 1)?;
    let places = two(ctx, Binary::Minimum, &places, &last, ElementType::I64)?;
    picked(ctx, bounded.axis, &places)
}

/// Returns the extent plus or minus a number.
fn from_count(
    ctx: &mut NodeLowering<'_>,
    bounded: &BoundedAxis,
    binary: Binary,
    number: i64,
) -> Result<Value, Problem> {
    let count = Value::Computed(bounded.size.count.clone());
    Ok(Value::Computed(two(ctx, binary, &count, &Value::integers(vec![number]), ElementType::I64)?))
}

/// Replaces the operand by the places of an axis that these indices name.
fn picked(ctx: &mut NodeLowering<'_>, axis: usize, indices: &Computed) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    ctx.operands[0] = Some(picked_by(ctx, &x, axis, indices)?);
    Ok(())
}

/// Returns a scale as a numerator and a denominator, if 32 bits hold it exactly.
fn fraction(scale: f32) -> Option<[i64; 2]> {
    let exact = |denominator: &i64| (scale * *denominator as f32).fract() == 0.0;
    let powers = std::iter::successors(Some(1), |power| (*power < MAX_DENOMINATOR).then_some(power * 2));
    let denominator = powers.into_iter().find(exact)?;
    Some([(scale * denominator as f32) as i64, denominator])
}

/// Blocks of pixels become channels, or the reverse.
pub(super) fn folded(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let block = ctx.size("blocksize", 0)? as i64;
    let mut passed = Vec::new();
    for bounded in ctx.bounds[0].clone() {
        let formula = match (bounded.axis, own) {
            (0, _) => [1, 0, 1],
            (1, _) => return Ok(None),
            (_, "DepthToSpace") => [block, 0, 1],
            // Extents that are no whole number of blocks are an error in a run.
            _ if block <= 0 || !step(ctx, &bounded.size).is_multiple_of(block as usize) => return Ok(None),
            _ => [1, 0, block],
        };
        passed.push(BoundedAxis { size: derived(ctx, &bounded.size, formula)?, ..bounded });
    }
    Ok(Some(passed))
}

/// Places in front of an axis and behind it.
pub(super) fn padded(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    if ctx.has("paddings") || ctx.optional(3).is_some() {
        return Ok(None);
    }
    let mut pads = ctx.list("pads", 1)?.unwrap_or_default();
    let mode = ctx.text("mode", "constant")?;
    let value = ctx.scalar(2, "value")?.unwrap_or(ctx.float("value", 0.0)?);
    let rank = ctx.operand(0)?.dims().len();
    if pads.len() != 2 * rank {
        return Ok(None);
    }
    let mut passed = Vec::new();
    for bounded in ctx.bounds[0].clone() {
        let [front, behind] = [pads[bounded.axis], pads[bounded.axis + rank]];
        let size = derived(ctx, &bounded.size, [1, front + behind, 1])?;
        match mode.as_str() {
            _ if [front, behind] == [0, 0] => {}
            // Places that are taken off may be the only ones.
            _ if front.min(behind) < 0 => return Ok(None),
            "constant" if value == 0.0 => masks::mask(ctx, 0, std::slice::from_ref(&bounded), Neutral::Zero)?,
            "edge" => repeat_last(ctx, &bounded)?,
            "reflect" if ctx.has("pads") || front.max(behind) >= bounded.size.least as i64 => return Ok(None),
            "reflect" => {
                mirror(ctx, &bounded, [front, behind])?;
                [pads[bounded.axis], pads[bounded.axis + rank]] = [0, 0];
            }
            _ => return Ok(None),
        }
        passed.push(BoundedAxis { size, ..bounded });
    }
    if mode == "reflect" {
        ctx.operands[1] = Some(Value::integers(pads));
    }
    Ok(Some(passed))
}

/// Surrounds an axis by its own places, mirrored at the first and last one: place `i` of the result is place
/// `last - |last - |i - front||` of the operand.
fn mirror(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis, [front, behind]: [i64; 2]) -> Result<(), Problem> {
    let elem = ElementType::I64;
    let places = Value::integers((-front..bounded.size.bound as i64 + behind).map(i64::abs).collect());
    let last = from_count(ctx, bounded, Binary::Sub, 1)?;
    let beyond = Value::Computed(two(ctx, Binary::Sub, &last, &places, elem)?);
    let back = Value::Computed(two(ctx, Binary::Sub, &places, &last, elem)?);
    let distance = Value::Computed(two(ctx, Binary::Maximum, &beyond, &back, elem)?);
    let indices = Value::Computed(two(ctx, Binary::Sub, &last, &distance, elem)?);
    // Places behind the extent of the result exist, too.
    let indices = two(ctx, Binary::Maximum, &indices, &Value::integers(vec![0]), elem)?;
    picked(ctx, bounded.axis, &indices)
}
