//! One arena: reaches the lower bound on every network and the published capacity on hard public instances, and
//! agrees with brute force.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use texpool_plan::{
    Progress, SearchControl, StopReason, UsageRecord, bounds, check_layout,
    offsets::{Fit, fit, micro_greedy, smallest},
};

use crate::data::{minimalloc, usage_record_sets};

#[test]
fn all_23_sets_reach_the_widest_step() {
    for (instance, records) in usage_record_sets() {
        let smallest = smallest(&records, 10_000, &SearchControl::new()).unwrap();
        assert_eq!(check_layout(&records, &[], &smallest.layout), Ok(()));
        assert_eq!(Some(smallest.layout.total()), instance["offsets_lower_bound"].as_u64(), "{}", instance["name"]);
    }
}

/// Minimalloc's instances in the repository. Their authors named them in order of increasing number of tensors.
const HARD: [&str; 8] = ["A", "B", "C", "D", "E", "F", "I", "J"];

/// Needs the search: no greedy strategy comes close on any of these instances. A plain search from the bottom up,
/// like the earlier implementation, takes minutes on J.
#[test]
fn hard_public_instances_fit_their_published_capacity() {
    for name in HARD {
        let records = minimalloc(&format!("{name}.1048576"));
        let Fit::Fits(layout) = fit(&records, 1_048_576, 300_000, &SearchControl::new()).unwrap() else {
            panic!("{name}")
        };
        assert_eq!(check_layout(&records, &[], &layout), Ok(()), "{name}");
        assert!(layout.total() <= 1_048_576, "{name}");
    }
}

/// Here the search gets no capacity. It has to find the smallest arena, and proves it if it equals the widest step.
#[test]
fn the_smallest_arena_of_hard_public_instances_is_no_larger() {
    for name in HARD {
        let records = minimalloc(&format!("{name}.1048576"));
        let widest = bounds(&records).unwrap().offsets;
        // For D and J it is unknown whether any layout fits below the published capacity.
        let nodes = if widest == 1_048_576 { 300_000 } else { 20_000 };
        let smallest = smallest(&records, nodes, &SearchControl::new()).unwrap();
        assert_eq!(check_layout(&records, &[], &smallest.layout), Ok(()), "{name}");
        assert!(smallest.layout.total() <= 1_048_576, "{name}: {}", smallest.layout.total());
        assert_eq!(smallest.bound, widest, "{name}");
    }
}

/// Some capacities are found with a hundredth of the nodes that their neighbours take, so a bisection passes over easy
/// ones. Here a bisection alone ends at 1,042,432, and a search with an eighth of its nodes finds two arenas among the
/// eight just below.
#[test]
fn no_capacity_just_below_the_smallest_arena_is_easy() {
    let records = minimalloc("J.1048576");
    let (nodes, control) = (2_000, SearchControl::new());
    let found = smallest(&records, 8 * nodes, &control).unwrap().layout.total();
    // All sizes are multiples of 1,024.
    for capacity in (1..=8).map(|below| found - 1024 * below) {
        assert_eq!(fit(&records, capacity, nodes, &control), Ok(Fit::BudgetExhausted), "{capacity} below {found}");
    }
}

/// Searching the same instance twice gives the same layout.
#[test]
fn the_search_repeats_itself() {
    let records = minimalloc("J.1048576");
    let search = || fit(&records, 1_048_576, 300_000, &SearchControl::new()).unwrap();
    assert_eq!(search(), search());
}

#[test]
fn the_published_example_is_tight() {
    let records = minimalloc("input.12");
    let control = SearchControl::new();
    assert!(matches!(fit(&records, 12, 1000, &control), Ok(Fit::Fits(_))));
    assert_eq!(fit(&records, 11, 1000, &control), Ok(Fit::Infeasible));
    let hard = minimalloc("E.1048576");
    assert_eq!(fit(&hard, 1_048_575, 1000, &control), Ok(Fit::Infeasible));
    assert_eq!(fit(&hard, 1_048_576, 10, &control), Ok(Fit::BudgetExhausted));
}

