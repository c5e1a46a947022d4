//! RetinaFace's boxes and points on three grids, relative to two anchors in each cell.

use super::{
    boxes::{Boxes, DetectedObject},
    detection::Detection,
    output::{DecodeError, Output, Planes},
    overlap,
    points::Point,
    view::View,
};
use serde::{Deserialize, Serialize};

/// Edge of the anchor of scale 1 in pixels.
const BASE: f32 = 16.0;
/// Each grid's stride in pixels, and the scales of its anchors.
const GRIDS: [(usize, [f32; 2]); 3] = [(32, [32.0, 16.0]), (16, [8.0, 4.0]), (8, [2.0, 1.0])];
/// RetinaFace's outputs: for each grid the probabilities, the boxes and the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retinaface {
    /// The objects to find.
    #[serde(flatten)]
    pub detection: Detection,
    /// Names of the five points.
    pub points: [String; 5],
}

impl Retinaface {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Boxes, DecodeError> {
        let mut candidates = self.detection.candidates();
        if outputs.len() != 3 * GRIDS.len() {
            return Err(DecodeError::extents("nine outputs", outputs));
        }
        for (parts, (stride, scales)) in outputs.chunks_exact(3).zip(GRIDS) {
            let planes = |i: usize, channels: usize| {
                let map = Planes::of(parts[i], channels);
                map.filter(|p| p.width * stride == view.input[0] && p.height * stride == view.input[1])
            };
            let (Some(scores), Some(boxes), Some(points)) = (planes(0, 4), planes(1, 8), planes(2, 20)) else {
                return Err(DecodeError::extents("[1, 4 | 8 | 20, HEIGHT, WIDTH] of strides 32, 16 and 8", outputs));
            };
            for (anchor, scale) in scales.into_iter().enumerate() {
                let edge = BASE * scale;
                for [x, y] in scores.places() {
                    // The probabilities of the background come first.
                    let score = scores.at(anchor + scales.len(), y, x);
                    candidates.look(score, || {
                        let centre = [x, y].map(|cell| BASE / 2.0 + (cell * stride) as f32);
                        let box_of = |i: usize| boxes.at(4 * anchor + i, y, x);
                        let [cx, cy] = [0, 1].map(|i| centre[i] + edge * box_of(i));
                        let [w, h] = [2, 3].map(|i| edge * box_of(i).exp());
                        let bounds = [cx - w / 2.0, cy - h / 2.0, cx + w / 2.0, cy + h / 2.0];
                        // The publisher's program has a smaller unit for a later model, whose points it scales.
                        let unit = edge + 1.0;
                        let point = |(i, name)| {
                            let [px, py] =
                                [0, 1].map(|axis| centre[axis] + unit * points.at(10 * anchor + 2 * i + axis, y, x));
                            Point::new(Some(name), view.at_pixel(px, py))
                        };
                        let points = self.points.iter().enumerate().map(point).collect();
                        DetectedObject { label: None, score, bounds: view.bounds_of_pixels(bounds), points }
                    });
                }
            }
        }
        Ok(self.detection.merged(candidates, overlap::best))
    }
}

#[cfg(test)]
mod tests {
    use super::Retinaface;
    use crate::answer::{Detection, Output, View};

    #[test]
    fn boxes_are_relative_to_the_anchor_of_their_scale() {
        // An input of 32 by 32 has grids of 1, 2 and 4 cells along an edge.
        let planes = |channels: usize, cells: usize| vec![0.0f32; channels * cells * cells];
        let mut values: Vec<Vec<f32>> =
            [1, 2, 4].into_iter().flat_map(|cells| [4, 8, 20].map(|channels| planes(channels, cells))).collect();
        // The finest grid, its second anchor of 16 pixels, at column 2 of row 1.
        let at = |channel: usize| (channel * 4 + 1) * 4 + 2;
        values[6][at(3)] = 0.9;
        values[7][at(4)] = 0.25;
        values[8][at(10)] = 1.0;
        let dims: Vec<[usize; 4]> =
            [1, 2, 4].into_iter().flat_map(|cells| [4, 8, 20].map(|c| [1, c, cells, cells])).collect();
        let outputs: Vec<Output<'_>> =
            values.iter().zip(&dims).map(|(values, dims)| Output { name: "y", dims, values }).collect();
        let detection = Detection { what: ["face", "faces"].map(str::to_owned), threshold: 0.75, overlap: 0.5 };
        let decoding = Retinaface { detection, points: ["a", "b", "c", "d", "e"].map(str::to_owned) };
        let boxes = decoding.decode(&outputs, &View::of_input(32, 32)).unwrap();
        // The anchor's centre is at 24, 16, and the box is moved by a quarter of its 16 pixels.
        assert_eq!(boxes.boxes[0].bounds, [20.0, 8.0, 32.0, 24.0]);
        assert_eq!(boxes.boxes[0].points[0].at(), [41.0, 16.0]);
        assert_eq!((boxes.boxes.len(), boxes.candidates), (1, 42));
        assert!(decoding.decode(&outputs[1..], &View::of_input(32, 32)).is_err());
        assert!(decoding.decode(&outputs, &View::of_input(64, 32)).is_err());
    }
}
