//! Draws the contents of buffers while phases execute.

use std::fmt::Write;

use super::{PhaseOrderReport, grouped};
use texpool_plan::internal::{escaped, svg_head, tick_distance};

/// Extents in pixels: the drawing of the largest order, and margins for names, headings and the axis.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 124.0;
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 40.0;
/// Height of the line above an order.
const HEADING: f64 = 24.0;
/// Height of a line of text.
const LINE: f64 = 12.0;

/// Draws orders below each other at the same scale. Each buffer has a lane, as high as its largest contents; the filled part
/// shows its contents after each phase. Each order has a heading.
pub fn order_svg(title: &str, orders: &[(String, &PhaseOrderReport)]) -> String {
    let bytes = |order: &PhaseOrderReport| order.buffers.iter().map(|buffer| buffer.largest_bytes).sum::<u64>();
    let largest = orders.iter().map(|(_, order)| bytes(order)).max().unwrap_or(0).max(1) as f64;
    let lanes = orders.iter().map(|(_, order)| order.buffers.len()).max().unwrap_or(0);
    let steps = orders.iter().map(|(_, order)| order.steps.len()).max().unwrap_or(0).max(1);
    // Narrow, so that many lanes do not seem larger than they are.
    let gap = f64::min(4.0, HEIGHT / 10.0 / lanes.max(1) as f64);
    let mut sheet = Sheet { text: String::new(), column: WIDTH / steps as f64, unit: HEIGHT / largest, gap };
    let mut top = ABOVE;
    for (heading, order) in orders {
        top = sheet.order(top + HEADING, heading, order);
    }
    let axis = axis(steps, top);
    let (title, head) = (escaped(title), svg_head(LEFT + WIDTH + RIGHT, top + BELOW));
    let named = format!("<title>{title}</title>\n<text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{title}</text>");
    format!("{head}\n{named}\n{axis}{}</svg>\n", sheet.text)
}

struct Sheet {
    text: String,
    /// Width of a step, height of a byte, and space between lanes, in pixels.
    column: f64,
    unit: f64,
    gap: f64,
}

impl Sheet {
    /// Draws the lanes of an order, and returns the position below them.
    fn order(&mut self, mut top: f64, heading: &str, order: &PhaseOrderReport) -> f64 {
        let heading = escaped(heading);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"12\">{heading}</text>", top - 6.0);
        for (index, buffer) in order.buffers.iter().enumerate() {
            let height = buffer.largest_bytes as f64 * self.unit;
            let label = format!("{}: {} bytes at most", buffer.name, grouped(buffer.largest_bytes));
            self.lane(top, height, &escaped(&label), &self.contents(order, index, top + height));
            if height > LINE {
                let (x, y, name) = (LEFT - 6.0, top + LINE * 0.9, escaped(&label.replace(" bytes at most", "")));
                let _ = writeln!(self.text, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>");
            }
            top += height + self.gap;
        }
        top
    }

    /// Returns the outline of a buffer's contents above `bottom`.
    fn contents(&self, order: &PhaseOrderReport, buffer: usize, bottom: f64) -> String {
        let mut path = format!("M{LEFT:.1} {bottom:.1}");
        for (step, changed) in order.steps.iter().enumerate() {
            if let Some(&(_, bytes)) = changed.changes.iter().find(|(index, _)| *index == buffer) {
                let (x, y) = (LEFT + step as f64 * self.column, bottom - bytes as f64 * self.unit);
                let _ = write!(path, "H{x:.1}V{y:.2}");
            }
        }
        let _ = write!(path, "H{:.1}V{bottom:.1}z", LEFT + order.steps.len() as f64 * self.column);
        path
    }

    fn lane(&mut self, top: f64, height: f64, label: &str, path: &str) {
        let _ = writeln!(
            self.text,
            "<path class=\"fact\" fill-opacity=\"0.5\" stroke-width=\"0.5\" d=\"{path}\"/>\n\
             <rect class=\"frame\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{height:.2}\" \
             pointer-events=\"all\"><title>{label}</title></rect>"
        );
    }
}

/// Returns the axis of steps below the drawing, with lines behind it.
fn axis(steps: usize, bottom: f64) -> String {
    let mut text = String::new();
    let distance = tick_distance(steps as f64).max(1.0);
    for mark in 0..=(steps as f64 / distance) as usize {
        let step = mark as f64 * distance;
        let x = LEFT + step * WIDTH / steps as f64;
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{ABOVE}\" y2=\"{bottom:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{step}</text>",
            bottom + 14.0
        );
    }
    let (x, y) = (LEFT + WIDTH / 2.0, bottom + 30.0);
    let _ = writeln!(text, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"middle\">phases that have been executed</text>");
    text
}
