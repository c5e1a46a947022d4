//! Sizes known late, and pools shared by several models.

use proptest::prelude::*;
use texpool::plan::{
    Budget, PlanError, SearchControl, Strategy, UsageRecord, best, check_layout, dynamic_objects, dynamic_offsets,
    share, uses_from_records,
};

use crate::data::usage_record_sets;

#[test]
fn known_at_the_start_is_greedy_by_size() {
    for (instance, records) in usage_record_sets() {
        let start = vec![0; records.len()];
        let objects = dynamic_objects(&records, &start).unwrap();
        assert_eq!(objects, Strategy::GreedyBySize.place(&records).unwrap(), "{}", instance["name"]);
        let arena = dynamic_offsets(&records, &start).unwrap();
        assert_eq!(arena, Strategy::OffsetsGreedyBySize.place(&records).unwrap(), "{}", instance["name"]);
    }
}

#[test]
fn a_size_known_after_birth_is_refused() {
    let records = [UsageRecord::new(2, 3, 1)];
    assert_eq!(dynamic_objects(&records, &[3]), Err(PlanError::KnownTooLate { record: 0, known_at: 3, first: 2 }));
    assert!(matches!(dynamic_offsets(&records, &[]), Err(PlanError::LengthMismatch { found: 0, .. })));
}

proptest! {
    /// Whatever comes late moves nothing that was placed before.
    #[test]
    fn late_sizes_move_nothing_placed_before(
        records in prop::collection::vec((0usize..20, 0usize..8, 1u64..12, 0usize..20), 1..30),
        late in 1u64..30,
    ) {
        let known: Vec<usize> = records.iter().map(|r| r.3.min(r.0)).collect();
        let of = |late: u64| -> Vec<UsageRecord> {
            let size = |i: usize| if known[i] > 5 { records[i].2 + late } else { records[i].2 };
            let record = |(i, r): (usize, &(usize, usize, u64, usize))| UsageRecord::new(r.0, r.0 + r.1, size(i));
            records.iter().enumerate().map(record).collect()
        };
        for plan in [dynamic_objects, dynamic_offsets] {
            let (before, after) = (plan(&of(0), &known).unwrap(), plan(&of(late), &known).unwrap());
            prop_assert_eq!(check_layout(&of(late), &[], &after), Ok(()));
            for i in (0..records.len()).filter(|&i| known[i] <= 5) {
                prop_assert_eq!(before.places[i], after.places[i]);
            }
        }
    }
}

#[test]
fn models_share_one_pool() {
    let sets = usage_record_sets();
    let models: Vec<&Vec<UsageRecord>> = sets.iter().take(4).map(|(_, records)| records).collect();
    let plan = |records: &&Vec<UsageRecord>| {
        best(records, &uses_from_records(records).unwrap(), Budget { nodes: 10, moves: 20_000 }, &SearchControl::new())
            .unwrap()
            .layout
    };
    let layouts: Vec<_> = models.iter().map(plan).collect();
    let pool = share(&layouts).unwrap();
    let (most, sum) = (layouts.iter().map(|l| l.total()).max().unwrap(), layouts.iter().map(|l| l.total()).sum());
    assert!((most..sum).contains(&pool.total()), "{} of {most} to {sum}", pool.total());
    for (records, layout) in models.iter().zip(&pool.layouts) {
        assert_eq!(layout.regions, pool.regions);
        assert_eq!(check_layout(records, &uses_from_records(records).unwrap(), layout), Ok(()));
    }
    let alone = share(&layouts[..1]).unwrap();
    assert_eq!(alone.total(), layouts[0].total());
}
