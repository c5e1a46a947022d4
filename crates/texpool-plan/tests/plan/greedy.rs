//! Compares the greedy strategies with plain implementations of their definitions, and tests them on many records.

use std::time::Duration;

use proptest::prelude::*;
use texpool_plan::{
    Layout, SearchControl, StopReason, Strategy as Greedy, Ties, UsageRecord, check_layout, naive_total,
    offsets::{
        Gap, TieBreak, greedy_by_breadth, greedy_by_size, greedy_in_order, micro_greedy, smallest, strip_packing,
    },
};

/// Places each tensor in turn, in the requested kind of gap left by the conflicting tensors placed before it. A
/// tensor of size 0 goes to offset 0.
fn place(records: &[UsageRecord], order: &[usize], align: u64, gap: Gap) -> Vec<u64> {
    let mut offsets = vec![0; records.len()];
    for (at, &record) in order.iter().enumerate() {
        let size = records[record].size;
        if size == 0 {
            continue;
        }
        let neighbours = order[..at].iter().filter(|&&o| records[o].size > 0 && records[o].conflicts(&records[record]));
        let mut neighbours: Vec<(u64, u64)> = neighbours.map(|&o| (offsets[o], offsets[o] + records[o].size)).collect();
        neighbours.sort_unstable();
        let mut gaps = Vec::new();
        let mut cursor = 0u64;
        for (from, to) in neighbours {
            if from >= cursor && from - cursor >= size {
                gaps.push((from - cursor, cursor));
            }
            cursor = cursor.max(to.div_ceil(align) * align);
        }
        let chosen = match gap {
            Gap::BestFit => gaps.iter().min(),
            Gap::FirstFit => gaps.iter().min_by_key(|gap| gap.1),
        };
        offsets[record] = chosen.map_or(cursor, |gap| gap.1);
    }
    offsets
}

/// Orders steps from the widest to the narrowest, earlier ones first, and at each step the new tensors, largest
/// first.
fn by_breadth(records: &[UsageRecord]) -> Vec<usize> {
    let alive = |step: usize| (0..records.len()).filter(move |&i| records[i].first <= step && step <= records[i].last);
    let end = records.iter().map(|r| r.last + 1).max().unwrap_or(0);
    let mut steps: Vec<usize> = (0..end).collect();
    steps.sort_by_key(|&step| std::cmp::Reverse(alive(step).map(|i| records[i].size).sum::<u64>()));
    let mut order = Vec::new();
    for step in steps {
        let mut new: Vec<usize> = alive(step).filter(|i| !order.contains(i)).collect();
        new.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
        order.append(&mut new);
    }
    order
}

/// The skyline as a list of heights, one per step. The lowest stretch (the earliest of equals) takes the
/// longest-lived tensor that fits between its walls, or is raised to the lower wall.
fn strip(records: &[UsageRecord], ties: TieBreak) -> Vec<u64> {
    let end = records.iter().map(|r| r.last + 1).max().unwrap_or(0);
    let mut heights = vec![0u64; end];
    let mut waiting: Vec<usize> = (0..records.len()).collect();
    if ties == TieBreak::Largest {
        waiting.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
    }
    waiting.sort_by_key(|&i| std::cmp::Reverse(records[i].last - records[i].first));
    // Steps at which no tensor is born or dies belong to no stretch.
    let ends: Vec<usize> = (0..end).filter(|&s| records.iter().any(|r| r.first == s || r.last == s)).collect();
    let mut offsets = vec![0; records.len()];
    while !waiting.is_empty() {
        let low = ends.iter().map(|&s| heights[s]).min().unwrap();
        let from = ends.iter().position(|&s| heights[s] == low).unwrap();
        let count = ends[from..].iter().take_while(|&&s| heights[s] == low).count();
        let (first, last) = (ends[from], ends[from + count - 1]);
        let inside = |&i: &usize| first <= records[i].first && records[i].last <= last;
        if let Some(position) = waiting.iter().position(inside) {
            let record = waiting.remove(position);
            offsets[record] = low;
            heights[records[record].first..=records[record].last].fill(low + records[record].size);
        } else {
            let left = from.checked_sub(1).map(|i| heights[ends[i]]);
            let right = ends.get(from + count).map(|&s| heights[s]);
            heights[first..=last].fill(left.into_iter().chain(right).min().unwrap());
        }
    }
    offsets
}

fn offsets(layout: Layout) -> Vec<u64> {
    layout.places.iter().map(|place| place.offset).collect()
}

