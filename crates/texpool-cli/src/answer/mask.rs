//! A mask of one thing.

use super::{
    bounds::Bounds,
    canvas::{Canvas, colour},
    map::Map,
    output::{DecodeError, Output},
    view::View,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An output with a value from 0 to 1 for each pixel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaskOutput {
    /// Object that the mask shows, with an article.
    pub what: String,
    /// Least value of a pixel that belongs to it.
    pub threshold: f32,
}

/// The pixels of one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mask {
    /// The thing, with an article.
    pub what: String,
    /// Share of the picture that it covers.
    pub share: f32,
    /// Left, top, right and bottom of its pixels in the picture; `None` for none.
    pub bounds: Option<[f32; 4]>,
    /// The pixels.
    #[serde(skip)]
    pub map: Map<bool>,
}

impl MaskOutput {
    /// Returns the mask in the first output.
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Mask, DecodeError> {
        let (output, [height, width]) = match outputs {
            [output, ..] => match output.dims {
                &[1, height, width, 1] | &[1, 1, height, width] if height * width > 0 => (output, [height, width]),
                _ => return Err(DecodeError::extents("[1, HEIGHT, WIDTH, 1]", outputs)),
            },
            [] => return Err(DecodeError::extents("[1, HEIGHT, WIDTH, 1]", outputs)),
        };
        let values = output.values.iter().map(|&value| value >= self.threshold).collect();
        let map = Map { values, width, height, view: *view };
        let (mut inside, mut covered) = (0usize, 0usize);
        let mut cells: Option<[usize; 4]> = None;
        for (x, y, is_set) in map.cells() {
            inside += 1;
            if is_set {
                covered += 1;
                let [left, top, right, bottom] = cells.unwrap_or([x, y, x, y]);
                cells = Some([left.min(x), top.min(y), right.max(x), bottom.max(y)]);
            }
        }
        let bounds = cells.map(|[left, top, right, bottom]| {
            let part = |cell: usize, of: usize| cell as f32 / of as f32;
            let [right, bottom] = [part(right + 1, width), part(bottom + 1, height)];
            view.bounds([part(left, width), part(top, height), right, bottom])
        });
        Ok(Mask { what: self.what.clone(), share: covered as f32 / inside.max(1) as f32, bounds, map })
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bounds {
            Some(bounds) => {
                writeln!(f, "  {:>5.1} %  of the picture is {}, in {}", 100.0 * self.share, self.what, Bounds(bounds))
            }
            None => writeln!(f, "  {} is nowhere in the picture", self.what),
        }
    }
}

impl Mask {
    /// Tints the pixels.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        canvas.tint(|x, y| self.map.at(x, y).unwrap_or(false).then(|| colour(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::MaskOutput;
    use crate::answer::{Output, View};
    use crate::io::Frame;

    #[test]
    fn shares_are_of_the_picture_without_its_black_bars() {
        // A picture of 4 by 2 pixels in the middle rows of an input of 4 by 4.
        let frame = Frame { x: 0.0, y: -1.0, width: 4.0, height: 4.0 };
        let view = View { frame, input: [4, 4], picture: [4, 2] };
        let mut values = [0.0; 16];
        // One of the eight pixels, and one in a bar.
        (values[5], values[0]) = (0.9, 1.0);
        let decoding = MaskOutput { what: "a person".into(), threshold: 0.5 };
        let mask = decoding.decode(&[Output { name: "y", dims: &[1, 4, 4, 1], values: &values }], &view).unwrap();
        assert_eq!((mask.share, mask.bounds), (0.125, Some([1.0, 0.0, 2.0, 1.0])));
        assert_eq!(mask.to_string(), "   12.5 %  of the picture is a person, in x 1–2, y 0–1\n");
        assert_eq!((mask.map.at(1, 0), mask.map.at(2, 0), mask.map.at(1, 1)), (Some(true), Some(false), Some(false)));
        let none = decoding.decode(&[Output { name: "y", dims: &[1, 1, 4, 4], values: &[0.0; 16] }], &view).unwrap();
        assert_eq!(none.to_string(), "  a person is nowhere in the picture\n");
    }
}
