//! Points of a face, a hand, an eye or a body.

use super::{
    bounds::Bounds,
    canvas::{Canvas, colour},
};
use serde::Serialize;
use std::fmt;

/// Most points that the text names, unless the user asks for another number.
const NAMED: usize = 4;

/// A point in pixels of the picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Pixels from the left edge.
    pub x: f32,
    /// Pixels from the top edge.
    pub y: f32,
    /// Depth in the same unit, if the network says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<f32>,
    /// Its score from 0 to 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// Points of one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Points {
    /// The thing.
    pub what: String,
    /// Probability that it is in the picture, if the network says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Minimum score at which the point counts as found.
    pub threshold: f32,
    /// True if it is found.
    pub found: bool,
    /// The points.
    pub points: Vec<Point>,
    /// True if the network sees a part that another one finds, so that a whole photo has to be cut.
    #[serde(skip)]
    pub wants_crop: bool,
    /// Number of points in the text, if the user asked for one.
    #[serde(skip)]
    pub top: Option<usize>,
}

impl Point {
    /// Returns the point at a place, with its name if it has one.
    pub(crate) fn new(name: Option<&String>, [x, y]: [f32; 2]) -> Self {
        Self { name: name.cloned(), x, y, z: None, score: None }
    }

    /// Returns its place.
    pub(super) fn at(&self) -> [f32; 2] {
        [self.x, self.y]
    }
}

impl Points {
    fn bounds(&self) -> [f32; 4] {
        let start = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        self.points.iter().fold(start, |[left, top, right, bottom], point| {
            [left.min(point.x), top.min(point.y), right.max(point.x), bottom.max(point.y)]
        })
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, score, threshold, found, points, wants_crop, top } = self;
        if !found {
            let score = 100.0 * score.unwrap_or(0.0);
            writeln!(f, "  no {what}: its score is {score:.1} %, and {:.0} % are needed", 100.0 * threshold)?;
            return match wants_crop {
                true => {
                    writeln!(f, "  the network sees a square around a {what}: --crop X,Y,WIDTH,HEIGHT cuts one out")
                }
                false => Ok(()),
            };
        }
        let score = score.map_or(String::new(), |score| format!("{:>5.1} %  ", 100.0 * score));
        writeln!(f, "  {score}{what}, {} points in {}", points.len(), Bounds(self.bounds()))?;
        let mut named: Vec<(&str, &Point)> =
            points.iter().filter_map(|point| Some((point.name.as_deref()?, point))).collect();
        // Stable, so that points without scores stay in order.
        named.sort_by(|a, b| b.1.score.unwrap_or(1.0).total_cmp(&a.1.score.unwrap_or(1.0)));
        for (name, point) in named.iter().take(top.unwrap_or(NAMED)) {
            let score = point.score.map_or(String::new(), |score| format!("{:>5.1} %  ", 100.0 * score));
            writeln!(f, "  {score}{name}  {:.0}, {:.0}", point.x, point.y)?;
        }
        match named.len().saturating_sub(top.unwrap_or(NAMED)) {
            0 => Ok(()),
            more => writeln!(f, "           … {more} more; --top {} shows all, --json too", named.len()),
        }
    }
}

impl Points {
    /// Draws the points, if the thing was found, and names few of them.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        if !self.found {
            return;
        }
        for point in &self.points {
            canvas.disc(point.at(), colour(0));
        }
        let [left, top, ..] = self.bounds();
        canvas.label([left, top], &self.what, colour(0));
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, Points};

    #[test]
    fn points_are_summed_up_and_a_missing_thing_is_explained() {
        let names = ["nose", "left eye", "right eye", "mouth", "chin"].map(str::to_owned);
        let points: Vec<Point> = names.iter().map(|name| Point::new(Some(name), [10.0, 20.4])).collect();
        let mut answer = Points {
            what: "face".into(),
            score: Some(0.912),
            threshold: 0.5,
            found: true,
            points,
            wants_crop: true,
            top: None,
        };
        let text = answer.to_string();
        assert!(text.starts_with("   91.2 %  face, 5 points in x 10–10, y 20–20\n  nose  10, 20\n"), "{text}");
        assert!(text.ends_with("           … 1 more; --top 5 shows all, --json too\n"), "{text}");
        (answer.found, answer.score) = (false, Some(0.02));
        let text = answer.to_string();
        assert!(text.starts_with("  no face: its score is 2.0 %, and 50 % are needed\n"), "{text}");
        assert!(text.contains("--crop X,Y,WIDTH,HEIGHT"), "{text}");
    }
}
