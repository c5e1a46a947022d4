//! A line of text, read by a network with an output of characters for each column.

use super::{
    canvas::{Canvas, colour},
    output::{DecodeError, Output, largest},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Mean probability below which a reader is told what the network reads. The value is a choice: cut lines are read with
/// 90 % and more, and a whole page with a quarter.
const SURE: f32 = 0.5;

/// An output with the probability of each character in each column, and of none (CTC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextReader {
    /// Name under which the model file lists its characters, one a line.
    pub characters: String,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextLine {
    /// The text.
    pub text: String,
    /// Mean probability of its characters.
    pub score: f32,
}

impl TextReader {
    /// Returns the text: in each column the likeliest character, each run of the same one once, without blanks. Class 0
    /// is the blank, and the last class a space that the model file does not list.
    pub(super) fn decode(&self, outputs: &[Output<'_>], names: Option<&[String]>) -> Result<TextLine, DecodeError> {
        let first = outputs.first().and_then(|output| match *output.dims {
            [1, _, classes] if classes > 2 => Some((output, classes)),
            _ => None,
        });
        let (output, classes) = first.ok_or_else(|| DecodeError::extents("[1, COLUMNS, CHARACTERS]", outputs))?;
        let names = names.unwrap_or_default();
        if names.len() + 2 != classes {
            return Err(DecodeError::Labels { names: names.len(), classes });
        }
        let (mut text, mut scores, mut last) = (String::new(), Vec::new(), 0);
        for column in output.values.chunks_exact(classes) {
            let class = largest(column.iter().copied());
            if class != 0 && class != last {
                text += names.get(class - 1).map_or(" ", String::as_str);
                scores.push(column[class]);
            }
            last = class;
        }
        Ok(TextLine { text, score: scores.iter().sum::<f32>() / scores.len().max(1) as f32 })
    }
}

impl fmt::Display for TextLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => writeln!(f, "  no text was read")?,
            text => writeln!(f, "  {:>5.1} %  “{text}”", 100.0 * self.score)?,
        }
        if self.text.is_empty() || self.score < SURE {
            writeln!(f, "  the network reads one line of text: --crop X,Y,WIDTH,HEIGHT cuts one out")?;
        }
        Ok(())
    }
}

impl TextLine {
    /// Writes the text onto the picture.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        canvas.line_of_text(0, &self.text, colour(0));
    }
}

#[cfg(test)]
mod tests {
    use super::{TextLine, TextReader};
    use crate::answer::{DecodeError, Output};

    #[test]
    fn runs_count_once_and_blanks_part_equal_characters() {
        let names = ["a", "b"].map(str::to_owned);
        // blank, a, a, blank, a, space, b
        let classes = [0usize, 1, 1, 0, 1, 3, 2];
        let values: Vec<f32> =
            classes.iter().flat_map(|&class| (0..4).map(move |i| if i == class { 0.7 } else { 0.1 })).collect();
        let output = Output { name: "y", dims: &[1, 7, 4], values: &values };
        let reader = TextReader { characters: "character".into() };
        let read = reader.decode(&[output], Some(&names)).unwrap();
        assert!(read.text == "aa b" && (read.score - 0.7).abs() < 1e-6, "{read:?}");
        assert_eq!(read.to_string(), "   70.0 %  “aa b”\n");
        let unsure = TextLine { score: 0.26, ..read };
        assert!(
            unsure.to_string().starts_with("   26.0 %  “aa b”\n  the network reads one line of text: --crop "),
            "{unsure}"
        );
        let other = reader.decode(&[output], Some(&names[..1])).unwrap_err();
        assert_eq!(other, DecodeError::Labels { names: 1, classes: 4 });
    }
}
