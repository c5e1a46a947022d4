//! A search that is stopped at any point returns a valid plan, and the reason for the stop.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use super::networks;
use texpool_compile::{CompileError, CompileOptions, CompiledModel, Objective, compile, pareto_front};
use texpool_ops::graph::Graph;
use texpool_plan::{Planner, Progress, SearchControl, StopReason, Strategy, TextureLimits, check, check_rows};

const MODES: [Objective; 3] = [Objective::Fastest, Objective::Balanced, Objective::Smallest];

fn options(objective: Objective) -> CompileOptions {
    CompileOptions { objective, ..CompileOptions::default() }
}

/// Checks the plan once more, by the checker of its kind.
fn holds(compiled: &CompiledModel) {
    let (schedule, plan) = (compiled.schedule(), compiled.plan());
    let limits = TextureLimits { max_extent: 8192 };
    let outcome = match compiled.tiled() {
        Some(_) => {
            check_rows(&schedule.tensors(), &schedule.whole(compiled.graph()), &schedule.row_steps(), plan, limits)
        }
        None => check(&schedule.records, &schedule.tensors(), &schedule.uses(), plan, limits),
    };
    assert_eq!(outcome, Ok(()));
}

/// Prepares a model and stops at call number `last` of the callback. Also returns the number of calls.
fn broken_off(graph: &Graph, objective: Objective, last: usize) -> (Result<CompiledModel, CompileError>, usize) {
    let mut calls = 0;
    let mut callback = |_: Progress| {
        calls += 1;
        if calls >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = compile(graph, &options(objective), &SearchControl::new().progress(&mut callback));
    (outcome, calls)
}

/// A search stopped halfway returns a complete plan, no larger than one without sharing.
#[test]
fn breaking_off_at_any_call_gives_a_plan_that_holds() {
    let graph = networks::mobilenet_v2();
    for objective in MODES {
        let (whole, calls) = broken_off(&graph, objective, usize::MAX);
        let whole = whole.unwrap();
        assert_eq!(whole.stopped(), None);
        assert!(objective == Objective::Fastest || calls > 20, "{objective:?} is told of {calls} times");
        let naive = CompileOptions { planner: Planner::Strategy(Strategy::Naive), ..options(Objective::Fastest) };
        let naive = compile(&graph, &naive, &SearchControl::new()).unwrap().plan().bytes();
        for last in [1, 2, 3, 5, 8, 20, calls / 4, calls / 2, calls * 3 / 4, calls * 9 / 10] {
            if last == 0 || last > calls / 2 && objective == Objective::Fastest {
                continue;
            }
            let compiled = broken_off(&graph, objective, last).0.unwrap();
            holds(&compiled);
            assert_eq!(compiled.stopped(), Some(StopReason::Cancelled), "{objective:?} at {last} of {calls}");
            assert!(compiled.plan().bytes() <= naive, "{objective:?} at {last} of {calls}");
        }
    }
}

/// A deadline of zero still gives the plan of whole tensors.
#[test]
fn a_deadline_of_nothing_gives_a_plan_that_holds() {
    for graph in [networks::mobilenet_v1(), networks::resnet18(), networks::squeezenet()] {
        for objective in MODES {
            let compiled = compile(&graph, &options(objective), &SearchControl::new().timeout(Duration::ZERO)).unwrap();
            holds(&compiled);
            assert_eq!(compiled.tiled(), None);
            assert!(
                objective == Objective::Fastest || compiled.stopped() == Some(StopReason::Deadline),
                "{objective:?}"
            );
        }
        let front =
            pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new().timeout(Duration::ZERO)).unwrap();
        assert_eq!((front.points().len(), front.stopped()), (1, Some(StopReason::Deadline)));
        holds(&front.compiled(0).unwrap());
        assert!(front.compiled(1).is_none());
    }
}

/// Failing to meet a budget in time does not prove that it is impossible.
#[test]
fn a_budget_that_time_ran_out_for_says_so() {
    let graph = networks::mobilenet_v1();
    let outcome = compile(&graph, &options(Objective::Pool(1 << 20)), &SearchControl::new().timeout(Duration::ZERO));
    let error = outcome.map(|_| ()).unwrap_err();
    assert!(matches!(error, CompileError::Budget { stopped: Some(StopReason::Deadline), .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("the deadline passed") && !message.contains("--"), "{message}");
}

/// Deadlines are kept while the search is in any of its stages.
#[test]
fn deadlines_are_kept() {
    let graph = networks::mobilenet_v2();
    for milliseconds in [20, 100, 300, 900] {
        let (begun, time) = (Instant::now(), Duration::from_millis(milliseconds));
        let compiled = compile(&graph, &options(Objective::Smallest), &SearchControl::new().timeout(time)).unwrap();
        holds(&compiled);
        // A generous limit: the work after a stop competes with everything else on this machine.
        assert!(begun.elapsed() < time + Duration::from_secs(20), "{:?} for {time:?}", begun.elapsed());
    }
}
