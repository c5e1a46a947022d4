//! Orders of operations: allowed, never worse than the given one, and as good as the best of all orders.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use texpool_plan::{
    ArenaPlanner, Buffer, InputError, LeastPeak, OrderProblem, OrderTensor, PlanError, SearchControl, StepUse,
    StopReason, UsageRecord, least_peak, smallest_pool,
};

use super::topologies::{
    Network, Random, darts, darts_cells, densenet, googlenet, nasnet_cells, randwire, randwire_cell, unet,
};

/// Returns a random problem: operations that read earlier results, some tensors that live from the start or to the
/// end, and some written by two operations.
fn random_problem(operations: usize, seed: u64) -> OrderProblem {
    let mut random = Random(seed);
    let reach = 1 + random.below(operations as u64);
    let mut steps: Vec<StepUse> = Vec::new();
    let mut tensors = vec![OrderTensor::new(random.below(20))];
    if random.below(2) == 0 {
        tensors[0] = tensors[0].from_start();
    }
    for _ in 0..operations {
        let most = random.below(3);
        let read = |random: &mut Random| tensors.len() - 1 - random.below(reach.min(tensors.len() as u64)) as usize;
        let mut reads: Vec<usize> = (0..most).map(|_| read(&mut random)).collect();
        reads.dedup();
        let shared = tensors.len() > 2 && random.below(6) == 0;
        let write = if shared { random.below(tensors.len() as u64 - 1) as usize + 1 } else { tensors.len() };
        reads.retain(|&tensor| tensor != write);
        if !shared {
            let tensor = OrderTensor::new(random.below(20));
            tensors.push(if random.below(6) == 0 { tensor.to_end() } else { tensor });
        }
        steps.push(StepUse { reads, writes: vec![write] });
    }
    if !steps.iter().any(|step| step.reads.contains(&0)) {
        steps[0].reads.push(0);
    }
    OrderProblem::new(steps, tensors).unwrap()
}

/// Calls `visit` with every order that is allowed.
fn every_order(problem: &OrderProblem, order: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    if order.len() == problem.len() {
        return visit(order);
    }
    for operation in 0..problem.len() {
        if !order.contains(&operation) && problem.dependencies(operation).iter().all(|other| order.contains(other)) {
            order.push(operation);
            every_order(problem, order, visit);
            order.pop();
        }
    }
}

fn smallest_peak(problem: &OrderProblem) -> u64 {
    let mut smallest = u64::MAX;
    every_order(problem, &mut Vec::new(), &mut |order| smallest = smallest.min(problem.peak(order).unwrap()));
    smallest
}

