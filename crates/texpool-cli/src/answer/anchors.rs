//! Boxes and points relative to anchors of a grid, as MediaPipe's detectors answer.

use super::{
    boxes::{Boxes, DetectedObject},
    detection::Detection,
    output::{DecodeError, Output, sigmoid},
    overlap,
    points::Point,
    view::View,
};
use serde::{Deserialize, Serialize};

/// Values of a box: its centre and its extents.
const BOX: usize = 4;

/// A detector with anchors: logits of scores, and a box and points for each, in pixels of the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anchors {
    /// The objects to find.
    #[serde(flatten)]
    pub detection: Detection,
    /// Each grid's number of cells along an edge, and its anchors in a cell.
    pub grids: Vec<[usize; 2]>,
    /// Names of the points.
    pub points: Vec<String>,
}

impl Anchors {
    /// Returns what the outputs hold. Several outputs of the same kind are parts of one, in order.
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Boxes, DecodeError> {
        let each = BOX + 2 * self.points.len();
        let joined = |last: usize| -> Vec<f32> {
            let parts = outputs.iter().filter(|output| output.dims.last() == Some(&last));
            parts.flat_map(|output| output.values.iter().copied()).collect()
        };
        let (regressors, scores) = (joined(each), joined(1));
        let anchors: usize = self.grids.iter().map(|[grid, each]| grid * grid * each).sum();
        if scores.len() != anchors || regressors.len() != anchors * each {
            return Err(DecodeError::extents(format!("[1, {anchors}, {each}] and [1, {anchors}, 1]"), outputs));
        }
        let [width, height] = view.input.map(|extent| extent as f32);
        let mut candidates = self.detection.candidates();
        for ((anchor, values), &logit) in self.centres().zip(regressors.chunks_exact(each)).zip(&scores) {
            let score = sigmoid(logit);
            candidates.look(score, || {
                let at = |i: usize| [values[i] / width + anchor[0], values[i + 1] / height + anchor[1]];
                let ([x, y], [w, h]) = (at(0), [values[2] / width, values[3] / height]);
                let bounds = [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0];
                let point = |(i, name)| {
                    let [x, y] = at(BOX + 2 * i);
                    Point::new(Some(name), view.at(x, y))
                };
                let points = self.points.iter().enumerate().map(point).collect();
                DetectedObject { label: None, score, bounds: view.bounds(bounds), points }
            });
        }
        Ok(self.detection.merged(candidates, overlap::averages))
    }

    /// Returns the centre of each anchor, as shares of the input.
    fn centres(&self) -> impl Iterator<Item = [f32; 2]> {
        self.grids.iter().flat_map(|&[grid, each]| {
            let centre = move |cell: usize| (cell as f32 + 0.5) / grid as f32;
            (0..grid * grid * each).map(move |i| [centre(i / each % grid), centre(i / each / grid)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Anchors;
    use crate::answer::{DecodeError, Detection, Output, View};

    fn decoding() -> Anchors {
        let detection = Detection { what: ["face", "faces"].map(str::to_owned), threshold: 0.5, overlap: 0.3 };
        Anchors { detection, grids: vec![[2, 1], [1, 2]], points: vec!["nose".into()] }
    }

    #[test]
    fn boxes_are_relative_to_the_centres_of_their_cells() {
        let mut regressors = vec![0.0; 6 * 6];
        // The second cell of the first row: its centre is at 12, 4 of 16 by 16 pixels.
        regressors[6..12].copy_from_slice(&[1.0, -1.0, 4.0, 6.0, 2.0, 0.5]);
        let mut scores = vec![-5.0; 6];
        scores[1] = 1.0;
        let outputs = [
            Output { name: "boxes", dims: &[1, 6, 6], values: &regressors },
            Output { name: "scores", dims: &[1, 6, 1], values: &scores },
        ];
        let boxes = decoding().decode(&outputs, &View::of_input(16, 16)).unwrap();
        assert_eq!((boxes.boxes.len(), boxes.candidates), (1, 6));
        let face = &boxes.boxes[0];
        // The mean of boxes that are weighted by their scores rounds.
        let close = |actual: f32, expected: f32| (actual - expected).abs() < 1e-4;
        let is_at = face.bounds.iter().zip([11.0, 0.0, 15.0, 6.0]).all(|(&actual, expected)| close(actual, expected));
        let nose = face.points[0].at();
        assert!(is_at && close(nose[0], 14.0) && close(nose[1], 4.5), "{face:?}");
        assert!((face.score - 0.731_06).abs() < 1e-5, "{}", face.score);
        // In parts, in the order of the grids.
        let parts = [
            Output { name: "s0", dims: &[1, 4, 1], values: &scores[..4] },
            Output { name: "s1", dims: &[1, 2, 1], values: &scores[4..] },
            Output { name: "b0", dims: &[1, 4, 6], values: &regressors[..24] },
            Output { name: "b1", dims: &[1, 2, 6], values: &regressors[24..] },
        ];
        assert_eq!(decoding().decode(&parts, &View::of_input(16, 16)).unwrap(), boxes);
        let few = decoding().decode(&parts[1..], &View::of_input(16, 16)).unwrap_err();
        assert!(matches!(few, DecodeError::Extents { .. }));
    }
}
