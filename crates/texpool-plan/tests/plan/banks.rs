//! Banks: never larger than their seed, usually below the proven optimum for shared objects, and valid.

use proptest::prelude::*;
use texpool_plan::{
    InputError, LayoutKind, PlanError, Planner, SearchBudget, SearchControl, StepUse, Strategy, UnsupportedError,
    UsageRecord, bank_bound, bounds, check_layout, optimum, place_banks, solve, uses_from_records, verify_certificate,
};

use crate::data::usage_record_sets;

/// The bound proves that every total is minimal, including those that are not below the shared-objects optimum.
#[test]
fn banks_are_optimal_and_below_the_shared_objects_optimum_on_20_of_the_23_sets() {
    let mut below = 0;
    for (instance, records) in usage_record_sets() {
        let uses = uses_from_records(&records).unwrap();
        let objects = optimum(&records, 100, &SearchControl::new()).unwrap().layout;
        let banks = place_banks(&records, &uses, &objects, 200_000, &SearchControl::new()).unwrap();
        assert_eq!(banks.problem, LayoutKind::Banks);
        assert_eq!(check_layout(&records, &uses, &banks), Ok(()), "{}", instance["name"]);
        assert!(banks.total() <= objects.total(), "{}", instance["name"]);
        assert!(banks.total() >= bounds(&records).unwrap().offsets, "{}", instance["name"]);
        let bound = bank_bound(&records, &uses, banks.total(), 1000, &SearchControl::new()).unwrap();
        assert_eq!(banks.total(), bound, "{}", instance["name"]);
        below += usize::from(banks.total() < objects.total());
    }
    assert_eq!(below, 20);
}

/// Returns the least sum of the banks' peaks, by trying every assignment.
fn least_of_all_assignments(records: &[UsageRecord], uses: &[StepUse], bank_of: &mut Vec<usize>) -> u64 {
    let banks = bank_of.iter().max().map_or(0, |&bank| bank + 1);
    let this = bank_of.len();
    if this == records.len() {
        let load = |bank: usize, step: usize| -> u64 {
            let here =
                records.iter().zip(&*bank_of).filter(|(r, of)| **of == bank && r.first <= step && step <= r.last);
            here.map(|(r, _)| r.size).sum()
        };
        let peak = |bank: usize| records.iter().map(|r| load(bank, r.first)).max().unwrap_or(0);
        return (0..banks).map(peak).sum();
    }
    let mut least = u64::MAX;
    for bank in 0..=banks {
        let clash = |step: &StepUse| {
            let ours = |list: &[usize]| list.iter().any(|&t| t < this && bank_of[t] == bank);
            step.writes.contains(&this) && ours(&step.reads) || step.reads.contains(&this) && ours(&step.writes)
        };
        if !uses.iter().any(clash) {
            bank_of.push(bank);
            least = least.min(least_of_all_assignments(records, uses, bank_of));
            bank_of.pop();
        }
    }
    least
}

#[test]
fn a_bound_without_states_is_the_widest_step() {
    let sets = usage_record_sets();
    let (_, records) = &sets[1];
    let uses = uses_from_records(records).unwrap();
    let bound =
        |best_known, divisions| bank_bound(records, &uses, best_known, divisions, &SearchControl::new()).unwrap();
    assert_eq!(bound(7_024_640, 0), bounds(records).unwrap().offsets);
    assert_eq!(bound(7_024_640, 1000), 6_623_232);
    assert_eq!(bound(6_623_232, 1000), 6_623_232);
    assert_eq!(bound(100, 1000), 100);
    let nowhere = [StepUse { reads: vec![99], writes: vec![0] }];
    assert!(matches!(
        bank_bound(records, &nowhere, 1, 1, &SearchControl::new()),
        Err(PlanError::Input(InputError::UseOutsideLife { record: 99, .. }))
    ));
}

