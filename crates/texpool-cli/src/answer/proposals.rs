//! MTCNN's first network: windows that may be faces.

use super::{
    boxes::{Boxes, DetectedObject},
    detection::Detection,
    output::{DecodeError, Output},
    overlap,
    view::View,
};
use serde::{Deserialize, Serialize};

/// Pixels from a window to the next, and first and last pixel of a window, counted from one.
const STRIDE: usize = 2;
const FIRST: usize = 1;
const LAST: usize = 12;

/// MTCNN's proposals: corrections of windows and probabilities, columns in front of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposals {
    /// The objects to find.
    #[serde(flatten)]
    pub detection: Detection,
}

impl Proposals {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Boxes, DecodeError> {
        let (corrections, scores, rows) = match outputs {
            [a, b] => match (a.dims, b.dims) {
                (&[1, columns, rows, 4], &[1, also, height, 2]) if (also, height) == (columns, rows) => (a, b, rows),
                _ => return Err(DecodeError::extents("[1, COLUMNS, ROWS, 4] and [1, COLUMNS, ROWS, 2]", outputs)),
            },
            _ => return Err(DecodeError::extents("two outputs", outputs)),
        };
        let mut candidates = self.detection.candidates();
        let edge = (LAST - FIRST) as f32;
        for (i, (score, by)) in scores.values.chunks_exact(2).zip(corrections.values.chunks_exact(4)).enumerate() {
            candidates.look(score[1], || {
                let [x, y] = [i / rows, i % rows].map(|cell| STRIDE * cell);
                let corners = [x + FIRST, y + FIRST, x + LAST, y + LAST];
                let bounds = std::array::from_fn(|i| corners[i] as f32 + by[i] * edge);
                DetectedObject { label: None, score: score[1], bounds: view.bounds_of_pixels(bounds), points: vec![] }
            });
        }
        Ok(self.detection.merged(candidates, overlap::best))
    }
}

#[cfg(test)]
mod tests {
    use super::Proposals;
    use crate::answer::{Detection, Output, View};

    #[test]
    fn windows_are_counted_by_columns() {
        let what = ["face", "faces"].map(str::to_owned);
        let decoding = Proposals { detection: Detection { what, threshold: 0.6, overlap: 0.5 } };
        let (mut corrections, mut scores) = (vec![0.0; 3 * 2 * 4], [0.9f32, 0.1].repeat(6));
        // Column 2, row 1.
        scores[5 * 2 + 1] = 0.8;
        corrections[5 * 4] = 1.0;
        let outputs = [
            Output { name: "b", dims: &[1, 3, 2, 4], values: &corrections },
            Output { name: "s", dims: &[1, 3, 2, 2], values: &scores },
        ];
        let boxes = decoding.decode(&outputs, &View::of_input(20, 20)).unwrap();
        assert_eq!((boxes.boxes.len(), boxes.boxes[0].bounds), (1, [16.0, 3.0, 16.0, 14.0]));
        assert!(decoding.decode(&outputs[..1], &View::of_input(20, 20)).is_err());
    }
}
