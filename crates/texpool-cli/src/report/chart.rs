//! Draws SVG pictures: a compiled model's pool, and the Pareto front of device memory against time.

use std::fmt::Write;

use super::{FrontPoint, FrontReport, compiled::pool_operators, grouped, rounded, size};
use texpool_compile::{Clock, CompiledModel};
use texpool_plan::{
    PlanError, PoolDrawing,
    internal::{escaped, svg_head, tick_distance},
    pool_svg, pools_svg,
};

/// Extents of the picture in pixels, and margins for title, legend and axes.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 54.0;
const BELOW: f64 = 48.0;

/// Draws the pool of a compiled model: steps run from left to right, and each texture shows the rows of its tensors
/// with their live ranges.
///
/// # Errors
/// The same as for [`pool_svg`].
pub fn picture(compiled: &CompiledModel) -> Result<String, PlanError> {
    let (graph, schedule, plan) = (compiled.graph(), compiled.schedule(), compiled.plan());
    let (bytes, textures, steps) = (size(plan.bytes()), plan.textures.len(), schedule.steps.len());
    let title = format!("{}: {bytes} in {textures} textures, {steps} steps", graph.name);
    pool_svg(&title, &pool_operators(compiled), &schedule.tensors(), &schedule.row_steps(), plan)
}

/// Draws the pools of several plans of one model below each other at the same scale. Each has a heading.
///
/// # Errors
/// The errors of [`pools_svg`].
pub fn pictures(title: &str, plans: &[(String, &CompiledModel)]) -> Result<String, PlanError> {
    let parts = |compiled: &CompiledModel| {
        let schedule = compiled.schedule();
        (pool_operators(compiled), schedule.tensors(), schedule.row_steps())
    };
    let parts: Vec<_> = plans.iter().map(|(_, compiled)| parts(compiled)).collect();
    let drawings = plans.iter().zip(&parts).map(|((heading, compiled), (names, tensors, steps))| PoolDrawing {
        heading,
        names,
        tensors,
        steps,
        plan: compiled.plan(),
    });
    pools_svg(title, &drawings.collect::<Vec<_>>())
}

/// A time of each point, with the class that it is drawn in and its name in the legend.
struct Series {
    class: &'static str,
    name: &'static str,
    time: fn(&FrontPoint) -> Option<f64>,
}

const PREDICTED: Series = Series { class: "guess", name: "predicted", time: |p| Some(p.predicted_ms) };
const MEASURED: Series = Series { class: "fact", name: "measured", time: |p| p.measured_ms };

impl FrontReport {
    /// Returns the front as SVG text: predicted times as rings, measured ones as filled points. Lines join the points
    /// that no other beats in both memory and time.
    pub fn svg(&self) -> String {
        let axes = Axes::new(&self.points);
        let title = escaped(&format!("{}: device memory against the time of a run", self.model));
        let mut text = svg_head(WIDTH, HEIGHT);
        let _ = writeln!(text, "\n<title>{title}</title>\n<text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{title}</text>");
        let time = match self.clock {
            Clock::Wall => "time of a run in milliseconds",
            Clock::Processor => "processor time of a run, of all cores together, in milliseconds",
        };
        axes.draw(&mut text, time);
        let mut legend = LEFT;
        for series in [&PREDICTED, &MEASURED] {
            let timed: Vec<(&FrontPoint, f64)> =
                self.points.iter().filter_map(|p| Some((p, (series.time)(p)?))).collect();
            if !timed.is_empty() {
                legend = series.legend(&mut text, legend);
                series.draw(&mut text, &axes, &timed);
            }
        }
        text.push_str("</svg>\n");
        text
    }
}

impl Series {
    /// Draws an entry of the legend at `x`, and returns the place of the next.
    fn legend(&self, text: &mut String, x: f64) -> f64 {
        let name = format!("{}, joined where no plan is better in both", self.name);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<ellipse class=\"{}\" cx=\"{}\" cy=\"34\" rx=\"4\" ry=\"4\"/><text x=\"{}\" y=\"38\">{name}</text>",
            self.class,
            x + 4.0,
            x + 13.0
        );
        x + 40.0 + name.len() as f64 * 5.4
    }

    /// Draws the points, the lines between the unbeaten ones, and the figures of the first and the last of these.
    fn draw(&self, text: &mut String, axes: &Axes, timed: &[(&FrontPoint, f64)]) {
        let class = self.class;
        let unbeaten: Vec<(&FrontPoint, f64)> =
            timed.iter().copied().filter(|point| is_unbeaten(*point, timed)).collect();
        let place = |(p, ms): &(&FrontPoint, f64)| format!("{:.1},{:.1}", axes.x(*ms), axes.y(p.device_bytes as f64));
        let places: Vec<String> = unbeaten.iter().map(place).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<polyline class=\"{class} line\" points=\"{}\"/>", places.join(" "));
        for (p, ms) in timed {
            let [device, pool] = [p.device_bytes, p.bytes].map(grouped);
            let label = format!("{device} bytes, {pool} of them the pool; {ms:.3} ms, {} dispatches", p.dispatches);
            let _ = writeln!(
                text,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{label}</title></circle>",
                axes.x(*ms),
                axes.y(p.device_bytes as f64)
            );
        }
        // The last series is labelled alone, since the labels of both would lie upon each other.
        let labelled = timed.iter().all(|(p, ms)| p.measured_ms.is_none() || p.measured_ms == Some(*ms));
        let ends = [unbeaten.first(), unbeaten.last().filter(|_| unbeaten.len() > 1)];
        for (index, (p, ms)) in ends.into_iter().flatten().enumerate().filter(|_| labelled) {
            let label = format!("{}, {} ms", size(p.device_bytes), rounded(*ms, 3));
            // The first point is at the left, and the last one at the right, where its label would leave the picture.
            let (anchor, x) = if index == 0 { ("start", 9.0) } else { ("end", 0.0) };
            let _ = writeln!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label}</text>",
                axes.x(*ms) + x,
                axes.y(p.device_bytes as f64) + if index == 0 { -5.0 } else { 18.0 }
            );
        }
    }
}

/// Returns true if no other point takes as little of both and less of one.
fn is_unbeaten((point, ms): (&FrontPoint, f64), all: &[(&FrontPoint, f64)]) -> bool {
    let bytes = point.device_bytes;
    !all.iter().any(|(p, other)| p.device_bytes <= bytes && *other <= ms && (p.device_bytes < bytes || *other < ms))
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

    fn draw(&self, text: &mut String, time: &str) {
        let (right, floor) = (WIDTH - RIGHT, HEIGHT - BELOW);
        let [low, high] = self.lines.map(|line| line as i32);
        for line in low..=high {
            let bytes = f64::from(line).exp2();
            let (y, label) = (self.y(bytes), size(bytes as u64));
            // Powers of two have no decimals in their unit.
            let label = label.replace(".0", "");
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        let mark = tick_distance(self.longest);
        for number in 0..=(self.longest / mark) as u32 {
            let ms = f64::from(number) * mark;
            let (x, label) = (self.x(ms), rounded(ms, 4));
            let _ = writeln!(
                text,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{ABOVE}\" y2=\"{floor}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                floor + 16.0
            );
        }
        let (middle, below) = ((LEFT + right) / 2.0, HEIGHT - 10.0);
        let beside = (ABOVE + floor) / 2.0;
        let _ = writeln!(
            text,
            "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{time}</text>\n\
             <text transform=\"translate(22 {beside}) rotate(-90)\" text-anchor=\"middle\">\
             device memory, logarithmic: each line is twice the one below</text>"
        );
    }
}
