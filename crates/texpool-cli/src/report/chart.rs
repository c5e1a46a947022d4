//! Draws SVG pictures: a compiled model's pool, and the Pareto front of device memory against time.

use std::fmt::Write;

use super::{FrontPoint, FrontReport, compiled::pool_names, grouped};
use texpool::{
    compile::CompiledModel,
    plan::{
        PlanError,
        internal::{escaped, svg_tag},
        pool_svg,
    },
};

/// Extents of the picture in pixels, and margins for title and axes.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 40.0;
const BELOW: f64 = 44.0;

/// Draws the pool of a compiled model: steps run from left to right, and each texture shows the rows of its tensors
/// with their live ranges.
///
/// # Errors
/// The same as for [`pool_svg`].
pub fn picture(compiled: &CompiledModel) -> Result<String, PlanError> {
    let (graph, schedule, plan) = (compiled.graph(), compiled.schedule(), compiled.plan());
    let (bytes, textures, steps) = (grouped(plan.bytes()), plan.textures.len(), schedule.steps.len());
    let title = format!("{}: {bytes} bytes in {textures} textures, {steps} steps", graph.name);
    pool_svg(&title, &pool_names(compiled), &schedule.tensors(), &schedule.row_steps(), plan)
}

impl FrontReport {
    /// Returns the front as SVG text: predicted times as rings, measured ones as filled points.
    pub fn svg(&self) -> String {
        let axes = Axes::new(&self.points);
        let what = if self.points.iter().any(|p| p.measured_ms.is_some()) {
            "measured (filled) and predicted"
        } else {
            "predicted"
        };
        let title = format!("{}: bytes of the device against {what} milliseconds", self.model);
        let mut text = format!(
            "{}\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{}</text>\n",
            svg_tag(WIDTH, HEIGHT),
            escaped(&title)
        );
        axes.draw(&mut text);
        curve(&mut text, &axes, &self.points, |p| Some(p.predicted_ms), ["#888", "#fff"]);
        curve(&mut text, &axes, &self.points, |p| p.measured_ms, ["#06c", "#06c"]);
        text.push_str("</svg>\n");
        text
    }
}

/// Draws points that have a time and the lines between them, in the given stroke and fill colours.
fn curve(
    text: &mut String,
    axes: &Axes,
    points: &[FrontPoint],
    time: fn(&FrontPoint) -> Option<f64>,
    [stroke, fill]: [&str; 2],
) {
    let timed: Vec<(&FrontPoint, f64)> = points.iter().filter_map(|p| Some((p, time(p)?))).collect();
    let places: Vec<String> =
        timed.iter().map(|(p, ms)| format!("{:.1},{:.1}", axes.x(*ms), axes.y(p.device_bytes as f64))).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\"/>", places.join(" "));
    for (p, ms) in timed {
        let [device, pool] = [p.device_bytes, p.bytes].map(grouped);
        let label = format!("{device} bytes, {pool} of them the pool; {ms:.3} ms, {} dispatches", p.dispatches);
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" stroke=\"{stroke}\" fill=\"{fill}\">\
             <title>{label}</title></circle>",
            axes.x(ms),
            axes.y(p.device_bytes as f64)
        );
    }
}

/// Maps bytes and times to positions in the picture.
struct Axes {
    /// Base-two logarithms of bytes at the lowest line and at the highest.
    lines: [f64; 2],
    /// Milliseconds at the right end.
    longest: f64,
}

impl Axes {
    fn new(points: &[FrontPoint]) -> Self {
        // At least one byte, because zero has no logarithm.
        let bytes = points.iter().map(|p| (p.device_bytes.max(1) as f64).log2());
        let (low, high) = bytes.fold((f64::MAX, 0.0f64), |(low, high), b| (low.min(b), high.max(b)));
        let times = points.iter().flat_map(|p| [Some(p.predicted_ms), p.measured_ms]).flatten();
        // Never zero, since times are divided by it. Five percent more than the longest time, so that its point does
        // not touch the edge.
        let longest = times.fold(1e-3, f64::max) * 1.05;
        // The upper line is above the largest value, so that two lines exist even if all values are equal.
        Self { lines: [low.min(high).floor(), high.floor() + 1.0], longest }
    }

    fn x(&self, ms: f64) -> f64 {
        LEFT + ms / self.longest * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, bytes: f64) -> f64 {
        let [low, high] = self.lines;
        HEIGHT - BELOW - (bytes.max(1.0).log2() - low) / (high - low) * (HEIGHT - BELOW - ABOVE)
    }

    /// Returns the milliseconds between two marks: 1, 2 or 5 times a power of ten, which gives four to ten marks.
    fn mark(&self) -> f64 {
        // Starts at the coarsest distance, since four marks are enough.
        let power = 10f64.powf((self.longest / 4.0).log10().floor());
        [5.0, 2.0].into_iter().map(|n| n * power).find(|mark| self.longest / mark >= 4.0).unwrap_or(power)
    }

    fn draw(&self, text: &mut String) {
        let (right, floor) = (WIDTH - RIGHT, HEIGHT - BELOW);
        let [low, high] = self.lines.map(|line| line as i32);
        for line in low..=high {
            let bytes = f64::from(line).exp2();
            let (y, label) = (self.y(bytes), size(bytes));
            let _ = writeln!(
                text,
                "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        let mark = self.mark();
        for number in 0..=(self.longest / mark) as u32 {
            let ms = f64::from(number) * mark;
            let x = self.x(ms);
            let label = format!("{ms:.3}");
            let label = label.trim_end_matches('0').trim_end_matches('.');
            let _ = writeln!(
                text,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{ABOVE}\" y2=\"{floor}\" stroke=\"#eee\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                floor + 16.0
            );
        }
        let _ = writeln!(text, "<text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">milliseconds</text>", HEIGHT - 8.0);
    }
}

/// Formats a power of two with a unit.
fn size(bytes: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1.0, "bytes"));
    format!("{} {}", bytes / unit.0, unit.1)
}
