//! PoseNet's heat map of each point of a body, with offsets from the centres of its cells.

use super::{
    output::{DecodeError, Output, largest, sigmoid},
    points::{Point, Points},
    view::View,
};
use serde::{Deserialize, Serialize};

/// PoseNet's first two outputs: logits of the heat, and offsets in pixels, rows in front of columns. The body with the
/// hottest points is read, as of one person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoseHeatmaps {
    /// Names of the points.
    pub points: Vec<String>,
    /// Pixels of the input between two cells.
    pub stride: usize,
    /// Least mean score of the points.
    pub threshold: f32,
}

impl PoseHeatmaps {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Points, DecodeError> {
        let count = self.points.len();
        let (heat, offsets, columns) = match outputs {
            [heat, offsets, ..] => match (heat.dims, offsets.dims) {
                (&[1, rows, columns, channels], &[1, height, width, twice])
                    if (height, width) == (rows, columns) && channels == count && twice == 2 * count =>
                {
                    (heat, offsets, columns)
                }
                _ => return Err(DecodeError::extents(format!("[1, ROWS, COLUMNS, {count} | {}]", 2 * count), outputs)),
            },
            _ => return Err(DecodeError::extents("heat maps and offsets", outputs)),
        };
        let point = |(i, name): (usize, &String)| {
            let cell = largest(heat.values.iter().skip(i).step_by(count).copied());
            let offset = |axis: usize| offsets.values[cell * 2 * count + axis * count + i];
            let [x, y] = [(cell % columns, 1), (cell / columns, 0)]
                .map(|(cell, axis)| (cell * self.stride) as f32 + offset(axis));
            let mut point = Point::new(Some(name), view.at_pixel(x, y));
            point.score = Some(sigmoid(heat.values[cell * count + i]));
            point
        };
        let points: Vec<Point> = self.points.iter().enumerate().map(point).collect();
        let score = points.iter().filter_map(|point| point.score).sum::<f32>() / count.max(1) as f32;
        let (threshold, found) = (self.threshold, score >= self.threshold);
        Ok(Points { what: "body".into(), score: Some(score), threshold, found, points, wants_crop: false, top: None })
    }
}

#[cfg(test)]
mod tests {
    use super::PoseHeatmaps;
    use crate::answer::{Output, View};

    #[test]
    fn each_point_is_at_its_hottest_cell_with_its_offset() {
        let decoding = PoseHeatmaps { points: ["nose", "eye"].map(str::to_owned).into(), stride: 16, threshold: 0.1 };
        let mut heat = [-9.0f32; 2 * 3 * 2];
        (heat[4 * 2], heat[2 * 2 + 1]) = (3.0, 0.0);
        let mut offsets = [0.0f32; 2 * 3 * 4];
        // Cell 4 is at row 1, column 1.
        (offsets[4 * 4], offsets[4 * 4 + 2]) = (-2.0, 5.0);
        let outputs = [
            Output { name: "heat", dims: &[1, 2, 3, 2], values: &heat },
            Output { name: "offsets", dims: &[1, 2, 3, 4], values: &offsets },
        ];
        let points = decoding.decode(&outputs, &View::of_input(33, 17)).unwrap();
        assert_eq!((points.points[0].x, points.points[0].y), (21.0, 14.0));
        assert_eq!((points.points[1].x, points.points[1].y, points.points[1].score), (32.0, 0.0, Some(0.5)));
        assert!(points.found && decoding.decode(&outputs[..1], &View::of_input(33, 17)).is_err());
    }
}
