//! Rules of convolutions and pools along an axis whose extent a run gives or finds.

use super::{
    bounded_means,
    derived_extents::{derived, step},
    lower::{Auto, are_zero_behind, spatial, stated_window},
    masks::{self, Neutral},
    node_lowering::NodeLowering,
    passed::Passed,
    value::{BoundedAxis, Size},
};
use crate::import::error::Problem;

/// Axes in front of those of an image or signal: items and channels.
const LEADING: usize = 2;

/// Windows along an axis.
struct Windows {
    /// Places from the first to the last one that a window reads.
    reach: i64,
    stride: i64,
    /// Places that the border adds in front and behind. Those behind are the most for any extent.
    border: [i64; 2],
    /// True if the border is chosen so that each `stride` places of any extent give one place of the result.
    is_same: bool,
}

impl Windows {
    /// Reads the windows along an axis of the operand. `None` if the border in front depends on the extent.
    fn along(ctx: &NodeLowering<'_>, own: &str, bounded: &BoundedAxis) -> Result<Option<Self>, Problem> {
        let operand = ctx.operand(0)?;
        // A signal is an image of one row.
        let mut image = match *operand.dims() {
            [_, _, x] => [1, x],
            [_, _, y, x] => [y, x],
            _ => return Ok(None),
        };
        let dimensions = operand.dims().len() - LEADING;
        let extent = match own {
            "Conv" | "ConvInteger" | "ConvTranspose" | "QLinearConv" => match *ctx.operand(weights(own))?.dims() {
                [_, _, x] => [1, x],
                [_, _, y, x] => [y, x],
                _ => return Ok(None),
            },
            _ => spatial(ctx, "kernel_shape", dimensions, 1)?,
        };
        let window = stated_window(ctx, dimensions, extent)?;
        let place = bounded.axis - dimensions;
        let [reach, stride] = [window.reach[place], window.stride[place]];
        let is_same = matches!(window.auto, Auto::Same { .. });
        if is_same && own == "ConvTranspose" {
            return Ok(None);
        }
        // The border depends on the remainder that the stride leaves of the extent.
        let extents = if is_same { stride } else { 1 };
        let mut border: Option<[usize; 2]> = None;
        for nth in 0..extents {
            image[place] = (bounded.size.bound + stride * step(ctx, &bounded.size)) - nth * step(ctx, &bounded.size);
            let padding = window.around(image);
            let [front, behind] = [[padding.top, padding.bottom], [padding.left, padding.right]][place];
            border = match border {
                None => Some([front, behind]),
                Some([other, most]) if other == front => Some([front, behind.max(most)]),
                Some(_) => return Ok(None),
            };
        }
        let [reach, stride] = [reach, stride].map(|places| places as i64);
        Ok(border.map(|border| Self { reach, stride, border: border.map(|places| places as i64), is_same }))
    }
}

/// Returns the position of a convolution's weights.
fn weights(own: &str) -> usize {
    if own == "QLinearConv" { 3 } else { 1 }
}

/// Returns the axes of the result. Places behind the extents are replaced by ones without an effect if windows may read
/// them. `None` if the result would depend on more.
pub(super) fn windowed(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let Some(SlidAxes { passed, read }) = slid_axes(ctx, own)? else { return Ok(None) };
    match own {
        "MaxPool" => masks::mask(ctx, 0, &read, Neutral::Least)?,
        // Integers whose zero point is operand 2.
        "ConvInteger" | "QLinearConv" => match ctx.optional(2) {
            Some(zero) if zero.len() != 1 => return Ok(None),
            Some(zero) if are_zero_behind(ctx, &ctx.operand(0)?, &zero) => {}
            Some(zero) => masks::mask_by(ctx, &read, &zero)?,
            None => masks::mask(ctx, 0, &read, Neutral::Zero)?,
        },
        _ => masks::mask(ctx, 0, &read, Neutral::Zero)?,
    }
    Ok(Some(passed))
}

/// Like [`windowed`], for means, which may count the places in front of the border alone.
pub(super) fn averaged(ctx: &mut NodeLowering<'_>) -> Result<Option<Passed>, Problem> {
    let own = "AveragePool";
    let Some(SlidAxes { passed, read }) = slid_axes(ctx, own)? else { return Ok(None) };
    masks::mask(ctx, 0, &read, Neutral::Zero)?;
    let counts_border = read.is_empty() || ctx.flag("count_include_pad", false)?;
    let factor = if counts_border { None } else { Some(bounded_means::share_of_windows(ctx, &read)?) };
    Ok(Some(Passed { factor, ..Passed::on(passed) }))
}

/// The axes of a result of windows.
struct SlidAxes {
    passed: Vec<BoundedAxis>,
    /// The axes of the operand behind whose extents windows may read.
    read: Vec<BoundedAxis>,
}

fn slid_axes(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<SlidAxes>, Problem> {
    let bounds = ctx.bounds[0].clone();
    let mut slid_axes = SlidAxes { passed: Vec::with_capacity(bounds.len()), read: Vec::new() };
    for bounded in bounds {
        match bounded.axis {
            // Items are computed one by one, and channels together.
            0 => slid_axes.passed.push(bounded),
            1 => return Ok(None),
            _ => {
                let Some((size, reads_behind)) = slid(ctx, own, &bounded)? else { return Ok(None) };
                slid_axes.passed.push(BoundedAxis { size, ..bounded.clone() });
                if reads_behind {
                    slid_axes.read.push(bounded);
                }
            }
        }
    }
    Ok(Some(slid_axes))
}

/// Returns the extent of the result, and whether windows may read places behind the operand's.
fn slid(ctx: &mut NodeLowering<'_>, own: &str, bounded: &BoundedAxis) -> Result<Option<(Size, bool)>, Problem> {
    let Some(windows) = Windows::along(ctx, own, bounded)? else { return Ok(None) };
    let Windows { reach, stride, border: [front, behind], is_same } = windows;
    if own == "ConvTranspose" {
        // The extent of a result that the file states is not that of a run.
        if ctx.has("output_shape") {
            return Ok(None);
        }
        let added = ctx.ints("output_padding").and_then(|list| list.get(bounded.axis - LEADING).copied());
        let more = reach - stride - front - behind + added.unwrap_or(0);
        return Ok(Some((derived(ctx, &bounded.size, [stride, more, 1])?, true)));
    }
    // The last window may reach behind the border, if it begins before the border in any case.
    let hangs_over = ctx.flag("ceil_mode", false)? && ctx.text("auto_pad", "NOTSET")? == "NOTSET";
    let counts_all = own != "MaxPool" || ctx.wants(1);
    if hangs_over && (counts_all || behind > reach - stride) || own == "MaxPool" && ctx.wants(1) {
        return Ok(None);
    }
    let more = match is_same {
        true => stride - 1,
        false if hangs_over => front + behind - reach + 2 * stride - 1,
        false => front + behind - reach + stride,
    };
    let size = derived(ctx, &bounded.size, [1, more, stride])?;
    Ok(Some((size, behind > 0 || hangs_over)))
}
