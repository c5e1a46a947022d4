//! Windows that slide over images: their extents, and the padding for SAME.

use crate::import::error::Problem;
use texpool_ops::graph::Padding;

/// Limit on the pixels that a dilated window may span, and on windows, strides, dilations and borders. Positions
/// relative to an image must fit into signed 32-bit integers.
pub(in crate::import) const MAX_REACH: usize = 1 << 30;

/// Returns the extents `[y, x]` that a dilated window spans.
pub(in crate::import) fn reach(window: [usize; 2], dilation: [usize; 2]) -> Result<[usize; 2], Problem> {
    let span = |axis: usize| window[axis].checked_sub(1).and_then(|steps| steps.checked_mul(dilation[axis]));
    match (span(0), span(1)) {
        (Some(y), Some(x)) if y.max(x) <= MAX_REACH => Ok([y + 1, x + 1]),
        _ if window.contains(&0) => Err(Problem::malformed(format!("a window of {window:?}"))),
        _ => Err(Problem::limit(format!(
            "a window of {window:?}, dilated by {dilation:?}: it may span at most {MAX_REACH} pixels"
        ))),
    }
}

/// Returns the padding for which a window produces `ceil(extent / stride)` results on an image `[h, w]`. An odd pixel
/// goes to the end (`SAME_UPPER`, and TensorFlow's SAME) or to the front (`SAME_LOWER`).
pub(in crate::import) fn same(image: [usize; 2], reach: [usize; 2], stride: [usize; 2], odd_in_front: bool) -> Padding {
    let side = |axis: usize| {
        // Extents and strides are not zero, so there is a last window. If the stride exceeds the window, the last
        // window may end inside the image, and then the border is empty.
        let last = (image[axis].div_ceil(stride[axis]) - 1) * stride[axis];
        let border = (last + reach[axis]).saturating_sub(image[axis]);
        let small = border / 2;
        if odd_in_front { [border - small, small] } else { [small, border - small] }
    };
    let ([top, bottom], [left, right]) = (side(0), side(1));
    Padding { top, bottom, left, right }
}

/// Returns the number of window positions along an axis with a border. Only complete windows count.
pub(in crate::import) fn positions(
    extent: usize,
    border: [usize; 2],
    reach: usize,
    stride: usize,
) -> Result<usize, Problem> {
    let extent = extent + border[0] + border[1];
    let small = || Problem::malformed(format!("a window of {reach} does not fit into {extent} pixels with borders"));
    Ok(extent.checked_sub(reach).ok_or_else(small)? / stride + 1)
}

/// Returns the extent of the full result of a transposed convolution, before borders are cut off.
pub(in crate::import) fn transposed_extent(extent: usize, reach: usize, stride: usize) -> Result<usize, Problem> {
    let full = extent.checked_sub(1).and_then(|steps| steps.checked_mul(stride)).and_then(|n| n.checked_add(reach));
    full.ok_or_else(|| Problem::limit(format!("an extent of {extent} with a stride of {stride} overflows")))
}
