//! Non-maximum suppression: the best boxes that overlap no better one.

mod kernel;
mod reference;

use super::schema::{
    OpSchema, Origin, ShapeError,
    shapes::{pair, same},
};
use crate::graph::Shape;

/// Number of boxes whose flags fit in the memory of a workgroup, 12 of the 16 KiB that WebGPU grants.
const MOST_BOXES: usize = 3 << 15;

/// Selects boxes in the order of their scores, and leaves out those that overlap a selected one. Operands are boxes,
/// `[B, 1, N, 4]`, and their scores, `[B, H, 1, N]`; each of the `H` rows of scores selects for itself. A box is two
/// opposite corners. Of equal scores, the lower index comes first, and NaN is never selected.
///
/// The result is `[B, H, places + 1, 2]`. Its pixels are the index and the score of each selected box, then
/// [`unused`](Self::unused) for the places that are left. The last pixel has the number of selected boxes, and a zero.
///
/// The overlap of two boxes is the area that they share, divided by the area that they cover together. It is zero if a
/// box has no area, or coordinates that are not finite.
///
/// ```
/// use texpool::graph::{NonMaxSuppression, Shape, Threshold, infer};
///
/// // At most ten boxes with scores above 0.5, none of which shares half of its area with a better one.
/// let [score, overlap] = [false, true].map(|is_included| Threshold { value: 0.5, is_included });
/// let op = NonMaxSuppression { places: 10, score, overlap, unused: [0.0; 2] };
/// let (boxes, scores) = (Shape::new(1, 1, 1917, 4), Shape::new(1, 1, 1, 1917));
/// assert_eq!(infer(&op.into(), &[boxes, scores], boxes)?, Shape::new(1, 1, 11, 2));
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonMaxSuppression {
    /// Number of boxes that are selected at most.
    pub places: usize,
    /// Limit that the score of a selected box exceeds.
    pub score: Threshold,
    /// Limit that the overlap of boxes exceeds if the worse one is left out.
    pub overlap: Threshold,
    /// Index and score of places without a box.
    pub unused: [f32; 2],
}

/// A lower limit.
///
/// ```
/// use texpool::graph::Threshold;
///
/// let half = Threshold { value: 0.5, is_included: false };
/// assert!(half.is_exceeded_by(0.6) && !half.is_exceeded_by(0.5));
/// assert!(Threshold { is_included: true, ..half }.is_exceeded_by(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The limit.
    pub value: f32,
    /// True if the limit itself counts as exceeding it.
    pub is_included: bool,
}

impl Threshold {
    /// Returns whether a value exceeds the limit. NaN does not.
    pub fn is_exceeded_by(self, value: f32) -> bool {
        value > self.value || (self.is_included && value == self.value)
    }
}

impl OpSchema for NonMaxSuppression {
    fn name(&self) -> &'static str {
        "NON_MAX_SUPPRESSION_V5"
    }

    fn shape(&self, inputs: &[Shape], _stated: Shape) -> Result<Shape, ShapeError> {
        let (boxes, scores) = pair(inputs)?;
        same("rows of boxes in a batch", 1, boxes.h)?;
        same("coordinates of a box", 4, boxes.c)?;
        same("batches of the scores", boxes.b, scores.b)?;
        same("pixels of the scores", 1, scores.w)?;
        same("scores of a row", boxes.w, scores.c)?;
        if boxes.w > MOST_BOXES {
            return Err(ShapeError::Index { axis: 2, index: boxes.w as i128 - 1, extent: MOST_BOXES });
        }
        match self.places {
            0 => Err(ShapeError::Zero { what: "the number of boxes selected" }),
            places if places > boxes.w => {
                Err(ShapeError::Index { axis: 2, index: places as i128 - 1, extent: boxes.w })
            }
            places => Ok(Shape { w: places + 1, c: 2, ..scores }),
        }
    }

    fn origin(&self) -> Origin {
        Origin::Computed
    }
}
