//! MTCNN's second and third networks: whether a square is a face, and five points of it.

use super::{
    output::{DecodeError, Output},
    points::{Point, Points},
    view::View,
};
use serde::{Deserialize, Serialize};

/// Outputs of a look at one face: corrections of its box, points if there are any, and two probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaceCheck {
    /// Names of the points; empty for a network without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<String>,
    /// Minimum score.
    pub threshold: f32,
}

impl FaceCheck {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Points, DecodeError> {
        let of = |extent: usize| outputs.iter().find(|output| output.dims == [1, extent]);
        let count = self.points.len();
        let (Some(corrections), Some(probabilities)) = (of(4), of(2)) else {
            return Err(DecodeError::extents("[1, 4] and [1, 2]", outputs));
        };
        let mut points: Vec<Point> = Vec::new();
        if count > 0 {
            let places = of(2 * count).ok_or_else(|| DecodeError::extents(format!("[1, {}]", 2 * count), outputs))?;
            // All columns come first, then all rows.
            let at = |(i, name)| Point::new(Some(name), view.at(places.values[i], places.values[count + i]));
            points.extend(self.points.iter().enumerate().map(at));
        } else {
            let [left, top, right, bottom] = std::array::from_fn(|i| corrections.values[i]);
            points.push(Point::new(Some(&"top left".to_owned()), view.at(left, top)));
            points.push(Point::new(Some(&"bottom right".to_owned()), view.at(1.0 + right, 1.0 + bottom)));
        }
        let score = probabilities.values[1];
        Ok(Points {
            what: "face".into(),
            score: Some(score),
            threshold: self.threshold,
            found: score >= self.threshold,
            points,
            wants_crop: true,
            top: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FaceCheck;
    use crate::answer::{Output, View};

    #[test]
    fn columns_of_points_come_before_rows() {
        let check = FaceCheck { points: ["left", "right"].map(str::to_owned).into(), threshold: 0.7 };
        let outputs = [
            Output { name: "box", dims: &[1, 4], values: &[0.1, 0.0, -0.1, 0.0] },
            Output { name: "points", dims: &[1, 4], values: &[0.25, 0.75, 0.5, 0.25] },
            Output { name: "face", dims: &[1, 2], values: &[0.1, 0.9] },
        ];
        // With two points, the extents of the points are those of a box, which comes first.
        let points = check.decode(&[outputs[1], outputs[2]], &View::of_input(48, 48)).unwrap();
        assert_eq!(
            points.points.iter().map(|point| [point.x, point.y]).collect::<Vec<_>>(),
            [[12.0, 24.0], [36.0, 12.0]]
        );
        assert!(points.found && points.score == Some(0.9));
        let none = FaceCheck { points: vec![], threshold: 0.95 }.decode(&outputs, &View::of_input(100, 100)).unwrap();
        assert!(!none.found);
        assert_eq!((none.points[0].x, none.points[1].x), (10.0, 90.0));
        assert!(check.decode(&outputs[..1], &View::of_input(48, 48)).is_err());
    }
}
