//! Classes of a picture, as a classifier answers.

use super::{
    canvas::{Canvas, colour},
    output::{DecodeError, Output, softmax},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most classes in the text and the JSON document, unless the user asks for another number.
const SHOWN: usize = 5;
/// Least share of a class that the text shows unasked.
const WORTH_SHOWING: f32 = 0.01;
/// Cells of a bar for everything.
const BAR_CELLS: f32 = 25.0;

/// A classifier's outputs: probabilities, or logits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Names of the classes, for a network with few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// True if the weights were never trained, so that the classes mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrained: bool,
}

/// Classes of a picture, or of its pixels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassList {
    /// The likeliest classes, the likeliest first.
    pub classes: Vec<Class>,
    /// Number of all classes.
    pub of: usize,
    /// True if the weights were never trained.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untrained: bool,
    /// Share of the likeliest class that is not listed.
    #[serde(skip)]
    pub next: f32,
    /// True if the user chose the number of classes.
    #[serde(skip)]
    pub all: bool,
}

/// A class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Its index.
    pub index: usize,
    /// Its name, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its probability, or the share of pixels for which it is the likeliest class.
    pub share: f32,
}

impl Classes {
    /// Returns the likeliest classes of the only output.
    pub(super) fn decode(
        &self,
        outputs: &[Output<'_>],
        names: Option<&[String]>,
        top: Option<usize>,
    ) -> Result<ClassList, DecodeError> {
        let [output] = outputs else { return Err(DecodeError::extents("one output of probabilities", outputs)) };
        let batch = output.dims.first().copied().unwrap_or(1).max(1);
        let (classes, is_vector) = (output.values.len() / batch, output.dims.iter().filter(|&&d| d > 1).count() <= 2);
        if classes < 2 || !is_vector || output.dims.iter().skip(1).all(|&extent| extent != classes) {
            return Err(DecodeError::extents("[1, CLASSES]", outputs));
        }
        let names = if self.names.is_empty() { names } else { Some(&self.names[..]) };
        let mut list = ClassList::new(&probabilities(&output.values[..classes]), names, top)?;
        list.untrained = self.untrained;
        Ok(list)
    }
}

impl ClassList {
    /// Returns the classes with the largest shares.
    pub(super) fn new(shares: &[f32], names: Option<&[String]>, top: Option<usize>) -> Result<Self, DecodeError> {
        if let Some(names) = names.filter(|names| names.len() != shares.len()) {
            return Err(DecodeError::Labels { names: names.len(), classes: shares.len() });
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let listed = top.unwrap_or(SHOWN).clamp(1, shares.len().max(1));
        let class =
            |&index: &usize| Class { index, label: names.map(|names| names[index].clone()), share: shares[index] };
        Ok(Self {
            classes: order.iter().take(listed).map(class).collect(),
            of: shares.len(),
            untrained: false,
            next: order.get(listed).map_or(0.0, |&index| shares[index]),
            all: top.is_some(),
        })
    }

    /// Writes a line with a bar for each class that is worth showing, and a line for the others.
    pub(super) fn rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worth = self.classes.iter().filter(|class| self.all || class.share >= WORTH_SHOWING).count().max(1);
        let shown = &self.classes[..worth.min(self.classes.len())];
        let names: Vec<String> = shown.iter().map(Class::name).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (class, name) in shown.iter().zip(&names) {
            let line = format!("  {:>5.1} %  {name:<width$}  {}", 100.0 * class.share, bar(class.share));
            writeln!(f, "{}", line.trim_end())?;
        }
        let next = self.classes.get(shown.len()).map_or(self.next, |class| class.share);
        match self.of - shown.len() {
            0 => Ok(()),
            _ if next == 0.0 => Ok(()),
            more if next < WORTH_SHOWING => writeln!(f, "           … {more} more under 1 %"),
            more => writeln!(f, "           … {more} more"),
        }
    }

    /// Writes the names and shares onto a picture.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        for (i, class) in self.classes.iter().filter(|class| class.share >= WORTH_SHOWING).enumerate() {
            canvas.line_of_text(i, &format!("{:.1} % {}", 100.0 * class.share, class.name()), colour(i));
        }
    }
}

