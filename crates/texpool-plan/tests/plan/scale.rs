//! Many records of any kind: there is an answer by the deadline, without building a list of steps.

use std::{
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use texpool_plan::{
    ArenaPlanner, Buffer, InputError, LayoutError, LayoutKind, PlanError, Planner, SearchBudget, SearchControl,
    StopReason, Strategy, UsageRecord, Uses, bounds, check_layout, compare_strategies, offsets, solve,
    uses_from_records, verify_certificate,
};

use crate::data::{all_alive, dense, minimalloc, short_lived};

/// Compares strategies with a deadline. Allows twice that time and another half minute, for busy machines and debug
/// builds.
fn compared(records: &[UsageRecord], deadline: Duration) -> u64 {
    let begun = Instant::now();
    let control = SearchControl::new().timeout(deadline);
    let comparison = compare_strategies(records, Uses::FirstAndLast, SearchBudget::default(), &control).unwrap();
    assert!(begun.elapsed() < 2 * deadline + Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(check_layout(records, Uses::FirstAndLast, &comparison.best.layout), Ok(()));
    let certificate = &comparison.optimum.certificate;
    assert_eq!(verify_certificate(records, certificate), Ok(certificate.bound));
    comparison.best.layout.total()
}

#[test]
fn a_hundred_thousand_records_are_answered_by_the_deadline() {
    let records = short_lived(100_000);
    let total = compared(&records, Duration::from_secs(4));
    let bounds = bounds(&records).unwrap();
    assert!(total < bounds.naive / 100 && total >= bounds.offsets, "{total}");
}

/// The worst case for strategies that compare pairs: all tensors are alive at the same time, and all sizes differ.
#[test]
fn twenty_thousand_records_that_all_meet_are_answered_by_the_deadline() {
    let records = all_alive(20_000);
    assert_eq!(compared(&records, Duration::from_secs(4)), bounds(&records).unwrap().naive);
}

/// Steps are numbers, not entries of a list. Even with steps as far apart as numbers allow, memory depends only on
/// records.
#[test]
fn steps_that_are_far_apart_take_no_memory() {
    let far = usize::MAX - 1;
    let records = [UsageRecord::new(0, far, 7), UsageRecord::new(far - 5, far, 5), UsageRecord::new(3, 3, 5)];
    let plan =
        solve(&records, Uses::FirstAndLast, Planner::Best, SearchBudget::default(), &SearchControl::new()).unwrap();
    assert_eq!(plan.layout.total(), 12);
    assert!(matches!(uses_from_records(&records), Err(PlanError::Input(InputError::TooManySteps { .. }))));
}

/// If both are available, a list of steps and the records alone give the same plan.
#[test]
fn uses_told_and_untold_give_the_same_plan() {
    for records in [short_lived(120), all_alive(20), minimalloc("input.12")] {
        let budget = SearchBudget { nodes: 20, moves: 2000, ..SearchBudget::PORTFOLIO };
        let steps = uses_from_records(&records).unwrap();
        let plan = |uses: Uses<'_>| solve(&records, uses, Planner::Best, budget, &SearchControl::new()).unwrap();
        let (with_steps, without_steps) = (plan(Uses::Steps(&steps)), plan(Uses::FirstAndLast));
        assert_eq!(with_steps, without_steps);
        for uses in [Uses::Steps(&steps), Uses::FirstAndLast] {
            assert_eq!(check_layout(&records, uses, &with_steps.layout), Ok(()));
        }
    }
}

/// One step that reads and writes very many tensors; the checker must not enumerate pairs of them.
#[test]
fn a_step_of_very_many_tensors_is_checked_at_once() {
    let half = 50_000;
    let mut records = vec![UsageRecord::new(0, 1, 1); half];
    records.extend(vec![UsageRecord::new(1, 2, 1); half]);
    let naive = Strategy::Naive.place(&records).unwrap();
    let begun = Instant::now();
    assert_eq!(check_layout(&records, Uses::FirstAndLast, &naive), Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let arena = texpool_plan::Layout { problem: LayoutKind::Banks, ..offsets::naive(&records).unwrap() };
    let refused = check_layout(&records, Uses::FirstAndLast, &arena);
    assert!(
        matches!(refused, Err(PlanError::Layout(LayoutError::ReadsAndWrites { step: 1, read: 0, .. }))),
        "{refused:?}"
    );
}

/// If no step both reads and writes, an arena is a valid bank. On this public instance banks once came out larger
/// than the arena.
#[test]
fn banks_are_no_larger_than_an_arena_that_is_a_bank() {
    let records = minimalloc("K.1048576");
    let control = SearchControl::new().timeout(Duration::from_secs(20));
    let comparison = compare_strategies(
        &records,
        Uses::FirstAndLast,
        SearchBudget { nodes: 0, moves: 20_000, ..SearchBudget::PORTFOLIO },
        &control,
    )
    .unwrap();
    let total = |name: &str| comparison.candidates.iter().find(|c| c.name == name).map(|c| c.total);
    let (banks, arena) = (total("banks"), total("offsets_smallest"));
    assert!(banks.is_some() && banks <= arena, "{banks:?} {arena:?}");
    assert_eq!((Some(comparison.best.layout.total()), comparison.best.strategy.as_str()), (banks, "banks"));
    assert_eq!(check_layout(&records, Uses::FirstAndLast, &comparison.best.layout), Ok(()));
    // Here no earlier strategy has searched for an arena.
    let alone = solve(
        &records,
        Uses::FirstAndLast,
        Planner::Best,
        SearchBudget { nodes: 0, moves: 20_000, ..SearchBudget::PORTFOLIO },
        &SearchControl::new().timeout(Duration::from_secs(20)),
    );
    assert!(alone.unwrap().layout.total() <= 1_256_448);
}

fn arena_of(records: &[UsageRecord]) -> ArenaPlanner<'static> {
    ArenaPlanner::from_iter(records.iter().copied().map(Buffer::from))
}

/// A search without any time returns a greedy plan, whatever stops it. A plan without sharing would be thirty times
/// as large.
#[test]
fn fifty_thousand_buffers_without_time_get_a_greedy_plan() {
    let records = dense(50_000);
    let greedy = offsets::greedy_in_order(&records, offsets::Gap::BestFit, &SearchControl::new()).unwrap().total();
    assert!(greedy < 2 * bounds(&records).unwrap().offsets);
    let cancelled = AtomicBool::new(true);
    let planner = arena_of(&records);
    let begun = Instant::now();
    for (planner, reason) in [
        (planner.clone().deadline(Duration::ZERO), StopReason::Deadline),
        (planner.cancel(&cancelled), StopReason::Cancelled),
    ] {
        let plan = planner.plan().unwrap();
        assert_eq!((plan.total <= greedy, plan.stopped), (true, Some(reason)));
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_capacity_below_the_widest_step_is_refused_at_once() {
    let records = dense(50_000);
    let widest = bounds(&records).unwrap().offsets;
    let begun = Instant::now();
    let plan = arena_of(&records).capacity(widest - 1).plan().unwrap();
    assert_eq!((plan.fits(widest - 1), plan.bound, plan.stopped), (Some(false), widest, None));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// Buffers that only the searches for any constraint take: with a gap, with a given place, and with two alignments.
fn constrained(records: &[UsageRecord]) -> [Vec<Buffer>; 3] {
    let mut sets = [(); 3].map(|()| records.iter().copied().map(Buffer::from).collect::<Vec<_>>());
    let with_gap = sets[0].iter_mut().find(|b| b.live.len() > 2).unwrap();
    let gap = with_gap.live.start + 1..with_gap.live.end - 1;
    *with_gap = with_gap.clone().gap(gap);
    sets[1][7] = sets[1][7].clone().fixed(64);
    sets[2].iter_mut().step_by(2).for_each(|b| b.align = 64);
    sets
}

/// With too many pairs to compare there is a greedy plan that reports it, and a capacity below the widest step is
/// refused at once.
#[test]
fn constrained_buffers_with_too_many_pairs_get_a_greedy_plan() {
    for buffers in constrained(&dense(50_000)) {
        let planner = ArenaPlanner::from_iter(buffers);
        let begun = Instant::now();
        let plan = planner.plan().unwrap();
        assert_eq!(plan.stopped, Some(StopReason::TooManyTensors));
        assert!(plan.total < 2 * plan.bound, "{} {}", plan.total, plan.bound);
        let none = planner.clone().capacity(plan.bound - 1).plan().unwrap();
        assert_eq!((none.fits(plan.bound - 1), none.stopped), (Some(false), None));
        let cancelled = AtomicBool::new(true);
        let stopped = planner.cancel(&cancelled).plan().unwrap();
        assert_eq!((stopped.stopped, stopped.total), (Some(StopReason::Cancelled), plan.total));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}

/// A deadline ends the comparison of pairs, and the plan is still a greedy one.
#[test]
fn a_deadline_ends_the_comparison_of_pairs() {
    for buffers in constrained(&dense(5_000)) {
        let planner = ArenaPlanner::from_iter(buffers).effort(0);
        let fastest = |planner: &ArenaPlanner<'_>| {
            let timed = |_| {
                let begun = Instant::now();
                planner.plan().unwrap();
                begun.elapsed()
            };
            (0..3).map(timed).min().unwrap()
        };
        let stopped = planner.clone().deadline(Duration::ZERO);
        let plan = stopped.plan().unwrap();
        assert_eq!(plan.stopped, Some(StopReason::Deadline));
        assert!(plan.total < 2 * plan.bound, "{} {}", plan.total, plan.bound);
        let (short, whole) = (fastest(&stopped), fastest(&planner));
        assert!(2 * short < whole, "{short:?} {whole:?}");
    }
}

/// So many gaps that overlap in time count as too many buffers, too.
#[test]
fn too_many_gaps_to_compare_get_a_greedy_plan() {
    let gaps = |from: usize| (0..50).fold(Buffer::new(0..100, 8), |b, at| b.gap(from + 2 * at..from + 2 * at + 1));
    let buffers = |count: usize| (0..count).map(|at| gaps(at % 2));
    let plan = ArenaPlanner::from_iter(buffers(1_200)).effort(0).plan().unwrap();
    assert_eq!((plan.stopped, plan.total, plan.bound), (Some(StopReason::TooManyTensors), 9_600, 4_800));
    let plan = ArenaPlanner::from_iter(buffers(100)).effort(0).plan().unwrap();
    assert_eq!((plan.stopped, plan.total, plan.bound), (None, 400, 400));
}

#[test]
fn a_strategy_that_is_stopped_answers_with_a_greedy_plan() {
    let records = dense(5_000);
    let naive = bounds(&records).unwrap().naive;
    for strategy in [Strategy::GreedyBySizeImproved, Strategy::GreedyByBreadth] {
        let control = SearchControl::new().timeout(Duration::ZERO);
        let budget = SearchBudget::default();
        let plan = solve(&records, Uses::FirstAndLast, Planner::Strategy(strategy), budget, &control).unwrap();
        assert_eq!(plan.strategy, "greedy_in_order", "{}", plan.reason);
        assert!(plan.layout.total() < naive / 10, "{}", plan.reason);
        assert_eq!(plan.stopped, Some(StopReason::Deadline));
        assert!(plan.reason.contains("did not end in time"), "{}", plan.reason);
    }
}

/// More buffers than an earlier version could search. The search reaches the widest step, which the greedy strategies
/// miss.
#[test]
fn thousands_of_short_lives_are_searched() {
    let crowded = |r: UsageRecord| UsageRecord::new(r.first / 4, r.first / 4 + (r.last - r.first), r.size);
    let records: Vec<UsageRecord> = short_lived(5_000).into_iter().map(crowded).collect();
    let widest = bounds(&records).unwrap().offsets;
    assert!(offsets::smallest(&records, 0, &SearchControl::new()).unwrap().layout.total() > widest);
    let plan = arena_of(&records).plan().unwrap();
    assert_eq!((plan.total, plan.stopped), (widest, None));
}

/// With too many tensors for a search, the plan reports it and claims no proof.
#[test]
fn more_tensors_than_the_search_takes_are_said() {
    let records = dense(20_000);
    for planner in [arena_of(&records), arena_of(&records).capacity(bounds(&records).unwrap().offsets)] {
        let plan = planner.plan().unwrap();
        assert_eq!((plan.stopped, plan.is_optimal()), (Some(StopReason::TooManyTensors), false));
    }
    // With an effort of 0 no search was requested.
    assert_eq!(arena_of(&records).effort(0).plan().unwrap().stopped, None);
}
