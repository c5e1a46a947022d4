//! Pictures of plans as SVG: time runs from left to right, memory upwards, and each tensor is a rectangle. The
//! guide's pictures are made with it.

use std::{collections::BTreeMap, ops::Range};

use super::{
    bounds::{Bounds, bounds},
    buffers::{ArenaPlan, Buffer, Piece, pieces},
    canvas::{Canvas, GAP, HEIGHT},
    error::{InputError, LayoutError, PlanError},
    layout::Layout,
    placement::Plan,
    profile::operator_profiles,
    realize::TensorRows,
    record::UsageRecord,
    rows::{LiveRange, RowStep, row_live_ranges},
};

fn steps(records: &[UsageRecord]) -> usize {
    records.iter().map(|r| r.last + 1).max().unwrap_or(0)
}

/// Returns the first step at which most is alive, and how much. Lives are a first step, a last one, and a size.
fn peak_of(lives: impl IntoIterator<Item = (usize, usize, u64)>) -> (usize, u64) {
    // A map, because steps may be far apart.
    let mut changes: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (first, last, size) in lives {
        let born = &mut changes.entry(first).or_default().0;
        *born = born.saturating_add(size);
        let gone = &mut changes.entry(last + 1).or_default().1;
        *gone = gone.saturating_add(size);
    }
    let (mut alive, mut peak) = (0u64, (0, 0));
    for (step, (born, gone)) in changes {
        alive = alive.saturating_sub(gone).saturating_add(born);
        if alive > peak.1 {
            peak = (step, alive);
        }
    }
    peak
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
    let shapes = "a tensor, from its first step to its last, as high as it is large; colours only tell tensors apart";
    let mut canvas = Canvas::new(title, steps(records), layout.regions.len(), shapes);
    let mut tops = Vec::with_capacity(layout.regions.len());
    let mut top = 0.0;
    for (region, &size) in layout.regions.iter().enumerate() {
        let height = size as f64 * unit;
        canvas.frame(top, height, &[format!("region {region}"), format!("size {size}")]);
        tops.push(top + height);
        top += height + GAP;
    }
    for (record, (r, place)) in records.iter().zip(&layout.places).enumerate() {
        let (index, count) = (place.region, tops.len());
        let bottom = *tops.get(index).ok_or(LayoutError::OutOfRange { record, what: "region", index, count })?;
        let height = r.size as f64 * unit;
        let label = format!("tensor {record}: {}, steps {} to {}", r.size, r.first, r.last);
        canvas.tensor(record, (r.first, r.last), (bottom - place.offset as f64 * unit - height, height), "", &label);
    }
    let (step, alive) = peak_of(records.iter().map(|r| (r.first, r.last, r.size)));
    canvas.peak(step, &alive.to_string());
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
    let (expected, length) = (buffers.len(), plan.offsets.len());
    if expected != length {
        return Err(InputError::LengthMismatch { what: "offsets", expected, found: length }.into());
    }
    let unit = HEIGHT / (plan.total.max(1) as f64);
    let steps = buffers.iter().map(|b| b.live.end).max().unwrap_or(0);
    let shapes = "a buffer at its offset, while it needs the bytes; colours only tell buffers apart";
    let mut canvas = Canvas::new(title, steps, 1, shapes);
    canvas.frame(0.0, plan.total as f64 * unit, &["arena".to_owned(), format!("size {}", plan.total)]);
    let mut lives = Vec::new();
    for (buffer, (b, &offset)) in buffers.iter().zip(&plan.offsets).enumerate() {
        if let Some((_, why)) = b.contradiction() {
            return Err(InputError::BadBuffer { buffer, name: b.name.clone(), why }.into());
        }
        let label = format!("buffer {buffer} {}: {}, steps {} to {}", b.name, b.size, b.live.start, b.live.end - 1);
        for Piece { steps, bytes } in pieces(b) {
            let top = plan.total.saturating_sub(offset.saturating_add(bytes.end)) as f64 * unit;
            let height = (bytes.end - bytes.start) as f64 * unit;
            canvas.tensor(buffer, (steps.start, steps.end - 1), (top, height), &b.name, &label);
            lives.push((steps.start, steps.end - 1, bytes.end - bytes.start));
        }
    }
    let (step, alive) = peak_of(lives);
    canvas.peak(step, &alive.to_string());
    Ok(canvas.finish())
}