fn records() -> impl Strategy<Value = Vec<UsageRecord>> {
    let life = prop_oneof![6 => 0usize..5, 2 => 0usize..40, 1 => 0usize..300];
    let size = prop_oneof![8 => 1u64..20, 1 => 0u64..2, 2 => 1u64..2000];
    let record = (0usize..300, life, size).prop_map(|(first, life, size)| UsageRecord::new(first, first + life, size));
    prop::collection::vec(record, 0..260)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_order_and_gap_equals_its_definition(records in records(), align in 1u64..9) {
        let count = records.len();
        let size = |&i: &usize| std::cmp::Reverse(records[i].size);
        let mut largest: Vec<usize> = (0..count).collect();
        largest.sort_by_key(size);
        let mut latest: Vec<usize> = (0..count).rev().collect();
        latest.sort_by_key(size);
        let mut births: Vec<usize> = (0..count).collect();
        births.sort_by_key(|&i| records[i].first);
        let by_size = offsets(greedy_by_size(&records, align, &SearchControl::new()).unwrap());
        prop_assert_eq!(by_size, place(&records, &largest, align, Gap::BestFit));
        prop_assert_eq!(offsets(micro_greedy(&records, &SearchControl::new()).unwrap()), place(&records, &latest, 1, Gap::FirstFit));
        for gap in [Gap::BestFit, Gap::FirstFit] {
            let in_order = offsets(greedy_in_order(&records, gap, &SearchControl::new()).unwrap());
            prop_assert_eq!(in_order, place(&records, &births, 1, gap));
        }
        let widest = offsets(greedy_by_breadth(&records, Ties::Lower, &SearchControl::new()).unwrap());
        prop_assert_eq!(widest, place(&records, &by_breadth(&records), 1, Gap::BestFit));
    }

    #[test]
    fn strip_packing_equals_its_definition(records in records()) {
        for ties in [TieBreak::Largest, TieBreak::LowestIndex] {
            prop_assert_eq!(offsets(strip_packing(&records, ties, &SearchControl::new()).unwrap()), strip(&records, ties));
        }
    }
}

/// Returns pseudo-random records; `life` draws the length of each live range.
fn many(count: usize, life: impl Fn(&mut dyn FnMut(usize) -> usize) -> usize) -> Vec<UsageRecord> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % limit
    };
    let record = |_| {
        let first = below(1_000_000);
        let last = first + life(&mut below);
        UsageRecord::new(first, last, 1 + below(100_000) as u64)
    };
    (0..count).map(record).collect()
}

/// Returns whether no two live tensors of a layout overlap. It sweeps over time, since there are too many records for
/// comparisons of pairs.
fn is_valid(records: &[UsageRecord], layout: &Layout) -> bool {
    let mut events: Vec<(usize, bool, usize)> = Vec::new();
    for (i, r) in records.iter().enumerate().filter(|(_, r)| r.size > 0) {
        events.extend([(r.first, true, i), (r.last + 1, false, i)]);
    }
    events.sort_unstable();
    let mut alive = std::collections::BTreeMap::new();
    events.into_iter().all(|(_, born, i)| {
        let offset = layout.places[i].offset;
        if !born {
            return alive.remove(&offset).is_some();
        }
        let end = offset + records[i].size;
        let free = alive.range(..end).next_back().is_none_or(|(_, &end_below)| end_below <= offset);
        free && end <= layout.total() && alive.insert(offset, end).is_none()
    })
}

/// This took tens of seconds and gigabytes when each tensor was compared with every other one.
#[test]
fn a_hundred_thousand_short_lives_take_each_strategy_seconds() {
    let records = many(100_000, |below| below(20));
    let start = std::time::Instant::now();
    for &strategy in Greedy::ALL.iter().filter(|s| s.name().starts_with("offsets_") && !s.name().contains("improved")) {
        assert!(is_valid(&records, &strategy.place(&records).unwrap()), "{strategy}");
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// When most tensors conflict with most others, pairs are not enumerated, so the call ends soon even without a
/// deadline.
#[test]
fn a_hundred_thousand_long_lives_have_an_arena_in_seconds() {
    let records = many(100_000, |below| below(1_000_000));
    let start = std::time::Instant::now();
    let smallest = smallest(&records, 1_000, &SearchControl::new()).unwrap();
    assert!(is_valid(&records, &smallest.layout));
    assert!(smallest.bound <= smallest.layout.total() && smallest.layout.total() < naive_total(&records).unwrap());
    assert_eq!(smallest.stopped, Some(StopReason::TooManyTensors));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// With an expired deadline, and with one that expires on the way, every strategy still returns a valid layout.
#[test]
fn a_deadline_leaves_every_strategy_with_a_layout() {
    let records = many(20_000, |below| below(1_000_000));
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        let control = || SearchControl::new().timeout(timeout);
        let start = std::time::Instant::now();
        let layouts = [
            greedy_by_size(&records, 1, &control()),
            greedy_by_breadth(&records, Ties::Lower, &control()),
            micro_greedy(&records, &control()),
            greedy_in_order(&records, Gap::BestFit, &control()),
            strip_packing(&records, TieBreak::Largest, &control()),
        ];
        for layout in layouts {
            assert!(is_valid(&records, &layout.unwrap()));
        }
        let smallest = smallest(&records, u64::MAX, &control()).unwrap();
        assert!(is_valid(&records, &smallest.layout));
        assert_eq!(smallest.stopped, Some(StopReason::Deadline));
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

/// With an expired deadline, all remaining tensors are stacked on top of each other. This is the worst case.
#[test]
fn what_a_deadline_leaves_over_is_stacked() {
    let records = [UsageRecord::new(0, 1, 3), UsageRecord::new(1, 2, 0), UsageRecord::new(3, 4, 5)];
    let expired = SearchControl::new().timeout(Duration::ZERO);
    let layout = greedy_by_size(&records, 4, &expired).unwrap();
    assert_eq!(check_layout(&records, &[], &layout), Ok(()));
    assert_eq!(offsets(layout), [8, 0, 0]);
    assert_eq!(greedy_in_order(&records, Gap::FirstFit, &expired).unwrap().total(), 8);
    assert_eq!(strip_packing(&records, TieBreak::Largest, &expired).unwrap().total(), 8);
}