impl fmt::Display for ClassList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows(f)?;
        match self.untrained {
            true => writeln!(f, "  the weights are not trained, so these classes mean nothing"),
            false => Ok(()),
        }
    }
}

impl Class {
    fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| format!("class {}", self.index))
    }
}

/// A bar in eighths of a cell.
fn bar(share: f32) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // A little more, so that rounding of the product takes no eighth away.
    let eighths = (share.clamp(0.0, 1.0) * BAR_CELLS * 8.0 + 1e-3) as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// Converts values to probabilities by softmax, unless they already are probabilities.
fn probabilities(values: &[f32]) -> Vec<f32> {
    /// Largest effect of rounding, also to 8 bits, on the sum of a thousand probabilities.
    const ROUNDING: f32 = 0.1;
    let sum: f32 = values.iter().sum();
    let already = values.iter().all(|&value| value >= 0.0) && (sum - 1.0).abs() < ROUNDING;
    if already { values.to_vec() } else { softmax(values) }
}

#[cfg(test)]
mod tests {
    use super::{Classes, bar};
    use crate::answer::{DecodeError, Output};

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("thing {index}")).collect()
    }

    fn output<'a>(dims: &'a [usize], values: &'a [f32]) -> Output<'a> {
        Output { name: "y", dims, values }
    }

    #[test]
    fn logits_become_probabilities_and_probabilities_stay() {
        let logits = [1.0f32, 3.0, 2.0];
        let list = Classes::default().decode(&[output(&[1, 3], &logits)], Some(&names(3)), None).unwrap();
        // softmax of 3, 2 and 1
        let expected = [(1, 0.665_24), (2, 0.244_73), (0, 0.090_03)];
        for (class, (index, share)) in list.classes.iter().zip(expected) {
            assert!(class.index == index && (class.share - share).abs() < 1e-5, "{class:?}");
        }
        let list = Classes::default().decode(&[output(&[1, 2, 1, 1], &[0.25, 0.75])], None, None).unwrap();
        assert_eq!((list.classes[0].index, list.classes[0].share), (1, 0.75));
    }

    #[test]
    fn ten_lines_show_what_is_likely() {
        let mut shares = vec![0.006 / 997.0; 1000];
        (shares[285], shares[282], shares[281]) = (0.79, 0.124, 0.08);
        let names: Vec<String> = (0..1000)
            .map(|index| match index {
                285 => "Egyptian cat".into(),
                282 => "tiger cat".into(),
                281 => "tabby".into(),
                _ => String::new(),
            })
            .collect();
        let list = Classes::default().decode(&[output(&[1, 1000], &shares)], Some(&names), None).unwrap();
        let expected = "   79.0 %  Egyptian cat  ███████████████████▊\n   12.4 %  tiger cat     ███\n    8.0 %  tabby         ██\n           … 997 more under 1 %\n";
        assert_eq!(list.to_string(), expected);
        let two = Classes::default().decode(&[output(&[1, 1000], &shares)], Some(&names), Some(2)).unwrap();
        assert!(two.to_string().ends_with("           … 998 more\n"), "{two}");
        let untrained = Classes { untrained: true, ..Classes::default() };
        let equal = untrained.decode(&[output(&[1, 1000], &[0.001; 1000])], None, None).unwrap().to_string();
        assert!(equal.starts_with("    0.1 %  class 0\n") && equal.contains("not trained"), "{equal}");
    }

    #[test]
    fn outputs_of_no_classifier_and_labels_of_another_are_refused() {
        let decode = |dims: &[usize], labels: usize| {
            let values = vec![0.5; dims.iter().product()];
            Classes::default().decode(&[output(dims, &values)], Some(&names(labels)), None).unwrap_err()
        };
        assert_eq!(decode(&[1, 4], 5), DecodeError::Labels { names: 5, classes: 4 });
        assert!(matches!(decode(&[1, 4, 4], 4), DecodeError::Extents { .. }));
        assert!(matches!(decode(&[1, 1], 1), DecodeError::Extents { .. }));
    }

    #[test]
    fn bars_are_in_eighths() {
        assert_eq!(
            [0.0, 0.004, 0.005, 0.04, 1.0].map(bar),
            ["".into(), "".into(), "▏".into(), "█".into(), "█".repeat(25)]
        );
    }
}
