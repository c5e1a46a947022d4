//! YOLO v2's boxes and classes in a grid.

use super::{
    boxes::{Boxes, DetectedObject},
    detection::Detection,
    output::{DecodeError, Output, largest, sigmoid, softmax},
    overlap,
    view::View,
};
use serde::{Deserialize, Serialize};

/// Values of a box in front of its classes: centre, extents and confidence.
const BOX: usize = 5;

/// An output of boxes and their classes in each cell of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Yolo {
    /// The objects to find.
    #[serde(flatten)]
    pub detection: Detection,
    /// Width and height of each anchor in cells.
    pub anchors: Vec<[f32; 2]>,
}

impl Yolo {
    pub(super) fn decode(
        &self,
        outputs: &[Output<'_>],
        view: &View,
        names: Option<&[String]>,
    ) -> Result<Boxes, DecodeError> {
        let boxes = self.anchors.len();
        let first = outputs.first().and_then(|output| match *output.dims {
            [1, rows, columns, all] if boxes > 0 && all % boxes == 0 && all / boxes > BOX => {
                Some((output, rows, columns, all / boxes))
            }
            _ => None,
        });
        let (output, rows, columns, each) =
            first.ok_or_else(|| DecodeError::extents("[1, ROWS, COLUMNS, 425]", outputs))?;
        if let Some(names) = names.filter(|names| names.len() != each - BOX) {
            return Err(DecodeError::Labels { names: names.len(), classes: each - BOX });
        }
        let mut candidates = self.detection.candidates();
        for (i, values) in output.values.chunks_exact(each).enumerate() {
            let classes = softmax(&values[BOX..]);
            let class = largest(classes.iter().copied());
            let score = sigmoid(values[4]) * classes[class];
            candidates.look(score, || {
                let (cell, [anchor_width, anchor_height]) = (i / boxes, self.anchors[i % boxes]);
                let x = ((cell % columns) as f32 + sigmoid(values[0])) / columns as f32;
                let y = ((cell / columns) as f32 + sigmoid(values[1])) / rows as f32;
                let w = values[2].exp() * anchor_width / columns as f32;
                let h = values[3].exp() * anchor_height / rows as f32;
                let bounds = view.bounds([x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0]);
                let label = names.map_or_else(|| format!("class {class}"), |names| names[class].clone());
                DetectedObject { label: Some(label), score, bounds, points: vec![] }
            });
        }
        Ok(self.detection.merged(candidates, overlap::best))
    }
}

#[cfg(test)]
mod tests {
    use super::Yolo;
    use crate::answer::{Detection, Output, View};

    #[test]
    fn a_cell_has_boxes_and_each_has_a_class() {
        let detection = Detection { what: ["object", "objects"].map(str::to_owned), threshold: 0.3, overlap: 0.45 };
        let decoding = Yolo { detection, anchors: vec![[1.0, 1.0], [2.0, 0.5]] };
        let mut values = vec![0.0f32; 2 * 2 * 2 * 7];
        values.chunks_exact_mut(7).for_each(|one| one[4] = -9.0);
        // The second box of the cell in row 1, column 0, certain of the second class.
        values[(2 * 2 + 1) * 7..][..7].copy_from_slice(&[0.0, 0.0, 0.0, 0.0, 9.0, 0.0, 9.0]);
        let output = Output { name: "y", dims: &[1, 2, 2, 14], values: &values };
        let names = ["cat", "dog"].map(str::to_owned);
        let boxes = decoding.decode(&[output], &View::of_input(40, 40), Some(&names)).unwrap();
        // The centre is at a quarter and three quarters, the box two cells wide and half a cell high.
        assert_eq!((boxes.boxes.len(), boxes.boxes[0].bounds), (1, [0.0, 25.0, 30.0, 35.0]));
        assert_eq!(boxes.boxes[0].label.as_deref(), Some("dog"));
        assert!(decoding.decode(&[output], &View::of_input(40, 40), Some(&names[..1])).is_err());
    }
}
