//! Banks: never above their seed, mostly below the proven optimum, and legal.

use proptest::prelude::*;
use texpool::plan::{
    Budget, Choice, PlanError, Problem, Strategy, UsageRecord, banks, best, bounds, check_layout, choose, optimum,
    uses_from_records, verify_certificate,
};

use crate::data::usage_record_sets;

#[test]
fn below_the_proven_optimum_on_most_of_the_23_sets() {
    let mut below = 0;
    for (instance, records) in usage_record_sets() {
        let uses = uses_from_records(&records).unwrap();
        let objects = optimum(&records, 100, &mut |_| {}).unwrap().layout;
        let found = banks(&records, &uses, &objects, 200_000).unwrap();
        assert_eq!(found.problem, Problem::Banks);
        assert_eq!(check_layout(&records, &uses, &found), Ok(()), "{}", instance["name"]);
        assert!(found.total() <= objects.total(), "{}", instance["name"]);
        assert!(found.total() >= bounds(&records).unwrap().offsets, "{}", instance["name"]);
        below += usize::from(found.total() < objects.total());
    }
    assert!(below >= 20, "{below}");
}

#[test]
fn what_is_asked_for_is_what_is_planned() {
    let sets = usage_record_sets();
    let (_, records) = &sets[1];
    let uses = uses_from_records(records).unwrap();
    let plan = |name: &str| choose(records, &uses, name.parse().unwrap(), Budget::default());
    let found = ["best", "optimum", "banks", "greedy_by_breadth"].map(|name| plan(name).unwrap());
    assert_eq!(found.each_ref().map(|b| b.strategy.as_str()), ["banks", "optimum", "banks", "greedy_by_breadth"]);
    assert_eq!(found.each_ref().map(|b| b.layout.total()), [6_623_232, 7_024_640, 6_623_232, 7_225_344]);
    assert!(found[0].reason.contains("401408 less than any Shared Objects plan"), "{}", found[0].reason);
    assert!(found[1].reason.contains("the proven Shared Objects optimum"), "{}", found[1].reason);
    for best in &found[..3] {
        assert_eq!(verify_certificate(records, &best.certificate), Ok(7_024_640));
    }
    assert_eq!(verify_certificate(records, &found[3].certificate), Ok(6_924_288));
    let arena = plan(Strategy::OffsetsGreedyBySize.name()).unwrap_err();
    assert_eq!(arena, PlanError::NotForTextures { strategy: "offsets_greedy_by_size" });
    assert!(matches!(plan("optimum").map(|b| b.layout.problem), Ok(Problem::SharedObjects)));
    assert_eq!("banks".parse::<Choice>().unwrap().to_string(), "banks");
    assert!("bank".parse::<Choice>().is_err());
}

#[test]
fn uses_of_records_that_are_not_there_are_refused() {
    let records = [UsageRecord::new(0, 1, 5), UsageRecord::new(1, 2, 4)];
    let mut uses = uses_from_records(&records).unwrap();
    uses[1].reads.push(2);
    let refused = best(&records, &uses, Budget::default());
    assert!(matches!(refused, Err(PlanError::UseOutsideLife { step: 1, record: 2, .. })));
}

/// Sets beyond any network are planned by the greedy strategies at once, not searched for ever.
#[test]
fn very_large_sets_are_answered() {
    let chain: Vec<UsageRecord> = (0..8000).map(|i| UsageRecord::new(i, i + 1 + i % 7, 1000 + i as u64)).collect();
    let uses = uses_from_records(&chain).unwrap();
    let found = best(&chain, &uses, Budget { nodes: 10, moves: 1000 }).unwrap();
    assert_eq!(check_layout(&chain, &uses, &found.layout), Ok(()));
    let crowd: Vec<UsageRecord> = (0..1500).map(|i| UsageRecord::new(i, 9000, 1 + i as u64)).collect();
    let uses = uses_from_records(&crowd).unwrap();
    let found = best(&crowd, &uses, Budget { nodes: 10, moves: 1000 }).unwrap();
    assert_eq!(found.layout.total(), found.bounds.naive);
}

proptest! {
    #[test]
    fn every_bank_plan_passes_the_checker(
        records in prop::collection::vec((0usize..20, 0usize..8, 0u64..12), 0..30),
        mid_reads in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..20),
    ) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let mut uses = uses_from_records(&records).unwrap();
        // Tensors are read in the middle of their lives too.
        for (which, step) in mid_reads.iter().filter(|_| !records.is_empty()) {
            let tensor = which.index(records.len());
            let UsageRecord { first, last, .. } = records[tensor];
            uses[first + step.index(last - first + 1)].reads.push(tensor);
        }
        // A step that reads what it writes is no step.
        for step in &mut uses {
            let writes = step.writes.clone();
            step.reads.retain(|read| !writes.contains(read));
        }
        let seed = Strategy::GreedyBySize.place(&records).unwrap();
        let found = banks(&records, &uses, &seed, 5000).unwrap();
        prop_assert_eq!(check_layout(&records, &uses, &found), Ok(()));
        prop_assert!(found.total() <= seed.total());
        prop_assert_eq!(&found, &banks(&records, &uses, &seed, 5000).unwrap());
    }
}
