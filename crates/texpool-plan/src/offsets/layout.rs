//! Creates layouts of one arena, from shared objects or from offsets.

use crate::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Lays shared objects back to back in one arena (Pisarchyk and Lee 2020, section 5).
///
/// ```
/// use texpool_plan::{Strategy, UsageRecord, offsets::back_to_back};
///
/// let objects = Strategy::GreedyBySize.place(&[UsageRecord::new(0, 1, 8), UsageRecord::new(1, 2, 4)])?;
/// let arena = back_to_back(&objects);
/// assert_eq!((arena.regions.as_slice(), arena.places[1].offset), (&[12][..], 8));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn back_to_back(objects: &Layout) -> Layout {
    let starts: Vec<u64> = objects
        .regions
        .iter()
        .scan(0u64, |next, size| {
            let start = *next;
            *next += size;
            Some(start)
        })
        .collect();
    let places = objects.places.iter().map(|p| Place { region: 0, offset: starts[p.region] + p.offset }).collect();
    let regions = if objects.regions.is_empty() { Vec::new() } else { vec![objects.total()] };
    Layout { problem: LayoutKind::Offsets, regions, places }
}

/// Returns the layout of tensors at offsets. Tensors without an offset are stacked on top. The sum of sizes must not
/// overflow.
pub(super) fn one_arena(records: &[UsageRecord], offsets: &[Option<u64>]) -> Layout {
    let end = |(record, offset): (&UsageRecord, &Option<u64>)| offset.map(|offset| offset + record.size);
    let mut top = records.iter().zip(offsets).filter_map(end).max().unwrap_or(0);
    let mut place = |(record, offset): (&UsageRecord, &Option<u64>)| {
        let offset = match *offset {
            Some(offset) => offset,
            None if record.size == 0 => 0,
            None => {
                top += record.size;
                top - record.size
            }
        };
        Place { region: 0, offset }
    };
    let places: Vec<Place> = records.iter().zip(offsets).map(&mut place).collect();
    let regions = if records.is_empty() { Vec::new() } else { vec![top] };
    Layout { problem: LayoutKind::Offsets, regions, places }
}
