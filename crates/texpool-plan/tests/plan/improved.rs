//! Compares Greedy by Size Improved with a plain implementation of its published text, which examines every pair of
//! tensor and object for each placement.

use std::cmp::Reverse;

use proptest::prelude::*;
use texpool_plan::{
    SearchControl, UsageRecord, bounds,
    shared::{StageOrder, Stages, greedy_by_size_improved},
};

/// Assigns the records to objects exactly as the text says.
fn plainly(records: &[UsageRecord], stages: Stages, turn: StageOrder) -> Vec<usize> {
    let maximums = bounds(records).unwrap().positional_maximums;
    let stage = |i: usize| {
        let enough = maximums.iter().filter(|&&m| m >= records[i].size).count();
        let exact = enough > 0 && maximums[enough - 1] == records[i].size;
        (enough, stages == Stages::Split && !exact)
    };
    let mut waiting: Vec<usize> = (0..records.len()).collect();
    waiting.sort_by_key(|&i| (stage(i), i));
    let mut objects: Vec<Vec<usize>> = Vec::new();
    while let Some(&head) = waiting.first() {
        let gap = |a: usize, b: usize| {
            let (a, b) = (&records[a], &records[b]);
            if a.last < b.first { b.first - a.last } else { a.first - b.last }
        };
        let nearest = |i: usize| {
            let open = |o: &usize| objects[*o].iter().all(|&other| !records[other].conflicts(&records[i]));
            let open = (0..objects.len()).filter(open);
            open.map(|o| (objects[o].iter().map(|&other| gap(i, other)).min().unwrap(), o)).min()
        };
        let rank = |i: usize| {
            let idle = match (turn, nearest(i)) {
                (StageOrder::Largest, _) | (StageOrder::UnassignedFirst, None) => 0,
                (_, None) => usize::MAX,
                (_, Some((gap, _))) => gap,
            };
            (idle, Reverse(records[i].size), i)
        };
        let next = waiting.iter().copied().filter(|&i| stage(i) == stage(head)).min_by_key(|&i| rank(i)).unwrap();
        match nearest(next) {
            Some((_, object)) => objects[object].push(next),
            None => objects.push(vec![next]),
        }
        waiting.retain(|&i| i != next);
    }
    let object_of = |i: usize| objects.iter().position(|object| object.contains(&i)).unwrap();
    (0..records.len()).map(object_of).collect()
}

proptest! {
    #[test]
    fn places_as_the_text_says(records in prop::collection::vec((0usize..40, 0usize..12, 0u64..9), 0..40)) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        for stages in [Stages::Split, Stages::Merged] {
            for turn in [StageOrder::Nearest, StageOrder::UnassignedFirst, StageOrder::Largest] {
                let layout = greedy_by_size_improved(&records, stages, turn, &SearchControl::new()).unwrap();
                let objects: Vec<usize> = layout.places.iter().map(|p| p.region).collect();
                prop_assert_eq!(objects, plainly(&records, stages, turn));
            }
        }
    }
}
