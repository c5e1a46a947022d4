//! A class for each pixel.

use super::{
    canvas::{Canvas, colour},
    classes::ClassList,
    map::Map,
    output::{DecodeError, Output, largest},
    view::View,
};
use serde::Serialize;
use std::fmt;

/// A class for each pixel of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segments {
    /// The classes, with their shares of the picture.
    #[serde(flatten)]
    pub list: ClassList,
    /// The class of each pixel.
    #[serde(skip)]
    pub map: Map<usize>,
}

impl Segments {
    /// Returns the likeliest class of each pixel of the first output, whose last axis has the classes.
    pub(super) fn decode(
        outputs: &[Output<'_>],
        view: &View,
        names: Option<&[String]>,
        top: Option<usize>,
    ) -> Result<Self, DecodeError> {
        let first = outputs.first().and_then(|output| match *output.dims {
            [1, height, width, classes] if classes > 1 && height * width > 0 => Some((output, height, width, classes)),
            _ => None,
        });
        let expected = "[1, HEIGHT, WIDTH, CLASSES]";
        let (output, height, width, classes) = first.ok_or_else(|| DecodeError::extents(expected, outputs))?;
        let values = output.values.chunks_exact(classes).map(|pixel| largest(pixel.iter().copied())).collect();
        let map = Map { values, width, height, view: *view };
        let mut counts = vec![0usize; classes];
        map.cells().for_each(|(_, _, class)| counts[class] += 1);
        let all = counts.iter().sum::<usize>().max(1) as f32;
        let shares: Vec<f32> = counts.iter().map(|&count| count as f32 / all).collect();
        let mut list = ClassList::new(&shares, names, top)?;
        list.classes.retain(|class| class.share > 0.0);
        Ok(Self { list, map })
    }

    /// Tints the pixels of all classes but the first, which is the background, and names the colours.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        canvas.tint(|x, y| self.map.at(x, y).filter(|&class| class > 0).map(colour));
        for (i, class) in self.list.classes.iter().filter(|class| class.index > 0).enumerate() {
            let name = class.label.clone().unwrap_or_else(|| format!("class {}", class.index));
            canvas.line_of_text(i, &format!("{:.1} % {name}", 100.0 * class.share), colour(class.index));
        }
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  shares of the picture:")?;
        self.list.rows(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Segments;
    use crate::answer::{Output, View};

    #[test]
    fn each_pixel_counts_for_its_likeliest_class() {
        let values = [0.9, 0.1, 0.2, 0.3, 0.6, 0.1, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let output = Output { name: "y", dims: &[1, 2, 2, 3], values: &values };
        let names = ["background", "cat", "dog"].map(str::to_owned);
        let answer = Segments::decode(&[output], &View::of_input(2, 2), Some(&names), None).unwrap();
        assert_eq!(answer.map.values, [0, 1, 2, 1]);
        let shares: Vec<(usize, f32)> = answer.list.classes.iter().map(|class| (class.index, class.share)).collect();
        assert_eq!(shares, [(1, 0.5), (0, 0.25), (2, 0.25)]);
        assert!(answer.to_string().contains("   50.0 %  cat "), "{answer}");
    }
}