/// Tensors that fill rectangles are placed as one, so this instance is planned exactly without a search.
#[test]
fn a_plan_of_blocks_is_the_smallest() {
    let records = minimalloc("A.1048576");
    let smallest = smallest(&records, 0, &SearchControl::new()).unwrap();
    assert_eq!((smallest.layout.total(), smallest.bound), (1_048_576, 1_048_576));
    assert_eq!(check_layout(&records, &[], &smallest.layout), Ok(()));
}

/// A hard instance plus tensors alive as long as all of it. Each of these adds a level to the search.
fn deep(levels: usize) -> (Vec<UsageRecord>, u64) {
    let mut records = minimalloc("B.1048576");
    let last = records.iter().map(|r| r.last).max().unwrap();
    records.extend((0..levels).map(|level| UsageRecord::new(0, last, 1024 * (1 + level as u64 % 3))));
    let capacity = 1_048_576 + records.iter().rev().take(levels).map(|r| r.size).sum::<u64>();
    (records, capacity)
}

/// One level of recursion per tensor, each with a copy of the state, overflowed the stack and memory.
#[test]
fn levels_of_the_search_are_no_recursion() {
    let (records, capacity) = deep(800);
    let Fit::Fits(layout) = fit(&records, capacity, 300_000, &SearchControl::new()).unwrap() else { panic!() };
    assert_eq!(check_layout(&records, &[], &layout), Ok(()));
    let (records, capacity) = deep(3_800);
    let timeout = SearchControl::new().timeout(Duration::from_secs(5));
    match fit(&records, capacity, 30_000, &timeout).unwrap() {
        Fit::Fits(layout) => assert_eq!(check_layout(&records, &[], &layout), Ok(())),
        other => assert_eq!(other, Fit::BudgetExhausted),
    }
}

/// Repeats a hard instance `times` times. The copies share no steps, so each part gets a separate search.
fn chain(times: usize) -> Vec<UsageRecord> {
    let one = minimalloc("B.1048576");
    let end = one.iter().map(|r| r.last).max().unwrap() + 1;
    let copy = |i: usize| one.iter().map(move |r| UsageRecord::new(r.first + i * end, r.last + i * end, r.size));
    (0..times).flat_map(copy).collect()
}

/// More tensors in total than a single search accepts.
#[test]
fn a_chain_of_hard_parts_fits_as_each_does() {
    let records = chain(30);
    assert!(records.len() > 5_000);
    let Fit::Fits(layout) = fit(&records, 1_048_576, 1_000_000, &SearchControl::new()).unwrap() else { panic!() };
    assert_eq!(check_layout(&records, &[], &layout), Ok(()));
}

/// If there are too many tensors for a search, answers that need no search are still given.
#[test]
fn more_tensors_than_can_be_searched_are_answered_where_that_is_cheap() {
    let mut records = chain(30);
    let last = records.iter().map(|r| r.last).max().unwrap();
    records.push(UsageRecord::new(0, last, 1_024));
    let control = SearchControl::new();
    assert_eq!(fit(&records, 1_049_599, 1_000, &control), Ok(Fit::Infeasible));
    assert_eq!(fit(&records, 1_049_600, 1_000, &control), Ok(Fit::BudgetExhausted));
    let Ok(Fit::Fits(layout)) = fit(&records, 2_000_000, 0, &control) else { panic!() };
    assert_eq!(check_layout(&records, &[], &layout), Ok(()));
}

