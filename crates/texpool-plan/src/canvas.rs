//! The sheet that pictures of plans are drawn on: shapes with their names, regions, the axis of steps, and the peak.

use std::{fmt::Write, ops::Range};

use super::{
    internal::{escaped, svg_head, tick_distance},
    rows::LiveRange,
};

/// Size of the drawing without margins, in pixels.
const WIDTH: f64 = 760.0;
pub(crate) const HEIGHT: f64 = 300.0;
/// Margins: names of regions to the left; title, legend and the peak's label above; the axis of steps below.
const LEFT: f64 = 124.0;
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 58.0;
const BELOW: f64 = 40.0;
/// Space between regions.
pub(crate) const GAP: f64 = 6.0;
/// Height of a line of text, and an upper estimate of the width of a label's letter, for labels that must fit.
const LINE: f64 = 12.0;
const LETTER: f64 = 6.2;

/// Returns the colour of a record. The hues of consecutive records differ strongly: they are multiples of the golden
/// angle. Written in hexadecimal digits, which every reader of SVG knows.
fn colour(record: usize) -> String {
    const SATURATION: f64 = 0.55;
    const LIGHTNESS: f64 = 0.68;
    let hue = (record as f64 * 137.508) % 360.0;
    let chroma = SATURATION * f64::min(LIGHTNESS, 1.0 - LIGHTNESS);
    let channel = |shift: f64| {
        let at = (shift + hue / 30.0) % 12.0;
        let part = LIGHTNESS - chroma * (at - 3.0).min(9.0 - at).clamp(-1.0, 1.0);
        (part * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

/// Returns the longest of the names of a shape that fits into it: the whole one, its first word, or its number.
fn fitting(record: usize, name: &str, width: f64, height: f64) -> Option<String> {
    let first = name.split_whitespace().next().unwrap_or_default();
    let names = [name.to_owned(), first.to_owned(), record.to_string()];
    let fits = |name: &String| !name.is_empty() && name.chars().count() as f64 * LETTER + 4.0 < width;
    names.into_iter().filter(|_| height > LINE).find(fits)
}

pub(crate) struct Canvas {
    text: String,
    column: f64,
    steps: usize,
    /// Height of the drawing.
    height: f64,
}

impl Canvas {
    /// Starts a picture of regions that are [`HEIGHT`] pixels high together. `shapes` describes what a shape stands for.
    pub(crate) fn new(title: &str, steps: usize, regions: usize, shapes: &str) -> Self {
        Self::sized(title, (steps, 0), HEIGHT + GAP * regions.saturating_sub(1) as f64, shapes)
    }

    /// Starts a picture of `drawn` pixels in height. `after` is the number of columns after the last step, which are not
    /// on the axis.
    pub(crate) fn sized(title: &str, (steps, after): (usize, usize), drawn: f64, shapes: &str) -> Self {
        let (width, height) = (LEFT + WIDTH + RIGHT, ABOVE + drawn + BELOW);
        let (title, shapes) = (escaped(title), escaped(shapes));
        let mut text = svg_head(width, height);
        let swatch = "<rect class=\"edge\" width=\"10\" height=\"10\"";
        let _ = write!(
            text,
            "\n<title>{title}</title>\n<text x=\"{LEFT}\" y=\"16\" font-size=\"13\">{title}</text>\n\
             {swatch} x=\"{LEFT}\" y=\"25\" fill=\"{}\"/><text x=\"{}\" y=\"34\">{shapes}</text>\n",
            colour(0),
            LEFT + 15.0
        );
        let mut canvas = Self { text, column: WIDTH / (steps + after).max(1) as f64, steps, height: drawn };
        canvas.axis();
        canvas
    }

    /// Draws the axis of steps, with lines behind the drawing.
    fn axis(&mut self) {
        let (top, bottom) = (ABOVE, ABOVE + self.height);
        // Steps are whole, so marks are at least one apart.
        let distance = tick_distance(self.steps as f64).max(1.0);
        for mark in 0..=(self.steps as f64 / distance) as usize {
            let step = mark as f64 * distance;
            let x = LEFT + step * self.column;
            let _ = writeln!(
                self.text,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{step}</text>",
                bottom + 14.0
            );
        }
        let (x, y) = (LEFT + WIDTH / 2.0, bottom + 30.0);
        let _ = writeln!(self.text, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">steps of a run</text>");
    }

    /// Draws a rectangle from one step to another, inclusive. `top` and `height` are in pixels below the legend.
    pub(crate) fn tensor(
        &mut self,
        record: usize,
        (first, last): (usize, usize),
        (top, height): (f64, f64),
        name: &str,
        label: &str,
    ) {
        let (x, y) = (LEFT + first as f64 * self.column, ABOVE + top);
        let width = (last - first + 1) as f64 * self.column;
        let _ = writeln!(
            self.text,
            "<rect class=\"edge\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{}\"><title>{}</title></rect>",
            colour(record),
            escaped(label)
        );
        self.label(record, (x, y), (width, height), name);
    }

    /// Draws a bound in a column, without a colour, since it is no tensor.
    pub(crate) fn bound(&mut self, column: usize, (top, height): (f64, f64), label: &str) {
        let (x, y, width) = (LEFT + column as f64 * self.column, ABOVE + top, self.column);
        let _ = writeln!(
            self.text,
            "<rect class=\"guess\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             pointer-events=\"all\"><title>{}</title></rect>",
            escaped(label)
        );
    }

    /// Writes the name of a shape into it, if it fits.
    fn label(&mut self, record: usize, (x, y): (f64, f64), (width, height): (f64, f64), name: &str) {
        if let Some(name) = fitting(record, name, width, height) {
            let (x, y) = (x + width / 2.0, y + height / 2.0 + 3.0);
            let name = escaped(&name);
            let _ = writeln!(
                self.text,
                "<text class=\"on\" font-size=\"9\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{name}</text>"
            );
        }
    }

    /// Draws the rows of a tensor: ranges of texels with their live ranges. `bottom` is the position of texel 0,
    /// `unit` the height of a texel.
    pub(crate) fn rows(
        &mut self,
        record: usize,
        runs: &[(Range<u32>, LiveRange)],
        (bottom, unit): (f64, f64),
        (name, label): (&str, &str),
    ) {
        let mut path = String::new();
        let mut largest: Option<((f64, f64), (f64, f64))> = None;
        for (texels, life) in runs {
            let (x, y) = (LEFT + life.first as f64 * self.column, ABOVE + bottom - f64::from(texels.end) * unit);
            let width = (life.last - life.first + 1) as f64 * self.column;
            let height = texels.len() as f64 * unit;
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.2}h-{width:.1}z");
            if largest.is_none_or(|(_, (w, h))| width * height > w * h) {
                largest = Some(((x, y), (width, height)));
            }
        }
        let (colour, label) = (colour(record), escaped(label));
        let _ = writeln!(self.text, "<path d=\"{path}\" fill=\"{colour}\"><title>{label}</title></path>");
        if let Some((at, extent)) = largest {
            self.label(record, at, extent, name);
        }
    }

    /// Writes a line above a part of the drawing that begins at `top`.
    pub(crate) fn heading(&mut self, top: f64, text: &str) {
        let (y, text) = (ABOVE + top - 6.0, escaped(text));
        let _ = writeln!(self.text, "<text x=\"{LEFT}\" y=\"{y:.1}\" font-size=\"12\">{text}</text>");
    }

    /// Draws the outline of a region, and as many lines of its name and size beside it as fit.
    pub(crate) fn frame(&mut self, top: f64, height: f64, lines: &[String]) {
        let y = ABOVE + top;
        let _ = writeln!(
            self.text,
            "<rect class=\"frame\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\">\
             <title>{}</title></rect>",
            escaped(&lines.join(", "))
        );
        for (index, line) in lines.iter().enumerate().take((height / LINE) as usize) {
            let (x, y) = (LEFT - 6.0, y + LINE * (index as f64 + 0.9));
            let _ = writeln!(self.text, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", escaped(line));
        }
    }

    /// Marks the step at which most is alive, with its size.
    pub(crate) fn peak(&mut self, step: usize, size: &str) {
        let x = LEFT + (step as f64 + 0.5) * self.column;
        let (width, top, height) = (self.column.max(1.5), ABOVE - 4.0, self.height + 4.0);
        // A label near an end of the axis would otherwise leave the picture.
        let anchor = match x - LEFT {
            x if x < WIDTH / 4.0 => "start",
            x if x > WIDTH * 0.75 => "end",
            _ => "middle",
        };
        let _ = writeln!(
            self.text,
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill-opacity=\"0.2\" pointer-events=\"none\"/>\
             <text class=\"mark\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">peak: step {step}, {} alive</text>",
            x - width / 2.0,
            ABOVE - 8.0,
            escaped(size)
        );
    }

    pub(crate) fn line(&mut self, top: f64, label: &str) {
        let (y, right) = (ABOVE + top, LEFT + WIDTH);
        let _ = writeln!(
            self.text,
            "<line class=\"mark\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke-dasharray=\"5 3\"/>\
             <text class=\"mark\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y - 4.0,
            escaped(label)
        );
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::{colour, fitting};

    #[test]
    fn colours_are_of_equal_lightness_and_far_apart() {
        assert_eq!([0, 1, 2].map(colour), ["#da8181", "#81da9b", "#b581da"]);
    }

    #[test]
    fn names_that_do_not_fit_are_shortened() {
        let fitted = |width, height| fitting(7, "CONV_2D activation", width, height);
        assert_eq!(fitted(200.0, 20.0).as_deref(), Some("CONV_2D activation"));
        assert_eq!(fitted(60.0, 20.0).as_deref(), Some("CONV_2D"));
        assert_eq!(fitted(20.0, 20.0).as_deref(), Some("7"));
        assert_eq!((fitted(5.0, 20.0), fitted(200.0, 8.0)), (None, None));
    }
}
