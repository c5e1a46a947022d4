//! Pictures of plans as SVG: time runs from left to right, memory upwards, and each tensor is a rectangle. The
//! guide's pictures are made with it.

use std::{fmt::Write, ops::Range};

use super::{
    buffers::{ArenaPlan, Buffer, Piece, pieces},
    error::{InputError, LayoutError, PlanError},
    internal::{escaped, svg_tag},
    layout::Layout,
    placement::Plan,
    profile::operator_profiles,
    realize::TensorRows,
    record::UsageRecord,
    rows::{LiveRange, RowStep, row_live_ranges},
};

/// Size of the drawing without margins, in pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 28.0;
/// Space between regions.
const GAP: f64 = 6.0;

/// Returns a hue. The hues of consecutive records differ strongly: they are multiples of the golden angle.
fn colour(record: usize) -> String {
    format!("hsl({:.0},55%,68%)", (record as f64 * 137.508) % 360.0)
}

struct Canvas {
    text: String,
    column: f64,
}

impl Canvas {
    fn new(title: &str, steps: usize, regions: usize) -> Self {
        let height = HEIGHT + 2.0 * MARGIN + GAP * regions.saturating_sub(1) as f64;
        let width = WIDTH + 2.0 * MARGIN;
        let mut text = String::new();
        let _ = writeln!(text, "{}\n<title>{}</title>", svg_tag(width, height), escaped(title));
        let _ = writeln!(text, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>");
        let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"16\" font-size=\"13\">{}</text>", escaped(title));
        Self { text, column: WIDTH / steps.max(1) as f64 }
    }

