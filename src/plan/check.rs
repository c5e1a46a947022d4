//! The independent checker: what a layout or plan must keep, told from the records alone.
//!
//! Shares no code with the strategies and must never learn how a plan was found.

use std::collections::BTreeMap;

use super::{
    error::{InputError, LayoutError, PlanError},
    layout::{Layout, LayoutKind},
    placement::{Plan, RowTable},
    realize::{TensorRows, TextureLimits},
    record::UsageRecord,
    uses::Uses,
};

/// A run of units that a record holds while it lives.
struct Span {
    record: usize,
    region: usize,
    start: u64,
    end: u64,
}

/// Checks a layout: everything inside its region, nothing alive on top of each other, the rules of its problem, and
/// for regions that are to be textures no step that reads and writes the same one.
///
/// # Errors
/// The first rule that is broken, naming records, step and region.
pub fn check_layout<'a>(records: &[UsageRecord], uses: impl Into<Uses<'a>>, layout: &Layout) -> Result<(), PlanError> {
    check_records(records)?;
    count("places", records.len(), layout.places.len())?;
    let problem = layout.problem.name();
    if layout.problem == LayoutKind::Offsets && layout.regions.len() > 1 {
        let why = format!("one arena, not {}", layout.regions.len());
        return Err(LayoutError::Shape { problem, why }.into());
    }
    let mut spans = Vec::with_capacity(records.len());
    for (record, (r, place)) in records.iter().zip(&layout.places).enumerate() {
        let Some(&size) = layout.regions.get(place.region) else {
            let count = layout.regions.len();
            return Err(LayoutError::OutOfRange { record, what: "region", index: place.region, count }.into());
        };
        let end = u128::from(place.offset) + u128::from(r.size);
        if end > u128::from(size) {
            return Err(LayoutError::OutOfRegion { record, region: place.region, end, size }.into());
        }
        let (start, end) = match layout.problem {
            LayoutKind::SharedObjects if place.offset != 0 => {
                let why = format!("record {record} lies at offset {} of an object", place.offset);
                return Err(LayoutError::Shape { problem, why }.into());
            }
            LayoutKind::SharedObjects => (0, u64::MAX),
            LayoutKind::Offsets | LayoutKind::Banks | LayoutKind::Rows => (place.offset, place.offset + r.size),
        };
        spans.push(Span { record, region: place.region, start, end });
    }
    if layout.regions.iter().try_fold(0u64, |sum, &size| sum.checked_add(size)).is_none() {
        return Err(
            LayoutError::Shape { problem, why: "the regions add up to more than 64 bits hold".to_owned() }.into()
        );
    }
    no_overlap(records, spans)?;
    let exclusive = layout.problem != LayoutKind::Offsets;
    check_uses(records, uses.into(), |record| exclusive.then(|| layout.places[record].region))
}

/// Checks a plan, texel by texel: textures the device allows, a placement a record, every row inside its texture,
/// nothing alive on top of each other, and no step that reads and writes the same texture.
///
/// A tensor is taken to be alive as a whole; [`check_rows`](super::check_rows) knows of rows that die one by one.
///
/// # Errors
/// The first rule that is broken, naming records, step and texture.
pub fn check<'a>(
    records: &[UsageRecord],
    tensors: &[TensorRows],
    uses: impl Into<Uses<'a>>,
    plan: &Plan,
    limits: TextureLimits,
) -> Result<(), PlanError> {
    check_records(records)?;
    count("tensors", records.len(), tensors.len())?;
    count("placements", records.len(), plan.placements.len())?;
    for (texture, spec) in plan.textures.iter().enumerate() {
        let (width, height) = (spec.width, spec.height);
        let why = if !width.is_power_of_two() {
            "the width is no power of two"
        } else if height == 0 {
            "it has no rows"
        } else if width > limits.max_extent || height > limits.max_extent {
            "an extent is above the device's limit"
        } else if u64::from(width) * u64::from(height) > 1 << 32 {
            "it has more texels than 32 bits count"
        } else {
            continue;
        };
        return Err(LayoutError::BadTexture { texture, width, height, why }.into());
    }
    let mut spans = Vec::with_capacity(records.len());
    for (record, (r, p)) in records.iter().zip(&plan.placements).enumerate() {
        let t = &tensors[record];
        let why = if p.record != record {
            "it names another record"
        } else if (p.first, p.last) != (r.first, r.last) {
            "its interval is another"
        } else if (p.rows.rows(), p.rows.row_texels()) != (t.rows, t.row_texels) {
            "its rows are not the tensor's"
        } else if u64::from(t.rows) * u64::from(t.row_texels) != r.size {
            "its texels are not the record's size"
        } else {
            ""
        };
        if !why.is_empty() {
            return Err(LayoutError::WrongPlacement { placement: record, why }.into());
        }
        let Some(spec) = plan.textures.get(p.texture) else {
            let count = plan.textures.len();
            return Err(LayoutError::OutOfRange { record, what: "texture", index: p.texture, count }.into());
        };
        let size = u64::from(spec.width) * u64::from(spec.height);
        for (start, end) in runs(&p.rows, record, p.texture)? {
            if end > size {
                return Err(LayoutError::OutOfRegion { record, region: p.texture, end: end.into(), size }.into());
            }
            let (start, end) = if plan.problem == LayoutKind::SharedObjects { (0, u64::MAX) } else { (start, end) };
            spans.push(Span { record, region: p.texture, start, end });
            if plan.problem == LayoutKind::SharedObjects {
                break;
            }
        }
    }
    no_overlap(records, spans)?;
    check_uses(records, uses.into(), |record| Some(plan.placements[record].texture))
}