#[test]
fn what_is_asked_for_is_what_is_planned() {
    let sets = usage_record_sets();
    let (_, records) = &sets[1];
    let uses = uses_from_records(records).unwrap();
    let plan =
        |name: &str| solve(records, &uses, name.parse().unwrap(), SearchBudget::default(), &SearchControl::new());
    let plans = ["best", "optimum", "banks", "greedy_by_breadth"].map(|name| plan(name).unwrap());
    assert_eq!(plans.each_ref().map(|b| b.strategy.as_str()), ["banks", "optimum", "banks", "greedy_by_breadth"]);
    assert_eq!(plans.each_ref().map(|b| b.layout.total()), [6_623_232, 7_024_640, 6_623_232, 7_225_344]);
    assert!(plans[0].reason.contains("401408 less than any Shared Objects plan"), "{}", plans[0].reason);
    assert!(plans[1].reason.contains("the proven Shared Objects optimum"), "{}", plans[1].reason);
    for best in &plans[..3] {
        assert_eq!(verify_certificate(records, &best.certificate), Ok(7_024_640));
    }
    assert_eq!(verify_certificate(records, &plans[3].certificate), Ok(6_924_288));
    let arena = plan(Strategy::OffsetsGreedyBySize.name()).unwrap_err();
    assert_eq!(arena, PlanError::Unsupported(UnsupportedError::NotForTextures { strategy: "offsets_greedy_by_size" }));
    assert!(matches!(plan("optimum").map(|b| b.layout.problem), Ok(LayoutKind::SharedObjects)));
    assert_eq!("banks".parse::<Planner>().unwrap().to_string(), "banks");
    assert!("bank".parse::<Planner>().is_err());
}

#[test]
fn uses_of_records_that_are_not_there_are_refused() {
    let records = [UsageRecord::new(0, 1, 5), UsageRecord::new(1, 2, 4)];
    let mut uses = uses_from_records(&records).unwrap();
    uses[1].reads.push(2);
    let refused = solve(&records, &uses, Planner::Best, SearchBudget::default(), &SearchControl::new());
    assert!(matches!(refused, Err(PlanError::Input(InputError::UseOutsideLife { step: 1, record: 2, .. }))));
}

/// Sets larger than any network are planned at once by the greedy strategies, instead of being searched forever.
#[test]
fn very_large_sets_are_answered() {
    let chain: Vec<UsageRecord> = (0..8000).map(|i| UsageRecord::new(i, i + 1 + i % 7, 1000 + i as u64)).collect();
    let uses = uses_from_records(&chain).unwrap();
    let plan = solve(
        &chain,
        &uses,
        Planner::Best,
        SearchBudget { nodes: 10, moves: 1000, ..SearchBudget::PORTFOLIO },
        &SearchControl::new(),
    )
    .unwrap();
    assert_eq!(check_layout(&chain, &uses, &plan.layout), Ok(()));
    let crowd: Vec<UsageRecord> = (0..1500).map(|i| UsageRecord::new(i, 9000, 1 + i as u64)).collect();
    let uses = uses_from_records(&crowd).unwrap();
    let plan = solve(
        &crowd,
        &uses,
        Planner::Best,
        SearchBudget { nodes: 10, moves: 1000, ..SearchBudget::PORTFOLIO },
        &SearchControl::new(),
    )
    .unwrap();
    assert_eq!(plan.layout.total(), plan.bounds.naive);
}

proptest! {
    #[test]
    fn brute_force_agrees_with_the_bound(
        records in prop::collection::vec((0usize..8, 0usize..5, 0u64..9), 0..8)
    ) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let mut uses = uses_from_records(&records).unwrap();
        for step in &mut uses {
            let writes = step.writes.clone();
            step.reads.retain(|read| !writes.contains(read));
        }
        let least = least_of_all_assignments(&records, &uses, &mut Vec::new());
        let best_known = least + 7;
        prop_assert_eq!(bank_bound(&records, &uses, best_known, 100_000, &SearchControl::new()).unwrap(), least);
    }

    #[test]
    fn every_bank_plan_passes_the_checker(
        records in prop::collection::vec((0usize..20, 0usize..8, 0u64..12), 0..30),
        mid_reads in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..20),
    ) {
        let record = |(first, length, size)| UsageRecord::new(first, first + length, size);
        let records: Vec<UsageRecord> = records.into_iter().map(record).collect();
        let mut uses = uses_from_records(&records).unwrap();
        // Tensors are also read in the middle of their live ranges.
        for (which, step) in mid_reads.iter().filter(|_| !records.is_empty()) {
            let tensor = which.index(records.len());
            let UsageRecord { first, last, .. } = records[tensor];
            uses[first + step.index(last - first + 1)].reads.push(tensor);
        }
        // A step must not read a tensor that it writes.
        for step in &mut uses {
            let writes = step.writes.clone();
            step.reads.retain(|read| !writes.contains(read));
        }
        let seed = Strategy::GreedyBySize.place(&records).unwrap();
        let banks = place_banks(&records, &uses, &seed, 5000, &SearchControl::new()).unwrap();
        prop_assert_eq!(check_layout(&records, &uses, &banks), Ok(()));
        prop_assert!(banks.total() <= seed.total());
        prop_assert_eq!(&banks, &place_banks(&records, &uses, &seed, 5000, &SearchControl::new()).unwrap());
    }
}
