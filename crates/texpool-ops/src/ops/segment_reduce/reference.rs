//! CPU reference of reductions of segments.

use super::{SegmentKind, SegmentReduce};
use crate::{
    graph::{
        Shape,
        evaluate::{greater, lesser},
    },
    ops::reference::{Operands, Reference, ReferenceError, each},
};

impl Reference for SegmentReduce {
    /// Combines the pixels of each segment in their order.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let (x, segments) = (&operands.get(0)?, &operands.get(1)?);
        let combined = |a: f32, b: f32| match self.kind {
            SegmentKind::Sum => a + b,
            SegmentKind::Prod => a * b,
            SegmentKind::Max => greater(a, b),
            SegmentKind::Min => lesser(a, b),
        };
        if self.sorted {
            let size = segments.shape.c;
            return Ok(each(out, |[b, y, segment, c]| {
                let mut value = self.kind.neutral();
                for row in 0..segments.shape.h {
                    for place in (0..size).filter(|&place| segments.at([0, row, 0, place]) == segment as f32) {
                        let pixel = row * size + segments.at([0, row, 1, place]) as usize;
                        if pixel < x.shape.w {
                            value = combined(value, x.at([b, y, pixel, c]));
                        }
                    }
                }
                value
            }));
        }
        Ok(each(out, |[b, y, segment, c]| {
            let names = [segment as f32, segment as f32 - out.w as f32];
            let own = segments.data.iter().enumerate().filter(|(_, own)| names.contains(own));
            own.fold(self.kind.neutral(), |value, (pixel, _)| combined(value, x.at([b, y, pixel, c])))
        }))
    }
}
