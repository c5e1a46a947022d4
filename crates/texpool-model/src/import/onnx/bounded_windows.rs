//! Rules of convolutions and pools along an axis whose extent a run gives or finds.

use super::{
    derived_extents::derived,
    lower::{Auto, spatial, stated_window},
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    value::BoundedAxis,
};
use crate::import::error::Problem;

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
        let operand = ctx.operand(0)?;
        // A signal is an image of one row.
        let image = match *operand.dims() {
            [_, _, x] => [1, x],
            [_, _, y, x] => [y, x],
            _ => return Ok(None),
        };
        let dimensions = operand.dims().len() - LEADING;
        let extent = match own {
            "Conv" | "ConvTranspose" => match *ctx.operand(1)?.dims() {
                [_, _, x] => [1, x],
                [_, _, y, x] => [y, x],
                _ => return Ok(None),
            },
            _ => spatial(ctx, "kernel_shape", dimensions, 1)?,
        };
        let window = stated_window(ctx, dimensions, extent)?;
        let place = axis - dimensions;
        let is_same = matches!(window.auto, Auto::Same { .. });
        if is_same && (window.stride[place] != 1 || own == "ConvTranspose") {
            return Ok(None);
        }
        let padding = window.around(image);
        let border = [[padding.top, padding.bottom], [padding.left, padding.right]][place];
        let [reach, stride] = [window.reach[place], window.stride[place]].map(|places| places as i64);
        Ok(Some(Self { reach, stride, border: border.map(|places| places as i64) }))
    }
}

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
    // Windows that begin in front of the end but reach behind it, and numbers of places in the whole image.
    if ctx.flag("ceil_mode", false)? || own == "MaxPool" && ctx.wants(1) {
        return Ok(None);
    }
    let along = std::slice::from_ref(bounded);
    match own {
        "ConvTranspose" => {
            // The extent of a result that the file states is not that of a run.
            if ctx.has("output_shape") {
                return Ok(None);
            }
            let added = ctx.ints("output_padding").and_then(|list| list.get(bounded.axis - LEADING).copied());
            masks::mask(ctx, 0, along, Neutral::Zero)?;
            let more = reach - stride - front - behind + added.unwrap_or(0);
            return counted(ctx, bounded, [stride, more, 1]).map(Some);
        }
        "Conv" | "LpPool" if behind > 0 => masks::mask(ctx, 0, along, Neutral::Zero)?,
        "MaxPool" if behind > 0 => masks::mask(ctx, 0, along, Neutral::Least)?,
        "AveragePool" if behind > 0 && ctx.flag("count_include_pad", false)? => {
            masks::mask(ctx, 0, along, Neutral::Zero)?;
        }
        "AveragePool" if behind > 0 => return Ok(None),
        _ => {}
    }
    counted(ctx, bounded, [1, front + behind - reach + stride, stride]).map(Some)
}

/// Returns the axis with `(factor * n + more) / stride` places, rounded down, for `n` places of the given one.
fn counted(ctx: &mut NodeLowering<'_>, bounded: &BoundedAxis, formula: [i64; 3]) -> Result<BoundedAxis, Problem> {
    Ok(BoundedAxis { size: derived(ctx, &bounded.size, formula)?, ..bounded.clone() })
}
