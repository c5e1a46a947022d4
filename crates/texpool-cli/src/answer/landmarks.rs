//! Points as coordinates in pixels of the input, as MediaPipe's networks for faces, hands, eyes and bodies answer.

use super::{
    output::{DecodeError, Output, sigmoid},
    points::{Point, Points},
    view::View,
};
use serde::{Deserialize, Serialize};

/// Outputs of coordinates, with a score of the whole if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landmarks {
    /// The thing that the points are of.
    pub what: String,
    /// The outputs with the points.
    pub points: Vec<PointOutput>,
    /// Names of the first points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// Which of two things it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<Sides>,
}

/// An output with points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointOutput {
    /// Index of the output.
    pub output: usize,
    /// Values of a point: x, y, then z, then the logit of its visibility, and others.
    pub values: usize,
    /// Number of points that count; all if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
}

/// An output with a score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Index of the output.
    pub output: usize,
    /// True for a logit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub logit: bool,
    /// Minimum score at which the object counts as present.
    pub threshold: f32,
}

/// An output with the probability of the second of two names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// Index of the output.
    pub output: usize,
    /// The names.
    pub names: [String; 2],
}

impl Landmarks {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Points, DecodeError> {
        let refused = || DecodeError::extents(format!("points of a {}", self.what), outputs);
        let mut points = Vec::new();
        for part in &self.points {
            let values = outputs.get(part.output).ok_or_else(refused)?.values;
            if part.values < 2 || values.is_empty() || values.len() % part.values != 0 {
                return Err(refused());
            }
            for value in values.chunks_exact(part.values).take(part.count.unwrap_or(usize::MAX)) {
                let mut point = Point::new(self.names.get(points.len()), view.at_pixel(value[0], value[1]));
                // Depth has the scale of the columns.
                point.z = value.get(2).map(|z| z / view.input[0] as f32 * view.frame.width);
                point.score = value.get(3).map(|&logit| sigmoid(logit));
                points.push(point);
            }
        }
        let one =
            |index: usize| outputs.get(index).and_then(|output| output.values.first().copied()).ok_or_else(refused);
        let score = match self.score {
            Some(score) => {
                let value = one(score.output)?;
                Some(if score.logit { sigmoid(value) } else { value })
            }
            None => None,
        };
        let what = match &self.sides {
            Some(sides) => sides.names[usize::from(one(sides.output)? > 0.5)].clone(),
            None => self.what.clone(),
        };
        let threshold = self.score.map_or(0.0, |score| score.threshold);
        let found = score.is_none_or(|score| score >= threshold);
        // The side of something that is not there has no meaning.
        let what = if found { what } else { self.what.clone() };
        Ok(Points { what, score, threshold, found, points, wants_crop: true, top: None })
    }
}

#[cfg(test)]
mod tests {
    use super::{Landmarks, PointOutput, Score, Sides};
    use crate::{
        answer::{Output, View},
        io::Frame,
    };

    #[test]
    fn points_are_in_pixels_of_the_picture() {
        let decoding = Landmarks {
            what: "hand".into(),
            points: vec![PointOutput { output: 0, values: 5, count: Some(2) }],
            names: vec!["wrist".into()],
            score: Some(Score { output: 1, logit: true, threshold: 0.5 }),
            sides: Some(Sides { output: 2, names: ["left hand", "right hand"].map(str::to_owned) }),
        };
        let frame = Frame { x: 100.0, y: 50.0, width: 448.0, height: 224.0 };
        let view = View { frame, input: [224, 224], picture: [640, 480] };
        let values = [112.0, 112.0, 8.0, 0.0, 9.0, 0.0, 224.0, -4.0, 100.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let outputs = [
            Output { name: "points", dims: &[1, 15], values: &values },
            Output { name: "score", dims: &[1, 1], values: &[0.0] },
            Output { name: "side", dims: &[1, 1], values: &[0.9] },
        ];
        let points = decoding.decode(&outputs, &view).unwrap();
        assert_eq!((points.what.as_str(), points.score, points.found), ("right hand", Some(0.5), true));
        assert_eq!(points.points.len(), 2);
        let (wrist, other) = (&points.points[0], &points.points[1]);
        assert_eq!((wrist.x, wrist.y, wrist.z, wrist.score), (324.0, 162.0, Some(16.0), Some(0.5)));
        assert_eq!((wrist.name.as_deref(), other.name.as_deref()), (Some("wrist"), None));
        assert_eq!((other.x, other.y, other.score), (100.0, 274.0, Some(1.0)));
        assert!(decoding.decode(&outputs[..2], &view).is_err());
    }
}