/// An instance that no search decides within a minute ends at its deadline, or as soon as the callback breaks off.
#[test]
fn a_search_without_end_is_stopped() {
    let records = minimalloc("J.1048576");
    let timeout = SearchControl::new().timeout(Duration::from_millis(200));
    let start = Instant::now();
    assert_eq!(fit(&records, 1_000_000, u64::MAX, &timeout), Ok(Fit::BudgetExhausted));
    let timed_out = smallest(&records, u64::MAX, &timeout).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(timed_out.stopped, Some(StopReason::Deadline));
    assert_eq!(check_layout(&records, &[], &timed_out.layout), Ok(()));

    let mut seen = Vec::new();
    let mut callback = |progress: Progress| {
        seen.push(progress);
        if progress.stage == "arena search" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let cancelled = smallest(&records, u64::MAX, &SearchControl::new().progress(&mut callback)).unwrap();
    assert_eq!(cancelled.stopped, Some(StopReason::Cancelled));
    assert_eq!(check_layout(&records, &[], &cancelled.layout), Ok(()));
    // After the callback breaks off at the first report of the search, no further report arrives.
    assert_eq!(seen.iter().filter(|p| p.stage == "arena search").count(), 1);
    assert!(seen.iter().any(|p| p.stage == "greedy strategies"));
}

/// A control that was stopped before the call still gives a layout, without a proof.
#[test]
fn an_expired_deadline_still_gives_a_layout() {
    let records = minimalloc("A.1048576");
    let expired = SearchControl::new().timeout(Duration::ZERO);
    assert_eq!(fit(&records, 1_048_576, u64::MAX, &expired), Ok(Fit::BudgetExhausted));
    let smallest = smallest(&records, u64::MAX, &expired).unwrap();
    assert_eq!(check_layout(&records, &[], &smallest.layout), Ok(()));
    assert_eq!((smallest.bound, smallest.stopped), (1_048_576, Some(StopReason::Deadline)));
}

/// Sizes close to the 64-bit limit do not overflow in the search.
#[test]
fn the_largest_sizes_are_searched_without_overflow() {
    let unit = u64::MAX / 40;
    let records: Vec<UsageRecord> =
        minimalloc("input.12").iter().map(|r| UsageRecord::new(r.first, r.last, r.size * unit / 4)).collect();
    for capacity in [3 * unit - 1, 3 * unit, 4 * unit, u64::MAX] {
        if let Fit::Fits(layout) = fit(&records, capacity, 1000, &SearchControl::new()).unwrap() {
            assert_eq!(check_layout(&records, &[], &layout), Ok(()));
        }
    }
}

/// Places tensors from the largest to the smallest, the later of equals first, each in the lowest gap between all
/// tensors that it conflicts with.
fn lowest_gaps(records: &[UsageRecord]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..records.len()).rev().collect();
    order.sort_by_key(|&i| std::cmp::Reverse(records[i].size));
    let mut offsets = vec![0; records.len()];
    for (at, &record) in order.iter().enumerate() {
        let neighbours = order[..at].iter().filter(|&&other| records[other].conflicts(&records[record]));
        let mut ranges: Vec<(u64, u64)> = neighbours.map(|&i| (offsets[i], offsets[i] + records[i].size)).collect();
        ranges.sort_unstable();
        for (from, to) in ranges {
            if from < offsets[record] + records[record].size {
                offsets[record] = offsets[record].max(to);
            }
        }
    }
    offsets
}

/// Mostly short live ranges within a long time.
fn many() -> impl Strategy<Value = Vec<UsageRecord>> {
    let life = prop_oneof![9 => 0usize..9, 1 => 0usize..900];
    let record =
        (0usize..1_000, life, 1u64..20).prop_map(|(first, life, size)| UsageRecord::new(first, first + life, size));
    prop::collection::vec(record, 200..500)
}

/// Returns the smallest arena over all orders, with each tensor placed as low as possible.
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

/// Generates live ranges that fill every step exactly: tensors that stay alive constrain the ones placed around them.
fn tight(capacity: usize, steps: usize, mut seed: u64) -> Vec<UsageRecord> {
    let mut below = |limit: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % limit
    };
    let (mut records, mut alive, mut free) = (Vec::new(), Vec::new(), capacity);
    for step in 0..steps {
        while free > 0 {
            let size = 1 + below(free);
            alive.push((step, size));
            free -= size;
        }
        for _ in 0..1 + below(2) {
            if !alive.is_empty() {
                let (first, size) = alive.swap_remove(below(alive.len()));
                records.push(UsageRecord::new(first, step, size as u64));
                free += size;
            }
        }
    }
    records.extend(alive.into_iter().map(|(first, size)| UsageRecord::new(first, steps - 1, size as u64)));
    records
}

