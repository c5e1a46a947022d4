//! Planning in passes, as Pisarchyk and Lee propose for tensors whose sizes become known during inference: tensors of the
//! earlier passes stay where they are.

use texpool_plan::{ArenaPlan, ArenaPlanner, Buffer, UsageRecord};

use crate::data;

/// Plans records in one arena, of which some have an offset already.
fn plan(records: &[UsageRecord], offsets: &[Option<u64>]) -> ArenaPlan {
    let placed = records.iter().zip(offsets).map(|(&record, &offset)| {
        let buffer = Buffer::from(record);
        offset.map_or(buffer.clone(), |offset| buffer.fixed(offset))
    });
    ArenaPlanner::from_iter(placed).plan().unwrap()
}

/// Plans the records that begin before each of the steps, one pass after another, and returns the last plan.
fn in_passes(records: &[UsageRecord], steps: &[usize]) -> ArenaPlan {
    let mut offsets = vec![None; records.len()];
    let mut last = None;
    for &end in steps {
        let known: Vec<usize> = (0..records.len()).filter(|&record| records[record].first < end).collect();
        let of_known: Vec<UsageRecord> = known.iter().map(|&record| records[record]).collect();
        let earlier: Vec<Option<u64>> = known.iter().map(|&record| offsets[record]).collect();
        let found = plan(&of_known, &earlier);
        for (&record, &offset) in known.iter().zip(&found.offsets) {
            assert!(offsets[record].is_none_or(|before| before == offset), "record {record} has moved");
            offsets[record] = Some(offset);
        }
        last = Some(found);
    }
    last.unwrap()
}

#[test]
fn no_published_network_takes_more_in_passes() {
    for (instance, records) in data::usage_record_sets() {
        let end = records.iter().map(|record| record.last + 1).max().unwrap();
        let at_once = plan(&records, &vec![None; records.len()]);
        for steps in [&[end / 2, end][..], &[end / 4, end / 2, 3 * end / 4, end]] {
            let name = &instance["name"];
            assert_eq!(in_passes(&records, steps).total, at_once.total, "{name} in passes up to {steps:?}");
        }
    }
}