/// Draws the operator profiles: for each step the tensors that are alive, the largest at the bottom. A line marks the
/// largest breadth, which is a lower bound on the size of an arena. A column after the last step has the positional
/// maximums, whose sum is a lower bound on Shared Objects plans (Pisarchyk and Lee 2020, Figure 2).
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
/// The errors of [`operator_profiles`] and of [`bounds`](bounds()).
pub fn profile_svg(title: &str, records: &[UsageRecord]) -> Result<String, PlanError> {
    let profiles = operator_profiles(records)?;
    let Bounds { offsets, shared_objects, positional_maximums, .. } = bounds(records)?;
    let unit = HEIGHT / (shared_objects.max(1) as f64);
    let shapes = "a tensor that is alive at a step, as high as it is large; colours only tell tensors apart";
    let mut canvas = Canvas::sized(title, (profiles.len(), AFTER_PROFILES), HEIGHT, shapes);
    canvas.frame(0.0, HEIGHT, &["alive".to_owned()]);
    for (step, profile) in profiles.iter().enumerate() {
        let mut base = HEIGHT;
        for &record in profile {
            let height = records[record].size as f64 * unit;
            base -= height;
            let label = format!("step {step}, tensor {record}: {}", records[record].size);
            canvas.tensor(record, (step, step), (base, height), "", &label);
        }
    }
    let column = profiles.len() + AFTER_PROFILES - 1;
    let mut base = HEIGHT;
    for (index, &size) in positional_maximums.iter().enumerate() {
        let height = size as f64 * unit;
        base -= height;
        let label = format!("positional maximum {}: {size}, sum of all {shared_objects}", index + 1);
        canvas.bound(column, (base, height), &label);
    }
    canvas.line(HEIGHT - offsets as f64 * unit, &format!("widest step: {offsets}"));
    Ok(canvas.finish())
}

/// Columns after the last step: an empty one, and the positional maximums.
const AFTER_PROFILES: usize = 2;

/// Formats bytes in KiB, rounded up.
fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

/// A plan to draw, with the tensors that it places.
#[derive(Clone, Copy, Debug)]
pub struct PoolDrawing<'a> {
    /// Line above the plan, if it is not the only one of the picture.
    pub heading: &'a str,
    /// Names of the records.
    pub names: &'a [String],
    /// The tensors.
    pub tensors: &'a [TensorRows],
    /// The rows that each step reads and writes, from which the live range of each row follows.
    pub steps: &'a [RowStep],
    /// The plan.
    pub plan: &'a Plan,
}

/// Live ranges of rows: first step, last step, texels.
type Lives = Vec<(usize, usize, u64)>;

/// Description of the shapes in a picture of a plan.
const ROWS: &str =
    "rows of a tensor, while they are alive, where they lie in the texture; colours only tell tensors apart";

/// Height of a line above a plan in a picture of several.
const HEADING: f64 = 26.0;

