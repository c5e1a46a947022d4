//! One arena: at the lower bound on every network, the hard public instances within their capacity, and brute force.

use proptest::prelude::*;
use texpool::plan::{
    UsageRecord, bounds, check_layout,
    control::SearchControl,
    offsets::{Fit, fit, micro_greedy, smallest},
};

use crate::data::{minimalloc, usage_record_sets};

#[test]
fn all_23_sets_reach_the_widest_step() {
    for (instance, records) in usage_record_sets() {
        let found = smallest(&records, 10_000, &SearchControl::new()).unwrap();
        assert_eq!(check_layout(&records, &[], &found.layout), Ok(()));
        assert_eq!(Some(found.layout.total()), instance["offsets_lower_bound"].as_u64(), "{}", instance["name"]);
    }
}

#[test]
fn hard_public_instances_fit_their_published_capacity() {
    for name in ["A", "B", "C", "D", "E", "F"] {
        let records = minimalloc(&format!("{name}.1048576"));
        let Fit::Fits(layout) = fit(&records, 1_048_576, 1_000_000, &SearchControl::new()).unwrap() else {
            panic!("{name}")
        };
        assert_eq!(check_layout(&records, &[], &layout), Ok(()), "{name}");
        assert!(layout.total() <= 1_048_576, "{name}");
    }
}

#[test]
fn the_published_example_is_tight() {
    let records = minimalloc("input.12");
    assert!(matches!(fit(&records, 12, 1000, &SearchControl::new()), Ok(Fit::Fits(_))));
    assert_eq!(fit(&records, 11, 1000, &SearchControl::new()), Ok(Fit::Impossible));
    let hard = minimalloc("A.1048576");
    assert_eq!(fit(&hard, 1_048_575, 1000, &SearchControl::new()), Ok(Fit::Impossible));
    assert_eq!(fit(&hard, 1_048_576, 10, &SearchControl::new()), Ok(Fit::Undecided));
}

/// Where each tensor goes if, from the largest to the smallest, the later of equals first, each takes the lowest gap
/// among all that it meets.
fn lowest_gaps(records: &[UsageRecord]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..records.len()).rev().collect();
    order.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
    let mut offsets = vec![0; records.len()];
    for (at, &record) in order.iter().enumerate() {
        let met = order[..at].iter().filter(|&&other| records[other].conflicts(&records[record]));
        let mut taken: Vec<(u64, u64)> = met.map(|&i| (offsets[i], offsets[i] + records[i].size)).collect();
        taken.sort_unstable();
        for (from, to) in taken {
            if from < offsets[record] + records[record].size {
                offsets[record] = offsets[record].max(to);
            }
        }
    }
    offsets
}

/// Lives that are mostly short, in a long time.
fn many() -> impl Strategy<Value = Vec<UsageRecord>> {
    let life = prop_oneof![9 => 0usize..9, 1 => 0usize..900];
    let record =
        (0usize..1_000, life, 1u64..20).prop_map(|(first, life, size)| UsageRecord::new(first, first + life, size));
    prop::collection::vec(record, 200..500)
}

/// The least arena over all orders, each tensor as low as it goes.
fn brute_force(records: &[UsageRecord]) -> u64 {
    fn place(records: &[UsageRecord], placed: &mut Vec<(usize, u64)>, top: u64, best: &mut u64) {
        if top >= *best {
            return;
        }
        if placed.len() == records.len() {
            *best = top;
            return;
        }
        for i in 0..records.len() {
            if placed.iter().any(|p| p.0 == i) {
                continue;
            }
            let mut offset = 0;
            placed.sort_by_key(|p| p.1);
            for &(other, at) in placed.iter() {
                if records[i].conflicts(&records[other]) && at < offset + records[i].size {
                    offset = offset.max(at + records[other].size);
                }
            }
            placed.push((i, offset));
            place(records, placed, top.max(offset + records[i].size), best);
            placed.retain(|p| p.0 != i);
        }
    }
    let mut best = records.iter().map(|r| r.size).sum::<u64>() + 1;
    place(records, &mut Vec::new(), 0, &mut best);
    best
}

proptest! {
    #[test]
    fn many_tensors_take_the_gaps_that_few_would(records in many()) {
        let layout = micro_greedy(&records).unwrap();
        let offsets: Vec<u64> = layout.places.iter().map(|place| place.offset).collect();
        prop_assert_eq!(offsets, lowest_gaps(&records));
    }

    #[test]
    fn brute_force_agrees(records in prop::collection::vec((0usize..8, 0usize..4, 1u64..7), 1..7)) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let found = smallest(&records, 100_000, &SearchControl::new()).unwrap();
        prop_assert_eq!(check_layout(&records, &[], &found.layout), Ok(()));
        prop_assert_eq!(found.layout.total(), brute_force(&records));
        prop_assert_eq!(found.bound, found.layout.total());
    }

    #[test]
    fn a_refusal_is_never_wrong(
        records in prop::collection::vec((0usize..20, 0usize..8, 0u64..9), 0..25),
        room in 0u64..6,
    ) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let capacity = bounds(&records).unwrap().offsets + room;
        match fit(&records, capacity, 20_000, &SearchControl::new()).unwrap() {
            Fit::Fits(layout) => {
                prop_assert_eq!(check_layout(&records, &[], &layout), Ok(()));
                prop_assert!(layout.total() <= capacity);
            }
            Fit::Impossible => {
                let least = texpool::plan::Strategy::ALL
                    .iter()
                    .map(|s| s.place(&records).unwrap().total())
                    .min();
                prop_assert!(least.is_none_or(|least| least > capacity));
            }
            Fit::Undecided => {}
        }
    }
}
