//! Pictures of plans as SVG: time runs from left to right, memory upwards, and each tensor is a rectangle. The
//! guide's pictures are made with it.

use std::{collections::BTreeMap, ops::Range};

use super::{
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
    let shapes = "a tensor that is alive at a step, as high as it is large; colours only tell tensors apart";
    let mut canvas = Canvas::new(title, profiles.len(), 1, shapes);
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
    canvas.line(0.0, &format!("widest step: {widest:.0}"));
    Ok(canvas.finish())
}

/// Formats bytes in KiB, rounded up.
fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
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
    for (what, length) in [("placements", plan.placements.len()), ("names", names.len())] {
        if length != tensors.len() {
            return Err(InputError::LengthMismatch { what, expected: tensors.len(), found: length }.into());
        }
    }
    let texels: Vec<u64> = plan.textures.iter().map(|spec| u64::from(spec.width) * u64::from(spec.height)).collect();
    let unit = HEIGHT / texels.iter().sum::<u64>().max(1) as f64;
    let shapes =
        "rows of a tensor, while they are alive, where they lie in the texture; colours only tell tensors apart";
    let mut canvas = Canvas::new(title, steps.len(), texels.len(), shapes);
    let mut bottoms = Vec::with_capacity(texels.len());
    let mut top = 0.0;
    for (texture, (spec, &size)) in plan.textures.iter().zip(&texels).enumerate() {
        let height = size as f64 * unit;
        let (extent, size) = (format!("{} x {} texels", spec.width, spec.height), kib(spec.bytes()));
        canvas.frame(top, height, &[format!("texture {texture}"), extent, size]);
        bottoms.push(top + height);
        top += height + GAP;
    }
    let mut lives = Vec::new();
    for (record, live_ranges) in row_live_ranges(tensors, steps)?.into_iter().enumerate() {
        let placement = &plan.placements[record];
        let (index, count) = (placement.texture, bottoms.len());
        let bottom = *bottoms.get(index).ok_or(LayoutError::OutOfRange { record, what: "texture", index, count })?;
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
    let texel_bytes = plan.textures.first().map_or(0, |spec| spec.format.texel_bytes());
    let (step, alive) = peak_of(lives);
    canvas.peak(step, &kib(alive * texel_bytes));
    Ok(canvas.finish())
}
