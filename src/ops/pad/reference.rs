//! CPU reference of pad.

use crate::{
    graph::{PadAxis, PadMode, Shape},
    ops::reference::view::{View, each},
};

/// Adds elements around each axis, or cuts elements off.
pub(crate) fn pad(x: &View<'_>, before: [isize; 4], after: [isize; 4], mode: PadMode, out: Shape) -> Vec<f32> {
    let extents = x.shape.dims();
    let axes: [Option<PadAxis>; 4] = std::array::from_fn(|axis| PadAxis::new(extents[axis], before[axis], after[axis]));
    let outside = if let PadMode::Constant(value) = mode { value } else { 0.0 };
    each(out, |index| {
        let mut from = [0; 4];
        for (axis, from) in from.iter_mut().enumerate() {
            match axes[axis].and_then(|of| of.source(mode, index[axis])) {
                Some(source) => *from = source,
                None => return outside,
            }
        }
        x.at(from)
    })
}