impl PoolDrawing<'_> {
    /// Returns the texels of each texture.
    fn texels(&self) -> Vec<u64> {
        self.plan.textures.iter().map(|spec| u64::from(spec.width) * u64::from(spec.height)).collect()
    }

    /// Returns the height of the plan at `unit` pixels per texel, with `gap` pixels between textures.
    fn height(&self, unit: f64, gap: f64) -> f64 {
        let texels = self.texels();
        texels.iter().sum::<u64>() as f64 * unit + gap * texels.len().saturating_sub(1) as f64
    }

    /// Draws the textures from `top` downwards, and returns the live ranges of all rows.
    fn draw(&self, canvas: &mut Canvas, mut top: f64, unit: f64, gap: f64) -> Result<Lives, PlanError> {
        let &Self { names, tensors, steps, plan, .. } = self;
        for (what, length) in [("placements", plan.placements.len()), ("names", names.len())] {
            if length != tensors.len() {
                return Err(InputError::LengthMismatch { what, expected: tensors.len(), found: length }.into());
            }
        }
        let texels = self.texels();
        let mut bottoms = Vec::with_capacity(texels.len());
        for (texture, (spec, &size)) in plan.textures.iter().zip(&texels).enumerate() {
            let height = size as f64 * unit;
            let (extent, size) = (format!("{} x {} texels", spec.width, spec.height), kib(spec.bytes()));
            canvas.frame(top, height, &[format!("texture {texture}"), extent, size]);
            bottoms.push(top + height);
            top += height + gap;
        }
        let mut lives = Vec::new();
        for (record, live_ranges) in row_live_ranges(tensors, steps)?.into_iter().enumerate() {
            let placement = &plan.placements[record];
            let (index, count) = (placement.texture, bottoms.len());
            let bottom =
                *bottoms.get(index).ok_or(LayoutError::OutOfRange { record, what: "texture", index, count })?;
            let row_texels = tensors[record].row_texels;
            let mut runs: Vec<(Range<u32>, LiveRange)> = Vec::new();
            for (start, life) in placement.rows.starts().zip(live_ranges) {
                let Some(life) = life else { continue };
                lives.push((life.first, life.last, u64::from(row_texels)));
                match runs.last_mut() {
                    Some((texels, other)) if *other == life && texels.end == start => texels.end += row_texels,
                    _ => runs.push((start..start + row_texels, life)),
                }
            }
            let label = format!("{}: {} rows of {row_texels} texels", names[record], tensors[record].rows);
            canvas.rows(record, &runs, (bottom, unit), (&names[record], &label));
        }
        Ok(lives)
    }

    /// Marks the step at which most bytes are alive.
    fn mark_peak(&self, canvas: &mut Canvas, lives: Lives) {
        let texel_bytes = self.plan.textures.first().map_or(0, |spec| spec.format.texel_bytes());
        let (step, alive) = peak_of(lives);
        canvas.peak(step, &kib(alive * texel_bytes));
    }
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
    let drawing = PoolDrawing { heading: "", names, tensors, steps, plan };
    let texels = drawing.texels();
    let unit = HEIGHT / texels.iter().sum::<u64>().max(1) as f64;
    let mut canvas = Canvas::new(title, drawing.steps.len(), texels.len(), ROWS);
    let lives = drawing.draw(&mut canvas, 0.0, unit, GAP)?;
    drawing.mark_peak(&mut canvas, lives);
    Ok(canvas.finish())
}

/// Draws several plans of the same steps one below the other, at the same scale: equal areas are equally many bytes. The
/// peak is that of the first plan. [`place_rows`](super::place_rows) has an example.
///
/// # Errors
/// Those of [`pool_svg`].
pub fn pools_svg(title: &str, drawings: &[PoolDrawing<'_>]) -> Result<String, PlanError> {
    let largest = drawings.iter().map(|drawing| drawing.texels().iter().sum::<u64>()).max().unwrap_or(0);
    let unit = HEIGHT / largest.max(1) as f64;
    // Narrow, so that plans with many textures do not seem larger than they are.
    let textures = drawings.iter().map(|drawing| drawing.plan.textures.len()).max().unwrap_or(0);
    let gap = GAP.min(HEIGHT / 20.0 / textures.max(1) as f64);
    let height = drawings.iter().map(|drawing| HEADING + drawing.height(unit, gap)).sum();
    let steps = drawings.iter().map(|drawing| drawing.steps.len()).max().unwrap_or(0);
    let mut canvas = Canvas::sized(title, (steps, 0), height, ROWS);
    let mut top = 0.0;
    for (index, drawing) in drawings.iter().enumerate() {
        top += HEADING;
        canvas.heading(top, drawing.heading);
        let lives = drawing.draw(&mut canvas, top, unit, gap)?;
        if index == 0 {
            drawing.mark_peak(&mut canvas, lives);
        }
        top += drawing.height(unit, gap);
    }
    Ok(canvas.finish())
}
