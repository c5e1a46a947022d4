//! Reordered steps: legal, never worse, and as narrow as any order where the graph is small.

use proptest::{prelude::*, strategy::Strategy as Generator};
use texpool::plan::{PlanError, SearchControl, StepUse, Strategy, bounds, records_from_uses, reorder};

fn step(reads: &[usize], writes: &[usize]) -> StepUse {
    StepUse { reads: reads.to_vec(), writes: writes.to_vec() }
}

/// Two branches that are wide in the middle and narrow at their ends: the file runs them side by side.
fn branches() -> (Vec<StepUse>, Vec<u64>) {
    let uses = vec![
        step(&[], &[0]),
        step(&[0], &[1]),
        step(&[0], &[2]),
        step(&[1], &[3]),
        step(&[2], &[4]),
        step(&[3, 4], &[5]),
    ];
    (uses, vec![1, 10, 10, 1, 1, 1])
}

#[test]
fn branches_are_run_one_after_the_other() {
    let (uses, sizes) = branches();
    let before = bounds(&records_from_uses(&uses, &sizes).unwrap()).unwrap();
    assert_eq!((before.shared_objects, before.offsets), (21, 21));
    let found = reorder(&uses, &sizes, 100, &SearchControl::new()).unwrap();
    let after = bounds(&found.records).unwrap();
    assert_eq!((after.offsets, found.narrowest), (12, Some(12)));
    assert_ne!(found.order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_tensor_that_no_step_touches_is_refused() {
    let refused = records_from_uses(&[step(&[], &[0])], &[1, 1]);
    assert_eq!(refused, Err(PlanError::NeverUsed { record: 1 }));
    assert!(matches!(
        reorder(&[step(&[], &[3])], &[1], 0, &SearchControl::new()),
        Err(PlanError::OutOfRange { index: 3, .. })
    ));
}

#[test]
fn a_long_chain_keeps_its_order() {
    let uses: Vec<StepUse> = (0..200).map(|s| if s == 0 { step(&[], &[0]) } else { step(&[s - 1], &[s]) }).collect();
    let found = reorder(&uses, &[7; 200], 500, &SearchControl::new()).unwrap();
    assert_eq!(found.order, (0..200).collect::<Vec<_>>());
    assert_eq!(found.narrowest, Some(14).filter(|_| uses.len() <= 64));
}

fn graphs(steps: usize) -> impl Generator<Value = (Vec<StepUse>, Vec<u64>)> {
    let one = (prop::collection::vec(any::<prop::sample::Index>(), 1..3), 1u64..20);
    prop::collection::vec(one, 2..steps).prop_map(|steps| {
        let sizes = steps.iter().map(|s| s.1).collect();
        let reads = |at: usize, picks: &[prop::sample::Index]| {
            let mut reads: Vec<usize> = picks.iter().filter(|_| at > 0).map(|p| p.index(at)).collect();
            reads.sort_unstable();
            reads.dedup();
            reads
        };
        (steps.iter().enumerate().map(|(at, s)| step(&reads(at, &s.0), &[at])).collect(), sizes)
    })
}

/// The least widest step over every legal order.
fn brute_force(uses: &[StepUse], sizes: &[u64]) -> u64 {
    fn extend(uses: &[StepUse], sizes: &[u64], order: &mut Vec<usize>, best: &mut u64) {
        if order.len() == uses.len() {
            let moved: Vec<StepUse> = order.iter().map(|&s| uses[s].clone()).collect();
            *best = (*best).min(bounds(&records_from_uses(&moved, sizes).unwrap()).unwrap().offsets);
            return;
        }
        for s in 0..uses.len() {
            // Every tensor is written by the step of its number.
            if !order.contains(&s) && uses[s].reads.iter().all(|r| order.contains(r)) {
                order.push(s);
                extend(uses, sizes, order, best);
                order.pop();
            }
        }
    }
    let mut best = u64::MAX;
    extend(uses, sizes, &mut Vec::new(), &mut best);
    best
}

proptest! {
    #[test]
    fn small_graphs_are_solved((uses, sizes) in graphs(8)) {
        let found = reorder(&uses, &sizes, 50, &SearchControl::new()).unwrap();
        prop_assert_eq!(found.narrowest, Some(brute_force(&uses, &sizes)));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn orders_are_legal_and_never_worse((uses, sizes) in graphs(40)) {
        let found = reorder(&uses, &sizes, 200, &SearchControl::new()).unwrap();
        let mut done = vec![false; uses.len()];
        for &s in &found.order {
            prop_assert!(uses[s].reads.iter().all(|&r| done[r]));
            prop_assert!(!std::mem::replace(&mut done[s], true));
        }
        prop_assert!(done.iter().all(|&d| d));
        let least = |records: &[_]| Strategy::PORTFOLIO.iter().map(|s| s.place(records).unwrap().total()).min();
        prop_assert!(least(&found.records) <= least(&records_from_uses(&uses, &sizes).unwrap()));
        prop_assert_eq!(found, reorder(&uses, &sizes, 200, &SearchControl::new()).unwrap());
    }
}
