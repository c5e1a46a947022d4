//! CenterFace's heat map of faces, with extents and points at each place.

use super::{
    boxes::{Boxes, DetectedObject},
    detection::Detection,
    output::{DecodeError, Output, Planes},
    overlap,
    points::Point,
    view::View,
};
use serde::{Deserialize, Serialize};

/// Pixels of the input for each place of the heat map.
const STRIDE: f32 = 4.0;

/// CenterFace's outputs: heat, extents, offsets and points. Of a batch, the first picture counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Centerface {
    /// The objects to find.
    #[serde(flatten)]
    pub detection: Detection,
    /// Names of the five points.
    pub points: [String; 5],
}

impl Centerface {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Boxes, DecodeError> {
        let planes = |i: usize, channels: usize| outputs.get(i).and_then(|&output| Planes::of(output, channels));
        let (Some(heat), Some(extents), Some(offsets), Some(points)) =
            (planes(0, 1), planes(1, 2), planes(2, 2), planes(3, 10))
        else {
            return Err(DecodeError::extents("[N, 1 | 2 | 2 | 10, HEIGHT, WIDTH]", outputs));
        };
        let mut candidates = self.detection.candidates();
        let [width, height] = view.input.map(|extent| extent as f32);
        for [x, y] in heat.places() {
            let score = heat.at(0, y, x);
            candidates.look(score, || {
                let [h, w] = [0, 1].map(|axis| extents.at(axis, y, x).exp() * STRIDE);
                let [dy, dx] = [0, 1].map(|axis| offsets.at(axis, y, x));
                let left = ((x as f32 + dx + 0.5) * STRIDE - w / 2.0).clamp(0.0, width);
                let top = ((y as f32 + dy + 0.5) * STRIDE - h / 2.0).clamp(0.0, height);
                let point = |(i, name)| {
                    let [py, px] = [0, 1].map(|axis| points.at(2 * i + axis, y, x));
                    Point::new(Some(name), view.at_pixel(left + px * w, top + py * h))
                };
                let points = self.points.iter().enumerate().map(point).collect();
                DetectedObject {
                    label: None,
                    score,
                    bounds: view.bounds_of_pixels([left, top, left + w, top + h]),
                    points,
                }
            });
        }
        Ok(self.detection.merged(candidates, overlap::best))
    }
}

#[cfg(test)]
mod tests {
    use super::Centerface;
    use crate::answer::{Detection, Output, View};

    #[test]
    fn a_place_of_the_heat_map_is_a_face_with_points() {
        let [mut heat, mut extents, offsets, mut points] = [1, 2, 2, 10].map(|channels| vec![0.0f32; channels * 64]);
        let place = 3 * 8 + 4;
        heat[place] = 0.8;
        // Height 8 and width 16.
        (extents[place], extents[64 + place]) = (2f32.ln(), 4f32.ln());
        (points[place], points[64 + place]) = (0.5, 0.25);
        let dims = [1, 2, 2, 10].map(|channels| [1, channels, 8, 8]);
        let values = [&heat, &extents, &offsets, &points];
        let outputs: Vec<Output<'_>> =
            dims.iter().zip(values).map(|(dims, values)| Output { name: "y", dims, values }).collect();
        let detection = Detection { what: ["face", "faces"].map(str::to_owned), threshold: 0.5, overlap: 0.3 };
        let decoding = Centerface { detection, points: ["a", "b", "c", "d", "e"].map(str::to_owned) };
        let boxes = decoding.decode(&outputs, &View::of_input(32, 32)).unwrap();
        let face = &boxes.boxes[0];
        // The centre is at (4.5 * 4, 3.5 * 4).
        for (actual, expected) in face.bounds.iter().zip([10.0, 10.0, 26.0, 18.0]) {
            assert!((actual - expected).abs() < 1e-4, "{:?}", face.bounds);
        }
        assert!((face.points[0].x - 14.0).abs() < 1e-4 && (face.points[0].y - 14.0).abs() < 1e-4, "{face:?}");
        assert!(decoding.decode(&outputs[..3], &View::of_input(32, 32)).is_err());
    }
}
