//! Stopped searches: whenever they stop, they return a valid layout, claim only proven results, and end soon after.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use texpool_plan::{
    Layout, LayoutKind, PlanError, Progress, SearchBudget, SearchControl, StopReason, UnsupportedError, UsageRecord,
    Uses, bank_bound, bounds, check_layout, compare_strategies, optimum, place_banks, uses_from_records,
    verify_certificate,
};

use crate::data::{csv_records, minimalloc, short_lived};

/// Runs `search` repeatedly, stopped at each of its first reports and at some of the later ones. Returns the number
/// of reports of a run that is not stopped.
fn stopped_everywhere(search: impl Fn(&SearchControl<'_>, Option<StopReason>)) -> u64 {
    let run = |stop_at: Option<u64>| {
        let mut calls = 0;
        let mut tell = |_: Progress| {
            calls += 1;
            if Some(calls) == stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let control = SearchControl::new().progress(&mut tell);
        search(&control, stop_at.map(|_| StopReason::Cancelled));
        calls
    };
    let calls = run(None);
    // Tries each of the first hundred reports, then larger and larger gaps. A linear program reports while a thread
    // works on it, so under load the number of reports varies between runs; the last fiftieth is therefore left out.
    let mut at = 1;
    while at <= calls - calls / 50 {
        run(Some(at));
        at += 1 + at / 100 * 25;
    }
    calls
}

fn is_valid(records: &[UsageRecord], layout: &Layout) {
    assert_eq!(check_layout(records, Uses::FirstAndLast, layout), Ok(()));
    let exclusive = layout.problem != LayoutKind::Offsets;
    if exclusive {
        assert_eq!(check_layout(records, &uses_from_records(records).unwrap(), layout), Ok(()));
    }
}

/// Guards each place that checks for a stop: none may leave a tensor without an offset or claim a proof.
#[test]
fn stopped_at_any_report_every_search_answers_with_a_valid_plan() {
    let records = csv_records("blazeface");
    let budget = SearchBudget { nodes: 50, moves: 3000, ..SearchBudget::PORTFOLIO };
    let calls = stopped_everywhere(|control, stopped| {
        let comparison = compare_strategies(&records, Uses::FirstAndLast, budget, control).unwrap();
        is_valid(&records, &comparison.best.layout);
        is_valid(&records, &comparison.optimum.layout);
        assert_eq!(control.stopped(), stopped);
        let certificate = &comparison.optimum.certificate;
        assert_eq!(verify_certificate(&records, certificate), Ok(certificate.bound));
        assert_eq!(comparison.optimum.proven, comparison.optimum.layout.total() == certificate.bound);
    });
    assert!(calls > 50, "{calls}");
}

#[test]
fn stopped_at_any_report_the_exact_search_proves_no_more_than_it_has() {
    let records = short_lived(60);
    let calls = stopped_everywhere(|control, stopped| {
        let optimum = optimum(&records, 20, control).unwrap();
        is_valid(&records, &optimum.layout);
        assert_eq!(verify_certificate(&records, &optimum.certificate), Ok(optimum.certificate.bound));
        assert!(optimum.stopped.is_none() || optimum.stopped == stopped && !optimum.proven);
    });
    assert!(calls > 14, "{calls}");
}

#[test]
fn stopped_at_any_report_banks_are_no_larger_than_their_seed() {
    let records = csv_records("mobilenet_v2");
    let seed = texpool_plan::Strategy::GreedyBySize.place(&records).unwrap();
    let widest = bounds(&records).unwrap().offsets;
    let calls = stopped_everywhere(|control, _| {
        let banks = place_banks(&records, Uses::FirstAndLast, &seed, 3000, control).unwrap();
        is_valid(&records, &banks);
        assert!(banks.total() <= seed.total());
    });
    assert!(calls > 20, "{calls}");
    stopped_everywhere(|control, _| {
        let bound = bank_bound(&records, Uses::FirstAndLast, seed.total(), 100, control).unwrap();
        assert!(widest <= bound && bound <= seed.total());
    });
}

/// Without any time there is still a plan, and it reports that no search took place.
#[test]
fn a_deadline_of_zero_is_answered() {
    for records in [csv_records("posenet"), short_lived(3000), Vec::new()] {
        let control = SearchControl::new().timeout(Duration::ZERO);
        let comparison = compare_strategies(&records, Uses::FirstAndLast, SearchBudget::default(), &control).unwrap();
        is_valid(&records, &comparison.best.layout);
        assert!(records.is_empty() || comparison.stopped == Some(StopReason::Deadline));
        assert!(records.is_empty() || comparison.best.not_tried.iter().any(|other| other.name == "greedy_by_breadth"));
        assert!(records.is_empty() || comparison.to_string().contains("not tried"));
    }
}

/// `--nodes 1` does not bound the time: one relaxation of this public instance takes longer than five minutes. The
/// deadline must.
#[test]
fn a_hard_public_instance_ends_at_its_deadline() {
    let records = minimalloc("J.1048576");
    let begun = Instant::now();
    let control = SearchControl::new().timeout(Duration::from_secs(3));
    let comparison = compare_strategies(
        &records,
        Uses::FirstAndLast,
        SearchBudget { nodes: 1, moves: 20_000, ..SearchBudget::PORTFOLIO },
        &control,
    )
    .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    is_valid(&records, &comparison.best.layout);
    assert_eq!((comparison.stopped, comparison.optimum.proven), (Some(StopReason::Deadline), false));
}

/// Cancelling takes effect in the middle of a linear program, although the solver itself cannot be interrupted.
#[test]
fn a_linear_program_is_left_when_it_is_cancelled() {
    let records = minimalloc("J.1048576");
    let begun = Instant::now();
    let cancelled: Arc<Mutex<Option<Instant>>> = Arc::default();
    let mut tell = {
        let cancelled = Arc::clone(&cancelled);
        move |progress: Progress| {
            let mut cancelled = cancelled.lock().unwrap();
            if progress.stage == "exact search" && begun.elapsed() > Duration::from_secs(2) {
                cancelled.get_or_insert_with(Instant::now);
            }
            if cancelled.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    };
    let control = SearchControl::new().progress(&mut tell);
    let optimum = optimum(&records, 1, &control).unwrap();
    let cancelled = cancelled.lock().unwrap().unwrap();
    assert!(cancelled.elapsed() < Duration::from_secs(2), "{:?}", cancelled.elapsed());
    assert_eq!((optimum.stopped, optimum.proven), (Some(StopReason::Cancelled), false));
    is_valid(&records, &optimum.layout);
}

/// A share stopped by its own deadline does not stop the whole control. Cancelling through a share stops both.
#[test]
fn a_share_ends_with_the_whole_and_not_the_whole_with_a_share() {
    let whole = SearchControl::new().timeout(Duration::from_secs(3600));
    let none = whole.share(0, 10);
    assert!(none.should_stop() && none.stopped() == Some(StopReason::Deadline));
    assert!(!whole.should_stop());
    assert!(whole.share(1, 2).remaining().unwrap() <= Duration::from_secs(1800));
    let mut tell = |_| ControlFlow::Break(());
    let whole = SearchControl::new().progress(&mut tell);
    let share = whole.share(1, 2);
    let part = share.share(1, 2);
    assert!(part.remaining().is_none() && !part.should_stop());
    part.report(Progress::new("part", 0, 0));
    for control in [&part, &share] {
        assert_eq!((control.should_stop(), control.stopped()), (true, Some(StopReason::Cancelled)));
    }
    assert_eq!(whole.stopped(), Some(StopReason::Cancelled));
}

/// A loop that calls `should_stop` but never reports progress can still be cancelled.
#[test]
fn who_only_asks_whether_to_stop_is_told() {
    let mut tell = |_| ControlFlow::Break(());
    let control = SearchControl::new().progress(&mut tell);
    let share = control.share(1, 2);
    let polls = (0..1000).position(|_| share.should_stop());
    assert!(polls.is_some_and(|polls| polls < 100), "{polls:?}");
}

/// A strategy whose memory grows with pairs of records rejects too many records, and a comparison reports that.
#[test]
fn min_cost_flow_refuses_more_records_than_memory_holds() {
    let records = short_lived(3000);
    let refused = texpool_plan::Strategy::MinCostFlow.place(&records);
    assert!(
        matches!(refused, Err(PlanError::Unsupported(UnsupportedError::TooManyRecords { records: 3000, .. }))),
        "{refused:?}"
    );
}
