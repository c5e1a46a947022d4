//! Regions of text in a map of probabilities, as PP-OCR's detector answers (differentiable binarization).

use super::{
    boxes::{Boxes, Candidates, DetectedObject},
    map::Map,
    output::{DecodeError, Output},
    view::View,
};
use serde::{Deserialize, Serialize};

/// A map with the probability of text at each pixel. Regions are read as upright boxes, where the publisher's program
/// reads boxes of any angle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextRegions {
    /// Name of the objects to find, singular and plural.
    pub what: [String; 2],
    /// Least probability of a pixel in a region.
    pub pixel: f32,
    /// Least mean probability of a region's pixels.
    pub threshold: f32,
    /// The network's regions are cores of lines: a box grows by this many times its area divided by its perimeter.
    pub unclip: f32,
    /// Least edge of a region in pixels.
    pub least: usize,
}

impl TextRegions {
    pub(super) fn decode(&self, outputs: &[Output<'_>], view: &View) -> Result<Boxes, DecodeError> {
        let first = outputs.first().and_then(|output| match *output.dims {
            [1, 1, height, width] if height * width > 0 => Some((output.values, height, width)),
            _ => None,
        });
        let (values, height, width) = first.ok_or_else(|| DecodeError::extents("[1, 1, HEIGHT, WIDTH]", outputs))?;
        let map = Map { values: self.dilated(values, width), width, height, view: *view };
        let mut candidates = Candidates::new(self.threshold);
        for Region { bounds: [left, top, right, bottom], cells } in regions(&map) {
            let (w, h) = (right - left, bottom - top);
            if w.min(h) < self.least {
                continue;
            }
            // Of the region's own pixels, since a box around slanted text holds much else.
            let text = cells.iter().map(|&cell| values[cell]).filter(|&value| value > self.pixel);
            let (count, sum) = text.fold((0usize, 0.0), |(count, sum), value| (count + 1, sum + value));
            let score = sum / count.max(1) as f32;
            candidates.look(score, || {
                let grow = (w * h) as f32 * self.unclip / (2 * (w + h)) as f32;
                let [left, top, right, bottom] = [left, top, right, bottom].map(|edge| edge as f32);
                let bounds = view.bounds_of_pixels([left - grow, top - grow, right + grow, bottom + grow]);
                DetectedObject { label: None, score, bounds, points: vec![] }
            });
        }
        Ok(candidates.merged(&self.what, |mut objects| {
            // In reading order.
            objects.sort_by(|a, b| a.bounds[1].total_cmp(&b.bounds[1]).then(a.bounds[0].total_cmp(&b.bounds[0])));
            objects
        }))
    }

    /// Returns the pixels of regions, each with its right, lower and lower right neighbours.
    fn dilated(&self, values: &[f32], width: usize) -> Vec<bool> {
        let is_text = |i: usize| values[i] > self.pixel;
        let any = |i: usize| {
            let (above, beside) = (i.checked_sub(width), (!i.is_multiple_of(width)).then(|| i - 1));
            let corner = beside.and(i.checked_sub(width + 1));
            is_text(i) || [above, beside, corner].into_iter().flatten().any(is_text)
        };
        (0..values.len()).map(any).collect()
    }
}

/// Connected cells of a map.
struct Region {
    /// Left, top, and the cells behind the last ones.
    bounds: [usize; 4],
    cells: Vec<usize>,
}

/// Returns the connected regions, diagonals included.
fn regions(map: &Map<bool>) -> Vec<Region> {
    let (width, height) = (map.width, map.height);
    let mut open = map.values.clone();
    let mut regions = Vec::new();
    for start in 0..open.len() {
        if !std::mem::take(&mut open[start]) {
            continue;
        }
        let mut bounds = [usize::MAX, usize::MAX, 0, 0];
        let (mut stack, mut cells) = (vec![start], Vec::new());
        while let Some(cell) = stack.pop() {
            cells.push(cell);
            let (x, y) = (cell % width, cell / width);
            bounds = [bounds[0].min(x), bounds[1].min(y), bounds[2].max(x + 1), bounds[3].max(y + 1)];
            for y in y.saturating_sub(1)..(y + 2).min(height) {
                for x in x.saturating_sub(1)..(x + 2).min(width) {
                    if std::mem::take(&mut open[y * width + x]) {
                        stack.push(y * width + x);
                    }
                }
            }
        }
        regions.push(Region { bounds, cells });
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::TextRegions;
    use crate::answer::{Output, View};

    #[test]
    fn regions_grow_to_lines_and_specks_are_left_out() {
        let decoding = TextRegions {
            what: ["line of text", "lines of text"].map(str::to_owned),
            pixel: 0.3,
            threshold: 0.5,
            unclip: 1.0,
            least: 3,
        };
        let mut values = vec![0.0f32; 40 * 20];
        (5..9).for_each(|y| (4..23).for_each(|x| values[y * 40 + x] = 0.9));
        values[18 * 40 + 38] = 1.0;
        let output = Output { name: "y", dims: &[1, 1, 20, 40], values: &values };
        let boxes = decoding.decode(&[output], &View::of_input(40, 20)).unwrap();
        // With its neighbours it is 20 by 5, and grows by 100 / 50 on each side.
        assert_eq!((boxes.boxes.len(), boxes.boxes[0].bounds), (1, [2.0, 3.0, 26.0, 12.0]));
        assert!((boxes.boxes[0].score - 0.9).abs() < 1e-5, "{}", boxes.boxes[0].score);
    }
}