/// Returns whether tensors sorted by birth fit. It places one after another and tries every free offset.
fn fits_at_some_offsets(records: &[UsageRecord], capacity: u64, placed: &mut Vec<u64>) -> bool {
    let Some(r) = records.get(placed.len()) else { return true };
    (0..=capacity - r.size).any(|offset| {
        let meets =
            |(other, &at): (&UsageRecord, &u64)| r.conflicts(other) && at < offset + r.size && offset < at + other.size;
        if records.iter().zip(placed.iter()).any(meets) {
            return false;
        }
        placed.push(offset);
        let fits = fits_at_some_offsets(records, capacity, placed);
        placed.pop();
        fits
    })
}

/// Arenas of the widest step that only the search can reject, since no step is too wide. These are rare among random
/// lists, so the generated lists fill every step.
#[test]
fn refusals_by_search_are_right() {
    let (mut fitted, mut refused) = (0, 0);
    for seed in 1..=8_000 {
        let capacity = 8 + seed % 7;
        let mut records = tight(capacity as usize, 8, 0x2545_f491_4f6c_dd1d ^ (seed * 0x9e37_79b9));
        records.sort_by_key(|r| r.first);
        let fit = fit(&records, capacity, 1_000_000, &SearchControl::new()).unwrap();
        let fits = fits_at_some_offsets(&records, capacity, &mut Vec::new());
        match fit {
            Fit::Fits(layout) => {
                fitted += 1;
                assert_eq!(check_layout(&records, &[], &layout), Ok(()));
                assert!(fits);
            }
            Fit::Infeasible => {
                refused += 1;
                assert!(!fits, "{records:?}");
            }
            Fit::BudgetExhausted => panic!("{records:?}"),
        }
    }
    assert!(fitted > 100 && refused > 20, "{fitted} fit, {refused} do not");
}

proptest! {
    #[test]
    fn many_tensors_take_the_gaps_that_few_would(records in many()) {
        let layout = micro_greedy(&records, &SearchControl::new()).unwrap();
        let offsets: Vec<u64> = layout.places.iter().map(|place| place.offset).collect();
        prop_assert_eq!(offsets, lowest_gaps(&records));
    }

    #[test]
    fn brute_force_agrees(records in prop::collection::vec((0usize..8, 0usize..4, 1u64..7), 1..7)) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let smallest = smallest(&records, 100_000, &SearchControl::new()).unwrap();
        prop_assert_eq!(check_layout(&records, &[], &smallest.layout), Ok(()));
        prop_assert_eq!(smallest.layout.total(), brute_force(&records));
        prop_assert_eq!(smallest.bound, smallest.layout.total());
    }

    #[test]
    fn fits_and_refusals_agree_with_brute_force(records in prop::collection::vec((0usize..7, 0usize..5, 1u64..9), 5..9)) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let least = brute_force(&records);
        let control = SearchControl::new();
        prop_assert_eq!(fit(&records, least - 1, 1_000_000, &control), Ok(Fit::Infeasible));
        let Ok(Fit::Fits(layout)) = fit(&records, least, 1_000_000, &control) else { panic!("{least} fits") };
        prop_assert_eq!(check_layout(&records, &[], &layout), Ok(()));
        prop_assert_eq!(layout.total(), least);
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
            Fit::Infeasible => {
                let least = texpool_plan::Strategy::ALL
                    .iter()
                    .map(|s| s.place(&records).unwrap().total())
                    .min();
                prop_assert!(least.is_none_or(|least| least > capacity));
            }
            Fit::BudgetExhausted => {}
        }
    }
}