fn arena(records: &[UsageRecord]) -> Result<u64, PlanError> {
    Ok(ArenaPlanner::from_iter(records.iter().copied().map(Buffer::from)).effort(5000).plan()?.total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_exact_search_agrees_with_all_orders(operations in 1usize..8, seed: u64) {
        let problem = random_problem(operations, seed);
        let least = least_peak(&problem, LeastPeak::EFFORT, &SearchControl::new());
        prop_assert_eq!((least.peak, least.bound), (smallest_peak(&problem), least.peak));
        prop_assert_eq!(problem.peak(&least.order).unwrap(), least.peak);
        for other in &least.others {
            prop_assert_eq!(problem.peak(other).unwrap(), least.peak);
        }
    }

    #[test]
    fn little_effort_gives_valid_bounds_and_orders(operations in 1usize..8, seed: u64, effort in 0u64..12) {
        let problem = random_problem(operations, seed);
        let least = least_peak(&problem, effort, &SearchControl::new());
        let smallest = smallest_peak(&problem);
        prop_assert!(least.bound <= smallest && smallest <= least.peak && least.peak <= least.given_peak);
        prop_assert_eq!(problem.peak(&least.order).unwrap(), least.peak);
        prop_assert_eq!(&least, &least_peak(&problem, effort, &SearchControl::new()));
    }

    #[test]
    fn the_pool_is_never_larger_than_in_the_given_order(operations in 1usize..40, seed: u64) {
        let problem = random_problem(operations, seed);
        let given: Vec<usize> = (0..problem.len()).collect();
        let least = least_peak(&problem, 1000, &SearchControl::new());
        let best = smallest_pool(&problem, &least, |records, _| arena(records)).unwrap();
        prop_assert_eq!(best.given_pool, arena(&problem.records(&given).unwrap()).unwrap());
        prop_assert_eq!(best.pool, arena(&problem.records(&best.order).unwrap()).unwrap());
        prop_assert!(best.pool <= best.given_pool && best.bound <= best.pool && best.peak <= best.pool);
    }
}

/// Each network with the smallest peak of all its orders, if it is proven.
#[test]
fn networks_get_proven_orders() {
    let proven = |network: Network| {
        let problem = network.problem().unwrap();
        let least = least_peak(&problem, LeastPeak::EFFORT, &SearchControl::new());
        assert_eq!(problem.peak(&least.order).unwrap(), least.peak);
        assert!(least.is_proven(), "{} > {}", least.peak, least.bound);
        (least.given_peak, least.peak)
    };
    let unchanged = |(given, peak)| assert_eq!(given, peak);
    unchanged(proven(unet()));
    unchanged(proven(densenet()));
    unchanged(proven(googlenet()));
    unchanged(proven(darts()));
    unchanged(proven(darts_cells(1)));
    for network in [darts_cells(4), nasnet_cells(3), randwire_cell(1, 16), randwire_cell(1, 32)] {
        let (given, peak) = proven(network);
        assert!(peak < given, "{peak} of {given}");
    }
}

#[test]
fn a_search_keeps_its_deadline() {
    let problem = randwire(2).problem().unwrap();
    let start = Instant::now();
    let control = SearchControl::new().timeout(Duration::from_millis(20));
    let least = least_peak(&problem, u64::MAX, &control);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(problem.peak(&least.order).unwrap(), least.peak);
    assert!(least.peak <= least.given_peak && least.bound <= least.peak);
    assert_eq!(least.stopped.is_some(), !least.is_proven());
    let cancelled = SearchControl::new().timeout(Duration::ZERO);
    let least = least_peak(&problem, u64::MAX, &cancelled);
    assert_eq!((least.peak, least.stopped), (least.given_peak, Some(StopReason::Deadline)));
}

#[test]
fn contradictions_are_refused() {
    let uses = |reads: &[usize], writes: &[usize]| StepUse { reads: reads.to_vec(), writes: writes.to_vec() };
    let refused = |steps: Vec<StepUse>, sizes: &[u64]| {
        let tensors = sizes.iter().map(|&size| OrderTensor::new(size)).collect();
        OrderProblem::new(steps, tensors).unwrap_err()
    };
    let unknown = InputError::UnknownTensor { operation: 0, tensor: 1 };
    assert_eq!(refused(vec![uses(&[0], &[1])], &[1]), unknown.into());
    assert_eq!(refused(vec![uses(&[0], &[1])], &[1; 3]), InputError::UnusedTensor { tensor: 2 }.into());
    let overflow = InputError::Overflow { record: 1 };
    assert_eq!(refused(vec![uses(&[0], &[1])], &[u64::MAX, 1]), overflow.into());
    let late = InputError::LateDependency { operation: 0, dependency: 0 };
    let own = OrderProblem::with_dependencies(vec![uses(&[], &[0])], vec![OrderTensor::new(1)], vec![vec![0]]);
    assert_eq!(own.unwrap_err(), late.into());

    let chain = OrderProblem::new(vec![uses(&[], &[0]), uses(&[0], &[1])], vec![OrderTensor::new(1); 2]).unwrap();
    let late = InputError::LateDependency { operation: 1, dependency: 0 };
    assert_eq!(chain.peak(&[1, 0]), Err(late.into()));
    assert_eq!(chain.peak(&[0, 0]), Err(InputError::NotAnOrder { operation: 0 }.into()));
    assert_eq!(chain.peak(&[0, 2]), Err(InputError::NotAnOrder { operation: 2 }.into()));
    let short = InputError::LengthMismatch { what: "the order", expected: 2, found: 1 };
    assert_eq!(chain.peak(&[0]), Err(short.into()));
}
