//! The exact optimum: proven on every set, equal to brute force on small ones, and with certificates that resist
//! tampering.

use std::time::Duration;

use proptest::{prelude::*, strategy::Strategy as Generator};
use texpool_plan::{
    Case, Certificate, Optimum, PlanError, Prices, Proof, SearchControl, Strategy, UsageRecord, bounds, check_layout,
    optimum, uses_from_records, verify_certificate,
};

use crate::data::{long_lived, minimalloc, usage_record_sets};

const NODES: u64 = 1000;

fn solve(records: &[UsageRecord]) -> Optimum {
    let optimum = optimum(records, NODES, &SearchControl::new()).unwrap();
    assert_eq!(check_layout(records, &[], &optimum.layout), Ok(()));
    assert_eq!(verify_certificate(records, &optimum.certificate), Ok(optimum.certificate.bound));
    optimum
}

#[test]
fn all_23_sets_are_proven_at_the_reference_optimum() {
    let sets = usage_record_sets();
    assert_eq!(sets.len(), 23);
    for (instance, records) in sets {
        let optimum = solve(&records);
        assert_eq!(Some(optimum.layout.total()), instance["objects_optimum"].as_u64(), "{}", instance["name"]);
        assert!(optimum.proven, "{}", instance["name"]);
    }
}

/// Proves one hard instance. The other five take a minute together, so the bench `table` proves them.
#[test]
fn a_hard_public_instance_is_proven() {
    let optimum = solve(&minimalloc("A.1048576"));
    assert_eq!((optimum.layout.total(), optimum.proven), (1_976_320, true));
}

#[test]
fn without_nodes_the_positional_bound_is_certified() {
    let records = minimalloc("A.1048576");
    let optimum = optimum(&records, 0, &SearchControl::new()).unwrap();
    assert_eq!((optimum.certificate.bound, optimum.proven, optimum.nodes), (1_931_264, false, 0));
    assert_eq!(verify_certificate(&records, &optimum.certificate), Ok(1_931_264));
}

/// Many long live ranges: the relaxation takes too long, and the greedy strategies give a larger total than the
/// matching.
#[test]
fn an_optimum_that_is_stopped_is_no_larger_than_min_cost_flow() {
    let records = long_lived(150);
    let optimum = optimum(&records, NODES, &SearchControl::new().timeout(Duration::from_secs(3))).unwrap();
    let matched = Strategy::MinCostFlow.place(&records).unwrap().total();
    let greedy = Strategy::PORTFOLIO.iter().map(|s| s.place(&records).unwrap().total()).min().unwrap();
    assert!(matched < greedy, "{matched} {greedy}");
    assert!(optimum.proven || optimum.layout.total() <= matched, "{} {matched}", optimum.layout.total());
    assert_eq!(check_layout(&records, &[], &optimum.layout), Ok(()));
}

/// Tries every assignment of tensors to objects, pruned only by feasibility.
fn brute_force(records: &[UsageRecord]) -> u64 {
    fn place(records: &[UsageRecord], objects: &mut Vec<(u64, Vec<usize>)>, at: usize) -> u64 {
        if at == records.len() {
            return objects.iter().map(|o| o.0).sum();
        }
        let mut best = u64::MAX;
        for object in 0..=objects.len() {
            if object == objects.len() {
                objects.push((0, Vec::new()));
            }
            if objects[object].1.iter().all(|&other| !records[other].conflicts(&records[at])) {
                let before = objects[object].0;
                objects[object].0 = before.max(records[at].size);
                objects[object].1.push(at);
                best = best.min(place(records, objects, at + 1));
                objects[object].1.pop();
                objects[object].0 = before;
            }
            if objects[object].1.is_empty() {
                objects.pop();
                break;
            }
        }
        best
    }
    place(records, &mut Vec::new(), 0)
}

fn small() -> impl Generator<Value = Vec<UsageRecord>> {
    let record = (0usize..9, 0usize..4, 0u64..9);
    let record = record.prop_map(|(first, length, size)| UsageRecord::new(first, first + length, size));
    prop::collection::vec(record, 0..8)
}

proptest! {
    #[test]
    fn brute_force_agrees(records in small()) {
        let optimum = solve(&records);
        prop_assert!(optimum.proven);
        prop_assert_eq!(optimum.layout.total(), brute_force(&records));
    }

    #[test]
    fn bounds_then_optimum_then_strategies(
        records in prop::collection::vec((0usize..30, 0usize..9, 1u64..40), 1..40)
    ) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let optimum = solve(&records);
        prop_assert!(optimum.proven, "{} nodes", optimum.nodes);
        prop_assert!(bounds(&records).unwrap().shared_objects <= optimum.layout.total());
        for strategy in Strategy::ALL.iter().filter(|s| s.problem() == texpool_plan::LayoutKind::SharedObjects) {
            prop_assert!(optimum.layout.total() <= strategy.place(&records).unwrap().total(), "{}", strategy);
        }
        let uses = uses_from_records(&records).unwrap();
        prop_assert_eq!(check_layout(&records, &uses, &optimum.layout), Ok(()));
    }

    /// A certificate changed anywhere proves no more than the optimum.
    #[test]
    fn bent_certificates_never_prove_more(records in small(), claim in 1u64..5, bend in any::<u64>()) {
        let optimum = solve(&records);
        let mut bent = optimum.certificate.clone();
        bent.bound += claim;
        prop_assert!(verify_certificate(&records, &bent).is_err());
        let mut cases = bent.proof.cases().to_vec();
        if let [Case::Leaf(prices)] = cases.as_mut_slice() {
            let clique = prices.clique.iter_mut().map(|p| &mut p.2);
            let mut all: Vec<&mut u64> = clique.chain(prices.count.iter_mut().map(|p| &mut p.1)).collect();
            if !all.is_empty() {
                let at = bend as usize % all.len();
                *all[at] = all[at].wrapping_add(bend >> 8);
                bent.proof = Proof::from_cases(cases).unwrap();
                prop_assert!(verify_certificate(&records, &bent).is_err());
            }
        }
    }
}

#[test]
fn hostile_certificates_are_refused() {
    let records = [UsageRecord::new(0, 1, 4), UsageRecord::new(1, 2, 4)];
    let refused = |scale, bound, proof| verify_certificate(&records, &Certificate { bound, scale, proof }).unwrap_err();
    let bad = |error| matches!(error, PlanError::BadCertificate { .. });
    let free = || Proof::leaf(Prices::default());
    assert!(bad(refused(0, 0, free())));
    assert!(bad(refused(u64::MAX, 0, free())));
    assert!(bad(refused(1, 1, free())));
    let overpaid = Prices { count: vec![(4, u64::MAX)], ..Prices::default() };
    assert!(bad(refused(1, 8, Proof::leaf(overpaid))));
    let refunded = Prices { count: vec![(4, 8)], refund: vec![(4, 4)], ..Prices::default() };
    assert!(bad(refused(1, 8, Proof::leaf(refunded))));
    let split = |count| Proof::count(4, count, free(), free());
    assert!(bad(refused(1, 0, split(0))));
    assert!(bad(refused(1, 1, split(2))));
    assert!(bad(refused(1, 1, split(u64::MAX))));
    let record = |record| Proof::record(record, 4, free(), free());
    assert!(bad(refused(1, 1, record(0))));
    assert!(bad(refused(1, 1, record(9))));
    let closed = Proof::record(0, 3, free(), free());
    let closed = Proof::record(0, 9, closed, free());
    assert!(bad(refused(1, 1, closed)));
}
