//! Layouts of one arena: from shared objects, and from offsets.

use crate::plan::{
    layout::{Layout, LayoutKind, Place},
    record::UsageRecord,
};

/// Shared objects laid back to back in one arena (Pisarchyk and Lee 2020, section 5).
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

/// Tensors in one arena; those that have no offset lie above all others, one after another. The sizes must add up.
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
