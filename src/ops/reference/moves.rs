//! Operators that repeat, look up and pad.

use super::view::{View, each};
use crate::graph::{PadAxis, PadMode, Shape, named};

/// Elements around, and elements cut off.
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

/// The whole tensor again and again.
pub(crate) fn tile(x: &View<'_>, out: Shape) -> Vec<f32> {
    let extents = x.shape.dims();
    each(out, |index| x.at(std::array::from_fn(|axis| index[axis] % extents[axis])))
}

/// Along `axis`, the elements that the indices name.
pub(crate) fn gather(x: &View<'_>, indices: &View<'_>, axis: usize, out: Shape) -> Vec<f32> {
    each(out, |mut index| {
        index[axis] = named(indices.data[index[axis]], x.shape.dims()[axis]);
        x.at(index)
    })
}

/// Element by element, the one along `axis` that the index there names.
pub(crate) fn gather_elements(x: &View<'_>, indices: &View<'_>, axis: usize, out: Shape) -> Vec<f32> {
    each(out, |mut index| {
        index[axis] = named(indices.at(index), x.shape.dims()[axis]);
        x.at(index)
    })
}
