//! Many records: an answer by the deadline, whatever they are, and without a list of steps.

use std::time::{Duration, Instant};

use texpool::plan::{
    InputError, LayoutError, LayoutKind, PlanError, Planner, SearchBudget, SearchControl, UsageRecord, Uses, bounds,
    check_layout, compare_strategies, offsets, solve, uses_from_records, verify_certificate,
};

use crate::data::{all_alive, minimalloc, short_lived};

/// Compares strategies with a deadline, and allows as much again and half a minute for a busy machine without optimisation.
fn compared(records: &[UsageRecord], deadline: Duration) -> u64 {
    let begun = Instant::now();
    let control = SearchControl::new().timeout(deadline);
    let found = compare_strategies(records, Uses::FirstAndLast, SearchBudget::default(), &control).unwrap();
    assert!(begun.elapsed() < 2 * deadline + Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(check_layout(records, Uses::FirstAndLast, &found.best.layout), Ok(()));
    let certificate = &found.optimum.certificate;
    assert_eq!(verify_certificate(records, certificate), Ok(certificate.bound));
    found.best.layout.total()
}

#[test]
fn a_hundred_thousand_records_are_answered_by_the_deadline() {
    let records = short_lived(100_000);
    let total = compared(&records, Duration::from_secs(4));
    let bounds = bounds(&records).unwrap();
    assert!(total < bounds.naive / 100 && total >= bounds.offsets, "{total}");
}

/// The worst case of every strategy that looks at pairs: all are alive at once, and no two are of one size.
#[test]
fn twenty_thousand_records_that_all_meet_are_answered_by_the_deadline() {
    let records = all_alive(20_000);
    assert_eq!(compared(&records, Duration::from_secs(4)), bounds(&records).unwrap().naive);
}

/// A step is a number and no entry of a list: where steps are as far apart as a number goes, memory is by records.
#[test]
fn steps_that_are_far_apart_take_no_memory() {
    let far = usize::MAX - 1;
    let records = [UsageRecord::new(0, far, 7), UsageRecord::new(far - 5, far, 5), UsageRecord::new(3, 3, 5)];
    let found =
        solve(&records, Uses::FirstAndLast, Planner::Best, SearchBudget::default(), &SearchControl::new()).unwrap();
    assert_eq!(found.layout.total(), 12);
    assert!(matches!(uses_from_records(&records), Err(PlanError::Input(InputError::TooManySteps { .. }))));
}

/// Where both can be had, a list of steps and the records alone say the same.
#[test]
fn uses_told_and_untold_give_the_same_plan() {
    for records in [short_lived(120), all_alive(20), minimalloc("input.12")] {
        let budget = SearchBudget { nodes: 20, moves: 2000, ..SearchBudget::PORTFOLIO };
        let steps = uses_from_records(&records).unwrap();
        let plan = |uses: Uses<'_>| solve(&records, uses, Planner::Best, budget, &SearchControl::new()).unwrap();
        let (told, untold) = (plan(Uses::Steps(&steps)), plan(Uses::FirstAndLast));
        assert_eq!(told, untold);
        for uses in [Uses::Steps(&steps), Uses::FirstAndLast] {
            assert_eq!(check_layout(&records, uses, &told.layout), Ok(()));
        }
    }
}

/// One step that reads and writes very many: pairs of them are not gone through.
#[test]
fn a_step_of_very_many_tensors_is_checked_at_once() {
    let half = 50_000;
    let mut records = vec![UsageRecord::new(0, 1, 1); half];
    records.extend(vec![UsageRecord::new(1, 2, 1); half]);
    let naive = texpool::plan::Strategy::Naive.place(&records).unwrap();
    let begun = Instant::now();
    assert_eq!(check_layout(&records, Uses::FirstAndLast, &naive), Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let arena = texpool::plan::Layout { problem: LayoutKind::Banks, ..offsets::naive(&records).unwrap() };
    let refused = check_layout(&records, Uses::FirstAndLast, &arena);
    assert!(
        matches!(refused, Err(PlanError::Layout(LayoutError::ReadsAndWrites { step: 1, read: 0, .. }))),
        "{refused:?}"
    );
}

/// Where no step reads and writes, an arena is a bank: on this public instance banks came to more than an arena did.
#[test]
fn banks_are_no_larger_than_an_arena_that_is_a_bank() {
    let records = minimalloc("K.1048576");
    let control = SearchControl::new().timeout(Duration::from_secs(20));
    let found = compare_strategies(
        &records,
        Uses::FirstAndLast,
        SearchBudget { nodes: 0, moves: 20_000, ..SearchBudget::PORTFOLIO },
        &control,
    )
    .unwrap();
    let total = |name: &str| found.candidates.iter().find(|c| c.name == name).map(|c| c.total);
    let (banks, arena) = (total("banks"), total("offsets_smallest"));
    assert!(banks.is_some() && banks <= arena, "{banks:?} {arena:?}");
    assert_eq!((Some(found.best.layout.total()), found.best.strategy.as_str()), (banks, "banks"));
    assert_eq!(check_layout(&records, Uses::FirstAndLast, &found.best.layout), Ok(()));
    // Nobody has looked for an arena before.
    let alone = solve(
        &records,
        Uses::FirstAndLast,
        Planner::Best,
        SearchBudget { nodes: 0, moves: 20_000, ..SearchBudget::PORTFOLIO },
        &SearchControl::new().timeout(Duration::from_secs(20)),
    );
    assert!(alone.unwrap().layout.total() <= 1_256_448);
}
