//! The independent checker: verifies that a layout or plan follows the rules, using only the records.
//!
//! Shares no code with the strategies, and does not depend on how a plan was found.

use std::collections::BTreeMap;

use super::{
    error::{InputError, LayoutError, PlanError},
    layout::{Layout, LayoutKind},
    placement::{Plan, RowTable},
    realize::{TensorRows, TextureLimits},
    record::UsageRecord,
    uses::Uses,
};

/// A range of units that a record uses while it is alive.
struct UnitRange {
    record: usize,
    region: usize,
    start: u64,
    end: u64,
}

/// Checks a layout: every record lies inside its region, no two records that are alive at once overlap, and the
/// layout follows the rules of its kind. If regions become textures, no step may read and write the same one.
///
/// # Errors
/// The first broken rule, with records, step and region.
///
/// ```
/// use texpool_plan::{Layout, LayoutError, LayoutKind, Place, PlanError, UsageRecord, Uses, check_layout};
///
/// let records = [UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)];
/// let places = vec![Place { region: 0, offset: 0 }, Place { region: 0, offset: 8 }];
/// let arena = Layout { problem: LayoutKind::Offsets, regions: vec![12], places };
/// assert_eq!(check_layout(&records, Uses::FirstAndLast, &arena), Ok(()));
/// // As a bank it would be read and written by step 1.
/// let bank = Layout { problem: LayoutKind::Banks, ..arena };
/// let refused = check_layout(&records, Uses::FirstAndLast, &bank);
/// assert!(matches!(refused, Err(PlanError::Layout(LayoutError::ReadsAndWrites { step: 1, read: 0, write: 1, .. }))));
/// ```
pub fn check_layout<'a>(records: &[UsageRecord], uses: impl Into<Uses<'a>>, layout: &Layout) -> Result<(), PlanError> {
    check_records(records)?;
    check_length("places", records.len(), layout.places.len())?;
    let kind = layout.problem.name();
    if layout.problem == LayoutKind::Offsets && layout.regions.len() > 1 {
        let why = format!("one arena, not {}", layout.regions.len());
        return Err(LayoutError::InvalidForKind { kind, why }.into());
    }
    let mut ranges = Vec::with_capacity(records.len());
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
                return Err(LayoutError::InvalidForKind { kind, why }.into());
            }
            // The record occupies the whole object, whatever its size.
            LayoutKind::SharedObjects => (0, u64::MAX),
            LayoutKind::Offsets | LayoutKind::Banks | LayoutKind::Rows => (place.offset, place.offset + r.size),
        };
        ranges.push(UnitRange { record, region: place.region, start, end });
    }
    if layout.regions.iter().try_fold(0u64, |sum, &size| sum.checked_add(size)).is_none() {
        let why = "the regions add up to more than 64 bits hold".to_owned();
        return Err(LayoutError::InvalidForKind { kind, why }.into());
    }
    no_overlap(records, ranges)?;
    let exclusive = layout.problem != LayoutKind::Offsets;
    check_uses(records, uses.into(), |record| exclusive.then(|| layout.places[record].region))
}

/// Checks a plan: every texture is allowed by the device, each record has a placement, every row lies inside its
/// texture, no two tensors that are alive at once overlap, and no step reads and writes the same texture.
/// [`realize`](super::realize()) has an example.
///
/// All rows of a tensor count as alive as long as the tensor. For plans whose rows die one by one, use
/// [`check_rows`](super::check_rows).
///
/// # Errors
/// The first broken rule, with records, step and texture.
pub fn check<'a>(
    records: &[UsageRecord],
    tensors: &[TensorRows],
    uses: impl Into<Uses<'a>>,
    plan: &Plan,
    limits: TextureLimits,
) -> Result<(), PlanError> {
    check_records(records)?;
    check_length("tensors", records.len(), tensors.len())?;
    check_length("placements", records.len(), plan.placements.len())?;
    for (texture, spec) in plan.textures.iter().enumerate() {
        let (width, height) = (spec.width, spec.height);
        let why = if !width.is_power_of_two() {
            "the width is not a power of two"
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
    let mut ranges = Vec::with_capacity(records.len());
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
        for (start, end) in texel_ranges(&p.rows, record, p.texture)? {
            if end > size {
                return Err(LayoutError::OutOfRegion { record, region: p.texture, end: end.into(), size }.into());
            }
            let (start, end) = if plan.problem == LayoutKind::SharedObjects { (0, u64::MAX) } else { (start, end) };
            ranges.push(UnitRange { record, region: p.texture, start, end });
            if plan.problem == LayoutKind::SharedObjects {
                break;
            }
        }
    }
    no_overlap(records, ranges)?;
    check_uses(records, uses.into(), |record| Some(plan.placements[record].texture))
}

/// Returns the texel ranges of a tensor whose rows are all alive at once, so that they must not overlap each other.
fn texel_ranges(table: &RowTable, record: usize, texture: usize) -> Result<Vec<(u64, u64)>, PlanError> {
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
            let mut ranges: Vec<(u64, u64)> = row_starts.iter().map(|&s| (s.into(), u64::from(s) + length)).collect();
            ranges.sort_unstable();
            if ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
                return Err(LayoutError::RowsOverlap { record, texture }.into());
            }
            Ok(ranges)
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

fn check_length(what: &'static str, expected: usize, length: usize) -> Result<(), PlanError> {
    if expected == length {
        Ok(())
    } else {
        Err(PlanError::Input(InputError::LengthMismatch { what, expected, found: length }))
    }
}

/// Checks that no two ranges overlap in time and memory. It sweeps over the steps, keeps the live ranges sorted by
/// region and start, and compares a new range only with its neighbours.
fn no_overlap(records: &[UsageRecord], mut ranges: Vec<UnitRange>) -> Result<(), PlanError> {
    ranges.retain(|s| s.start < s.end);
    // By first step; equal steps stay in the order of records.
    ranges.sort_by_cached_key(|s| records[s.record].first);
    let mut deaths: Vec<(usize, usize)> =
        ranges.iter().enumerate().map(|(at, s)| (records[s.record].last, at)).collect();
    deaths.sort_unstable();
    let mut live: BTreeMap<(usize, u64), &UnitRange> = BTreeMap::new();
    let mut deaths = deaths.into_iter().peekable();
    for range in &ranges {
        let step = records[range.record].first;
        while let Some((_, dead)) = deaths.next_if(|&(last, _)| last < step) {
            live.remove(&(ranges[dead].region, ranges[dead].start));
        }
        let below = live.range(..=(range.region, range.start)).next_back().map(|(_, &s)| s);
        let above = live.range((range.region, range.start)..).next().map(|(_, &s)| s);
        let overlaps =
            |other: &&UnitRange| other.region == range.region && other.start < range.end && range.start < other.end;
        if let Some(other) = below.filter(overlaps).or(above.filter(overlaps)) {
            return Err(LayoutError::Overlap { a: other.record, b: range.record, step, region: range.region }.into());
        }
        live.insert((range.region, range.start), range);
    }
    Ok(())
}

/// Checks that each step uses records only while they are alive, and does not write to a texture that it reads.
/// `texture` returns the texture of a record, or `None` if the rule does not apply.
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
