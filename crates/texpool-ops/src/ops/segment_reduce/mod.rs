//! Reductions of the pixels of each segment.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// `x [b, h, n, c], segments [1, 1, 1, n]`: pixel `i` of a row of the result combines the pixels of the operand's row whose
/// segment is `i`, like TensorFlow's `unsorted_segment_sum`. Negative segments count from the end, and pixels of segments
/// that do not exist are left out. The caller states the number of segments.
///
/// With `sorted`, the second operand is `lists [1, rows, 2, size]`. The first pixel of row `i` has the segments of
/// pixels `i * size` to `(i + 1) * size` in ascending order, and the second pixel the numbers of these pixels less
/// `i * size`. Equal segments are in the order of their pixels. Negative segments do not exist.
///
/// ```
/// use texpool::graph::{SegmentKind, SegmentReduce, Shape, infer};
///
/// // Messages along 12 edges of a graph are added up at its 5 nodes.
/// let (messages, nodes) = (Shape::new(1, 1, 12, 64), Shape::new(1, 1, 1, 12));
/// let sums = SegmentReduce { kind: SegmentKind::Sum, sorted: false };
/// let stated = Shape::new(1, 1, 5, 64);
/// assert_eq!(infer(&sums.into(), &[messages, nodes], stated)?, stated);
/// let lists = Shape::new(1, 3, 2, 4);
/// assert_eq!(infer(&SegmentReduce { sorted: true, ..sums }.into(), &[messages, lists], stated)?, stated);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentReduce {
    /// Function of the pixels of a segment.
    pub kind: SegmentKind,
    /// True if the segments are sorted, in lists of ascending order.
    pub sorted: bool,
}

/// Functions of the pixels of a segment.
///
/// ```
/// use texpool::graph::SegmentKind;
///
/// assert_eq!((SegmentKind::Sum.neutral(), SegmentKind::Max.neutral()), (0.0, f32::NEG_INFINITY));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// Sum.
    Sum,
    /// Product.
    Prod,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

impl SegmentKind {
    /// Returns the result of a segment without pixels.
    pub const fn neutral(self) -> f32 {
        match self {
            Self::Sum => 0.0,
            Self::Prod => 1.0,
            Self::Max => f32::NEG_INFINITY,
            Self::Min => f32::INFINITY,
        }
    }
}

impl OpSchema for SegmentReduce {
    fn name(&self) -> &'static str {
        match self.kind {
            SegmentKind::Sum => "UNSORTED_SEGMENT_SUM",
            SegmentKind::Prod => "UNSORTED_SEGMENT_PROD",
            SegmentKind::Max => "UNSORTED_SEGMENT_MAX",
            SegmentKind::Min => "UNSORTED_SEGMENT_MIN",
        }
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let (x, segments) = pair(inputs)?;
        if self.sorted {
            same("batches of the lists", 1, segments.b)?;
            same("pixels of a row of the lists", 2, segments.w)?;
            same("rows of the lists", x.w.div_ceil(segments.c.max(1)), segments.h)?;
        } else {
            for outer in [segments.b, segments.h, segments.w] {
                same("outer extents of the segments", 1, outer)?;
            }
            same("segments of the pixels", x.w, segments.c)?;
        }
        Ok(Shape { w: stated.w, ..x })
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
