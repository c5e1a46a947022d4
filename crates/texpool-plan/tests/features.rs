//! Promises that hold with and without the feature `proofs`.

use texpool_plan::{
    ArenaPlanner, ArenaProof, Buffer, SearchControl, UsageRecord, check_layout, optimum, verify_certificate,
};

fn records() -> Vec<UsageRecord> {
    [(0, 1, 8), (1, 2, 4), (2, 3, 8), (3, 4, 2), (4, 6, 8), (5, 5, 3), (6, 8, 4)]
        .map(|(first, last, size)| UsageRecord::new(first, last, size))
        .to_vec()
}

#[test]
fn shared_objects_have_a_plan_and_a_bound_that_anyone_can_check() {
    let records = records();
    let best = optimum(&records, 100, &SearchControl::new()).unwrap();
    assert_eq!(check_layout(&records, &[], &best.layout), Ok(()));
    assert_eq!(verify_certificate(&records, &best.certificate), Ok(best.certificate.bound));
    assert!(best.certificate.bound <= best.layout.total());
    assert_eq!(best.proven, best.certificate.bound == best.layout.total());
    // No linear program is solved without the feature.
    assert!(cfg!(feature = "proofs") || best.nodes == 0);
}

#[test]
fn arenas_are_proven() {
    let plan = ArenaPlanner::from_iter(records().into_iter().map(Buffer::from)).plan().unwrap();
    assert_eq!((plan.total, plan.proof), (12, ArenaProof::WidestStep));
}
