//! Rules of convolutions and pools along an axis whose extent a run gives or finds.

use super::{
    array::Array,
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    value::{BoundedAxis, Computed, Size},
};
use crate::import::error::Problem;
use texpool_ops::graph::{Binary, ElementType, Op};

/// Axes in front of those of an image or signal: items and channels.
const LEADING: usize = 2;

/// Windows along an axis.
struct Windows {
    /// Places from the first to the last one that a window reads.
    reach: i64,
    stride: i64,
    /// Places that the border adds in front and behind.
    border: [i64; 2],
}

impl Windows {
    /// Reads the windows along an axis of the operand. `None` if their border depends on the extent.
    fn along(ctx: &NodeLowering<'_>, own: &str, axis: usize) -> Result<Option<Self>, Problem> {
        let (place, count) = (axis - LEADING, ctx.operand(0)?.dims().len() - LEADING);
        let stated = |name: &str, place: usize| ctx.ints(name).and_then(|list| list.get(place).copied());
        let window = match own {
            "Conv" | "ConvTranspose" => ctx.operand(1)?.dims().get(axis).map_or(0, |&extent| extent as i64),
            _ => stated("kernel_shape", place).unwrap_or(0),
        };
        let [stride, dilation] = ["strides", "dilations"].map(|name| stated(name, place).unwrap_or(1));
        // Lowering refuses numbers out of range.
        if !(1..=MOST).contains(&window) || !(1..=MOST).contains(&stride) || !(1..=MOST).contains(&dilation) {
            return Ok(None);
        }
        let reach = (window - 1) * dilation + 1;
        let border = match ctx.text("auto_pad", "NOTSET")?.as_str() {
            "NOTSET" | "" => [place, count + place].map(|place| stated("pads", place).unwrap_or(0)),
            "VALID" => [0, 0],
            "SAME_UPPER" if stride == 1 && own != "ConvTranspose" => [(reach - 1) / 2, reach / 2],
            "SAME_LOWER" if stride == 1 && own != "ConvTranspose" => [reach / 2, (reach - 1) / 2],
            _ => return Ok(None),
        };
        Ok(border.iter().all(|pad| (0..=MOST).contains(pad)).then_some(Self { reach, stride, border }))
    }
}

/// Limit on the numbers of a window, far below those that floats hold exactly.
const MOST: i64 = 1 << 16;

/// Returns the axis of the result for an axis of the operand. Places behind the extent are replaced by ones without an
/// effect if windows may read them. `None` if the result would depend on more.
pub(super) fn windowed(
    ctx: &mut NodeLowering<'_>,
    own: &str,
    bounded: &BoundedAxis,
) -> Result<Option<BoundedAxis>, Problem> {
    if bounded.axis < LEADING {
        return Ok(None);
    }
    let Some(Windows { reach, stride, border: [front, behind] }) = Windows::along(ctx, own, bounded.axis)? else {
        return Ok(None);
    };
    let own_mask = std::slice::from_ref(bounded);
    match own {
        "ConvTranspose" => {
            // The extent of a result that the file states is not that of a run.
            if ctx.has("output_shape") {
                return Ok(None);
            }
            let added = ctx.ints("output_padding").and_then(|list| list.get(bounded.axis - LEADING).copied());
            masks::mask(ctx, 0, own_mask, Neutral::Zero)?;
            let more = reach - stride - front - behind + added.unwrap_or(0);
            return counted(ctx, bounded, [stride, more, 1]).map(Some);
        }
        "Conv" | "LpPool" if behind > 0 => masks::mask(ctx, 0, own_mask, Neutral::Zero)?,
        "MaxPool" if behind > 0 => masks::mask(ctx, 0, own_mask, Neutral::Least)?,
        "AveragePool" if behind > 0 && ctx.flag("count_include_pad", false)? => {
            masks::mask(ctx, 0, own_mask, Neutral::Zero)?;
        }
        "AveragePool" if behind > 0 => return Ok(None),
        _ => {}
    }
    // Windows that begin in front of the end but reach behind it, and numbers of places in the whole image.
    if ctx.flag("ceil_mode", false)? || own == "MaxPool" && ctx.wants(1) {
        return Ok(None);
    }
    counted(ctx, bounded, [1, front + behind - reach + stride, stride]).map(Some)
}

/// Returns the axis with `(factor * n + more) / stride` places, rounded down, for `n` places of the given one.
fn counted(
    ctx: &mut NodeLowering<'_>,
    bounded: &BoundedAxis,
    [factor, more, stride]: [i64; 3],
) -> Result<BoundedAxis, Problem> {
    if [factor, more, stride] == [1, 0, 1] {
        return Ok(bounded.clone());
    }
    let Size { count, least, bound } = &bounded.size;
    let places = |n: usize| (factor * n as i64 + more).div_euclid(stride).max(0) as usize;
    let (least, bound) = (places(*least), places(*bound));
    let key = (count.tensor, [factor, more, stride]);
    let tensor = match ctx.lowering.extents.get(&key) {
        Some(&known) => known,
        None => {
            let shape = count.layout.shape();
            let mut tensor = count.tensor;
            for (binary, number) in [(Binary::Mul, factor), (Binary::Add, more), (Binary::FloorDiv, stride)] {
                if number != i64::from(binary != Binary::Add) {
                    let number = Array::of_ints(vec![1], ElementType::I64, vec![number]);
                    let number = ctx.lowering.constant(&number, shape)?;
                    tensor = ctx.emit(Op::Binary(binary), &[tensor, number], shape)?;
                }
            }
            ctx.lowering.extents.insert(key, tensor);
            tensor
        }
    };
    let size = Size { count: Computed { tensor, ..count.clone() }, least, bound };
    Ok(BoundedAxis { size, ..bounded.clone() })
}