    /// Draws a rectangle from one step to another, inclusive. `top` and `height` are in pixels below the title.
    fn tensor(&mut self, record: usize, (first, last): (usize, usize), top: f64, height: f64, label: &str) {
        let (x, y) = (MARGIN + first as f64 * self.column, MARGIN + top);
        let width = (last - first + 1) as f64 * self.column;
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\" stroke=\"#444\" \
             stroke-width=\"0.5\"><title>{}</title></rect>",
            colour(record),
            escaped(label)
        );
        if width > 22.0 && height > 12.0 {
            let (cx, cy) = (x + width / 2.0, y + height / 2.0 + 4.0);
            let _ = writeln!(self.text, "<text x=\"{cx:.1}\" y=\"{cy:.1}\" text-anchor=\"middle\">{record}</text>");
        }
    }

    /// Draws the rows of a tensor: ranges of texels with their live ranges. `bottom` is the position of texel 0,
    /// `unit` the height of a texel.
    fn rows(&mut self, record: usize, runs: &[(Range<u32>, LiveRange)], (bottom, unit): (f64, f64), label: &str) {
        let mut path = String::new();
        for (texels, life) in runs {
            let (x, y) = (MARGIN + life.first as f64 * self.column, MARGIN + bottom - f64::from(texels.end) * unit);
            let width = (life.last - life.first + 1) as f64 * self.column;
            let height = texels.len() as f64 * unit;
            let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.2}h-{width:.1}z");
        }
        let (colour, label) = (colour(record), escaped(label));
        let _ = writeln!(self.text, "<path d=\"{path}\" fill=\"{colour}\"><title>{label}</title></path>");
    }

    fn frame(&mut self, top: f64, height: f64, label: &str) {
        let y = MARGIN + top;
        let _ = writeln!(
            self.text,
            "<rect x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{height:.1}\" fill=\"none\" stroke=\"#999\">\
             <title>{}</title></rect>",
            escaped(label)
        );
    }

    fn line(&mut self, top: f64, label: &str) {
        let (y, right) = (MARGIN + top, MARGIN + WIDTH);
        let _ = writeln!(
            self.text,
            "<line x1=\"{MARGIN}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#c00\" \
             stroke-dasharray=\"5 3\"/>\
             <text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#c00\">{}</text>",
            y - 4.0,
            escaped(label)
        );
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

fn steps(records: &[UsageRecord]) -> usize {
    records.iter().map(|r| r.last + 1).max().unwrap_or(0)
}

/// Draws a layout: the regions one below the other. Each tensor is a rectangle from its first step to its last, as
/// high as the tensor is large.
///
/// ```
/// use texpool_plan::{Strategy, UsageRecord, plan_svg};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)];
/// let svg = plan_svg("Two tensors", &records, &Strategy::GreedyBySize.place(&records)?)?;
/// assert!(svg.starts_with("<svg"));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if the number of places in the layout differs from the number of records,
/// [`PlanError::Layout`] if the layout refers to a region that does not exist, and the errors of
/// [`operator_profiles`] if the steps are too many to draw.
pub fn plan_svg(title: &str, records: &[UsageRecord], layout: &Layout) -> Result<String, PlanError> {
    operator_profiles(records)?;
    if layout.places.len() != records.len() {
        return Err(
            InputError::LengthMismatch { what: "places", expected: records.len(), found: layout.places.len() }.into()
        );
    }
    let unit = HEIGHT / (layout.total().max(1) as f64);
    let mut canvas = Canvas::new(title, steps(records), layout.regions.len());
    let mut tops = Vec::with_capacity(layout.regions.len());
    let mut top = 0.0;
    for (region, &size) in layout.regions.iter().enumerate() {
        let height = size as f64 * unit;
        canvas.frame(top, height, &format!("region {region}: {size}"));
        tops.push(top + height);
        top += height + GAP;
    }
    for (record, (r, place)) in records.iter().zip(&layout.places).enumerate() {
        let (index, count) = (place.region, tops.len());
        let bottom = *tops.get(index).ok_or(LayoutError::OutOfRange { record, what: "region", index, count })?;
        let height = r.size as f64 * unit;
        let label = format!("tensor {record}: {}, steps {} to {}", r.size, r.first, r.last);
        canvas.tensor(record, (r.first, r.last), bottom - place.offset as f64 * unit - height, height, &label);
    }
    Ok(canvas.finish())
}

/// Draws an arena: each buffer at its offset, during the steps at which it needs bytes.
///
/// ```
/// use texpool_plan::{ArenaPlanner, Buffer, arena_svg};
///
/// let buffers = [Buffer::new(0..2, 8).named("features"), Buffer::new(1..3, 4).named("scores")];
/// let plan = ArenaPlanner::from_iter(buffers.clone()).plan()?;
/// assert!(arena_svg("Two buffers", &buffers, &plan)?.contains("features"));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// [`PlanError::Input`] if the number of offsets in the plan differs from the number of buffers, or if a buffer
/// contradicts itself.
pub fn arena_svg(title: &str, buffers: &[Buffer], plan: &ArenaPlan) -> Result<String, PlanError> {
    let (expected, found) = (buffers.len(), plan.offsets.len());
    if expected != found {
        return Err(InputError::LengthMismatch { what: "offsets", expected, found }.into());
    }
    let unit = HEIGHT / (plan.total.max(1) as f64);
    let steps = buffers.iter().map(|b| b.live.end).max().unwrap_or(0);
    let mut canvas = Canvas::new(title, steps, 1);
    canvas.frame(0.0, plan.total as f64 * unit, &format!("arena: {}", plan.total));
    for (buffer, (b, &offset)) in buffers.iter().zip(&plan.offsets).enumerate() {
        if let Some((_, why)) = b.contradiction() {
            return Err(InputError::BadBuffer { buffer, name: b.name.clone(), why }.into());
        }
        let label = format!("buffer {buffer} {}: {}, steps {} to {}", b.name, b.size, b.live.start, b.live.end - 1);
        for Piece { steps, bytes } in pieces(b) {
            let top = plan.total.saturating_sub(offset.saturating_add(bytes.end)) as f64 * unit;
            let height = (bytes.end - bytes.start) as f64 * unit;
            canvas.tensor(buffer, (steps.start, steps.end - 1), top, height, &label);
        }
    }
    Ok(canvas.finish())
}

/// Draws the operator profiles: for each step the tensors that are alive, the largest at the bottom. A line marks the
/// largest breadth, which is a lower bound on the size of an arena.
///
/// ```
/// use texpool_plan::{UsageRecord, profile_svg};
///
/// let svg = profile_svg("Two tensors", &[UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)])?;
/// assert!(svg.contains("widest step: 12"));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// The errors of [`operator_profiles`].
pub fn profile_svg(title: &str, records: &[UsageRecord]) -> Result<String, PlanError> {
    let profiles = operator_profiles(records)?;
    let breadth = |profile: &Vec<usize>| profile.iter().map(|&i| records[i].size as f64).sum::<f64>();
    let widest = profiles.iter().map(breadth).fold(1.0, f64::max);
    let unit = HEIGHT / widest;
    let mut canvas = Canvas::new(title, profiles.len(), 1);
    canvas.frame(0.0, HEIGHT, "profiles");
    for (step, profile) in profiles.iter().enumerate() {
        let mut base = HEIGHT;
        for &record in profile {
            let height = records[record].size as f64 * unit;
            base -= height;
            let label = format!("step {step}, tensor {record}: {}", records[record].size);
            canvas.tensor(record, (step, step), base, height, &label);
        }
    }
    canvas.line(0.0, &format!("widest step: {widest:.0}"));
    Ok(canvas.finish())
}

/// Draws a plan: the textures one below the other, each with the rows of its tensors. `names` are the names of the
/// records. `steps` are the rows that each step reads and writes, from which the live range of each row follows.
/// [`place_rows`](super::place_rows) has an example.
///
/// # Errors
/// [`PlanError::Input`] if the number of placements in the plan differs from the number of records,
/// [`PlanError::Layout`] if the plan refers to a texture that does not exist, and the errors of [`row_live_ranges`].
pub fn pool_svg(
    title: &str,
    names: &[String],
    tensors: &[TensorRows],
    steps: &[RowStep],
    plan: &Plan,
) -> Result<String, PlanError> {
    for (what, found) in [("placements", plan.placements.len()), ("names", names.len())] {
        if found != tensors.len() {
            return Err(InputError::LengthMismatch { what, expected: tensors.len(), found }.into());
        }
    }
    let texels: Vec<u64> = plan.textures.iter().map(|spec| u64::from(spec.width) * u64::from(spec.height)).collect();
    let unit = HEIGHT / texels.iter().sum::<u64>().max(1) as f64;
    let mut canvas = Canvas::new(title, steps.len(), texels.len());
    let mut bottoms = Vec::with_capacity(texels.len());
    let mut top = 0.0;
    for (texture, (spec, &size)) in plan.textures.iter().zip(&texels).enumerate() {
        let height = size as f64 * unit;
        canvas.frame(top, height, &format!("texture {texture}: {} x {} texels", spec.width, spec.height));
        bottoms.push(top + height);
        top += height + GAP;
    }
    for (record, live_ranges) in row_live_ranges(tensors, steps)?.into_iter().enumerate() {
        let placement = &plan.placements[record];
        let (index, count) = (placement.texture, bottoms.len());
        let bottom = *bottoms.get(index).ok_or(LayoutError::OutOfRange { record, what: "texture", index, count })?;
        let row_texels = tensors[record].row_texels;
        let mut runs: Vec<(Range<u32>, LiveRange)> = Vec::new();
        for (start, life) in placement.rows.starts().zip(live_ranges) {
            let Some(life) = life else { continue };
            match runs.last_mut() {
                Some((texels, other)) if *other == life && texels.end == start => texels.end += row_texels,
                _ => runs.push((start..start + row_texels, life)),
            }
        }
        let label = format!("{}: {} rows of {row_texels} texels", names[record], tensors[record].rows);
        canvas.rows(record, &runs, (bottom, unit), &label);
    }
    Ok(canvas.finish())
}