/// The texel runs of a tensor that is held whole while it lives, so no row may lie on another.
fn runs(table: &RowTable, record: usize, texture: usize) -> Result<Vec<(u64, u64)>, PlanError> {
    let length = u64::from(table.row_texels());
    match table {
        RowTable::Ring { rows, ring, .. } if ring < rows => {
            Err(PlanError::Layout(LayoutError::RowsOverlap { record, texture }))
        }
        RowTable::Whole { base, rows, .. } | RowTable::Ring { base, rows, .. } => {
            let base = u64::from(*base);
            Ok(vec![(base, base + u64::from(*rows) * length)])
        }
        RowTable::Scattered { row_starts, .. } => {
            let mut runs: Vec<(u64, u64)> = row_starts.iter().map(|&s| (s.into(), u64::from(s) + length)).collect();
            runs.sort_unstable();
            if runs.windows(2).any(|pair| pair[1].0 < pair[0].1) {
                return Err(LayoutError::RowsOverlap { record, texture }.into());
            }
            Ok(runs)
        }
    }
}

fn check_records(records: &[UsageRecord]) -> Result<(), PlanError> {
    match records.iter().position(|r| r.first > r.last) {
        Some(record) => {
            let UsageRecord { first, last, .. } = records[record];
            Err(PlanError::Input(InputError::ReversedInterval { record, first, last }))
        }
        None => Ok(()),
    }
}

fn count(what: &'static str, expected: usize, found: usize) -> Result<(), PlanError> {
    if expected == found { Ok(()) } else { Err(PlanError::Input(InputError::LengthMismatch { what, expected, found })) }
}

/// Sweeps the steps with the set of live runs of each region: a newcomer may touch neither neighbour.
fn no_overlap(records: &[UsageRecord], mut spans: Vec<Span>) -> Result<(), PlanError> {
    spans.retain(|s| s.start < s.end);
    // By birth, then as they came.
    spans.sort_by_cached_key(|s| records[s.record].first);
    let mut deaths: Vec<(usize, usize)> =
        spans.iter().enumerate().map(|(at, s)| (records[s.record].last, at)).collect();
    deaths.sort_unstable();
    let mut live: BTreeMap<(usize, u64), &Span> = BTreeMap::new();
    let mut deaths = deaths.into_iter().peekable();
    for span in &spans {
        let step = records[span.record].first;
        while let Some((_, dead)) = deaths.next_if(|&(last, _)| last < step) {
            live.remove(&(spans[dead].region, spans[dead].start));
        }
        let below = live.range(..=(span.region, span.start)).next_back().map(|(_, &s)| s);
        let above = live.range((span.region, span.start)..).next().map(|(_, &s)| s);
        let hit = |other: &&Span| other.region == span.region && other.start < span.end && span.start < other.end;
        if let Some(other) = below.filter(hit).or(above.filter(hit)) {
            return Err(LayoutError::Overlap { a: other.record, b: span.record, step, region: span.region }.into());
        }
        live.insert((span.region, span.start), span);
    }
    Ok(())
}

/// Every use inside its record's life, and where `texture` names one, none both read and written in a step.
fn check_uses(
    records: &[UsageRecord],
    uses: Uses<'_>,
    texture: impl Fn(usize) -> Option<usize>,
) -> Result<(), PlanError> {
    let mut read_from: Vec<usize> = Vec::new();
    uses.each(records, |step, reads, writes| {
        for &record in reads.iter().chain(writes) {
            let (first, last) = records.get(record).map_or((0, 0), |r| (r.first, r.last));
            if record >= records.len() || step < first || step > last {
                return Err(InputError::UseOutsideLife { step, record, first, last }.into());
            }
        }
        read_from.clear();
        read_from.extend(reads.iter().filter_map(|&read| texture(read)));
        read_from.sort_unstable();
        for &write in writes {
            let Some(region) = texture(write).filter(|region| read_from.binary_search(region).is_ok()) else {
                continue;
            };
            if let Some(&read) = reads.iter().find(|&&read| texture(read) == Some(region)) {
                return Err(LayoutError::ReadsAndWrites { step, read, write, region }.into());
            }
        }
        Ok(())
    })
}
