//! Boxes around the objects that a detector finds.

use super::{
    bounds::Bounds,
    canvas::{Canvas, colour},
    points::Point,
};
use serde::Serialize;
use std::fmt;

/// Most boxes in the text, unless the user asks for another number.
const SHOWN: usize = 5;

/// A detector's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boxes {
    /// Name of the objects to find, singular and plural.
    pub what: [String; 2],
    /// The objects, the best first.
    pub boxes: Vec<DetectedObject>,
    /// Minimum score of an object.
    pub threshold: f32,
    /// Number of candidates that were looked at.
    pub candidates: usize,
    /// Best score of a candidate, if there is any.
    pub best: Option<f32>,
    /// Number of boxes in the text, if the user asked for one.
    #[serde(skip)]
    pub top: Option<usize>,
}

/// A box around an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DetectedObject {
    /// Its class, if the detector finds several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its score from 0 to 1.
    pub score: f32,
    /// Left, top, right and bottom in pixels of the picture.
    pub bounds: [f32; 4],
    /// Points in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
}

/// Candidates of a detector, of which those with a sufficient score are kept.
pub(super) struct Candidates {
    threshold: f32,
    seen: usize,
    best: Option<f32>,
    objects: Vec<DetectedObject>,
}

impl Candidates {
    /// Keeps candidates with at least this score.
    pub(super) fn new(threshold: f32) -> Self {
        Self { threshold, seen: 0, best: None, objects: Vec::new() }
    }

    /// Counts a candidate, and adds what `found` returns if its score suffices.
    pub(super) fn look(&mut self, score: f32, object: impl FnOnce() -> DetectedObject) {
        self.seen += 1;
        self.best = Some(self.best.map_or(score, |best| best.max(score)));
        if score >= self.threshold {
            self.objects.push(object());
        }
    }

    /// Returns the answer with the boxes that `merge` leaves.
    pub(super) fn merged(
        self,
        what: &[String; 2],
        merge: impl FnOnce(Vec<DetectedObject>) -> Vec<DetectedObject>,
    ) -> Boxes {
        let Self { threshold, seen: candidates, best, objects } = self;
        Boxes { what: what.clone(), boxes: merge(objects), threshold, candidates, best, top: None }
    }
}

impl fmt::Display for Boxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what: [one, several], boxes, threshold, candidates, best, top } = self;
        if boxes.is_empty() {
            write!(f, "  no {one}: ")?;
            return match best {
                Some(best) => writeln!(
                    f,
                    "the best of {candidates} candidates has {:.1} %, and {:.0} % are needed",
                    100.0 * best,
                    100.0 * threshold
                ),
                None => writeln!(f, "there is no candidate"),
            };
        }
        if boxes.len() > 1 {
            writeln!(f, "  {} {several}", boxes.len())?;
        }
        let shown = top.unwrap_or(SHOWN).max(1);
        for object in boxes.iter().take(shown) {
            let label = object.label.as_ref().unwrap_or(one);
            write!(f, "  {:>5.1} %  {label}  {}", 100.0 * object.score, Bounds(object.bounds))?;
            match object.points.len() {
                0 => writeln!(f)?,
                points => writeln!(f, ", {points} points")?,
            }
        }
        match boxes.len().saturating_sub(shown) {
            0 => Ok(()),
            more => writeln!(f, "           … {more} more"),
        }
    }
}

impl Boxes {
    /// Draws the boxes with their points, labels and scores.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        for (i, object) in self.boxes.iter().enumerate() {
            let colour = colour(i);
            canvas.rectangle(object.bounds, colour);
            object.points.iter().for_each(|point| canvas.disc(point.at(), colour));
            let label = object.label.as_ref().unwrap_or(&self.what[0]);
            canvas.label(
                [object.bounds[0], object.bounds[1]],
                &format!("{label} {:.0} %", 100.0 * object.score),
                colour,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Boxes, DetectedObject};

    #[test]
    fn boxes_are_counted_and_what_is_missing_is_explained() {
        let object = |score| DetectedObject { label: None, score, bounds: [1.2, 2.0, 30.7, 40.0], points: vec![] };
        let what = ["face", "faces"].map(str::to_owned);
        let mut boxes =
            Boxes { what, boxes: vec![object(0.875)], threshold: 0.5, candidates: 896, best: Some(0.875), top: None };
        assert_eq!(boxes.to_string(), "   87.5 %  face  x 1–31, y 2–40\n");
        boxes.boxes = vec![object(0.9); 7];
        let text = boxes.to_string();
        assert!(text.starts_with("  7 faces\n") && text.ends_with("           … 2 more\n"), "{text}");
        assert_eq!(text.lines().count(), 7);
        (boxes.boxes, boxes.best) = (vec![], Some(0.042));
        assert_eq!(boxes.to_string(), "  no face: the best of 896 candidates has 4.2 %, and 50 % are needed\n");
    }
}
