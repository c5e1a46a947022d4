//! Compares the bounds and the strategies' totals on real networks with figures from an independent implementation.

use crate::data::{csv_records, json, usage_record_sets};
use texpool_plan::{
    LayoutKind, Planner, SearchBudget, SearchControl, Strategy, UsageRecord, bounds, check_layout, compare_strategies,
    optimum, solve, uses_from_records,
};

#[test]
fn naive_total_and_both_bounds_of_every_network() {
    let totals = json("records/totals.json");
    let totals = totals.as_object().unwrap();
    assert_eq!(totals.len(), 28);
    for (name, expected) in totals {
        let records = csv_records(name);
        assert_eq!(records.len() as u64, expected["records"].as_u64().unwrap(), "{name}");
        let b = bounds(&records).unwrap();
        assert_eq!(b.naive, expected["naive_bytes"].as_u64().unwrap(), "{name}");
        assert_eq!(b.shared_objects, expected["shared_lb_bytes"].as_u64().unwrap(), "{name}");
        assert_eq!(b.offsets, expected["offset_lb_bytes"].as_u64().unwrap(), "{name}");
    }
}

/// MiB to three digits, with ties broken by lower index: Greedy by Size, Improved, by Breadth, in Order.
const TABLE: [(&str, [&str; 4]); 4] = [
    ("mobilenet_v1", ["5.359", "4.594", "4.594", "4.594"]),
    ("mobilenet_v2", ["6.986", "6.699", "6.891", "8.039"]),
    ("deeplab_v3", ["7.102", "6.769", "6.769", "7.168"]),
    ("posenet", ["8.390", "6.347", "6.347", "6.347"]),
];

#[test]
fn strategies_give_the_reference_totals() {
    let strategies =
        [Strategy::GreedyBySize, Strategy::GreedyBySizeImproved, Strategy::GreedyByBreadth, Strategy::GreedyInOrder];
    for (name, expected) in TABLE {
        let records = csv_records(name);
        let mib = |s: Strategy| format!("{:.3}", s.place(&records).unwrap().total() as f64 / f64::from(1 << 20));
        assert_eq!(strategies.map(mib), expected, "{name}");
    }
}

#[test]
fn strategies_give_the_reference_bytes_on_the_second_data_set() {
    for (instance, records) in usage_record_sets() {
        let name = instance["name"].as_str().unwrap();
        let b = bounds(&records).unwrap();
        assert_eq!(Some(b.naive), instance["naive"].as_u64(), "{name}");
        assert_eq!(Some(b.shared_objects), instance["objects_lower_bound"].as_u64(), "{name}");
        assert_eq!(Some(b.offsets), instance["offsets_lower_bound"].as_u64(), "{name}");
        for (strategy, key) in [
            (Strategy::Equality, "equality"),
            (Strategy::MinCostFlow, "mincostflow"),
            (Strategy::OffsetsGreedyBySize, "offsets_greedy_by_size"),
            (Strategy::OffsetsGreedyByBreadth, "offsets_greedy_by_breadth"),
            (Strategy::GreedyInOrder, "greedy_in_order"),
            (Strategy::GreedyByBreadth, "greedy_by_breadth"),
            (Strategy::GreedyBySizeImprovedMerged, "greedy_by_size_improved"),
        ] {
            let total = strategy.place(&records).unwrap().total();
            assert_eq!(Some(total), instance[key].as_u64(), "{name} {strategy}");
        }
    }
}

#[test]
fn best_is_checked_explained_and_no_larger_than_any_candidate() {
    for (name, _) in TABLE {
        let records = csv_records(name);
        let uses = uses_from_records(&records).unwrap();
        let best = solve(&records, &uses, Planner::Best, SearchBudget::default(), &SearchControl::new()).unwrap();
        check_layout(&records, &uses, &best.layout).unwrap();
        assert!(best.layout.problem != LayoutKind::Offsets);
        assert!(best.reason.contains(&best.strategy), "{name}: {}", best.reason);
        assert!(best.candidates.iter().all(|c| c.problem == LayoutKind::Offsets || best.layout.total() <= c.total));
        assert!(best.candidates.iter().any(|c| c.name == best.strategy && c.total == best.layout.total()));
    }
}

/// Records in texels instead of bytes: width `B * W`, height `H`, and `ceil(C / 4)` slices.
#[test]
fn linear_addressing_gives_the_reference_texels() {
    for (instance, _) in usage_record_sets() {
        let name = instance["name"].as_str().unwrap();
        let set = json(&format!("usage_records/{name}.json"));
        let record = |record: &serde_json::Value| {
            let number = |key: &str| record[key].as_u64().unwrap() as usize;
            let shape: Vec<u64> = record["shape"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
            let texels = shape[0] * shape[2] * shape[1] * shape[3].div_ceil(4);
            UsageRecord::new(number("first"), number("last"), texels)
        };
        let records: Vec<UsageRecord> = set["records"].as_array().unwrap().iter().map(record).collect();
        let texels = &instance["texels"];
        let is = |total: u64, key: &str| assert_eq!(Some(total), texels[key].as_u64(), "{name} {key}");
        is(bounds(&records).unwrap().shared_objects, "linear_lower_bound");
        is(Strategy::GreedyBySizeImprovedMerged.place(&records).unwrap().total(), "linear_gbsi");
        is(optimum(&records, 100, &SearchControl::new()).unwrap().layout.total(), "linear_optimum");
    }
}

#[test]
fn a_comparison_lists_everything() {
    let records = csv_records("mobilenet_v2");
    let uses = uses_from_records(&records).unwrap();
    let comparison = compare_strategies(&records, &uses, SearchBudget::default(), &SearchControl::new()).unwrap();
    assert_eq!(
        comparison,
        compare_strategies(&records, &uses, SearchBudget::default(), &SearchControl::new()).unwrap()
    );
    for name in Strategy::ALL.iter().map(|s| s.name()).chain(["optimum", "banks", "offsets_smallest"]) {
        assert!(comparison.candidates.iter().any(|c| c.name == name), "{name}");
    }
    let text = comparison.to_string();
    for words in ["65 tensors over 66 steps, 27591136 in all", "7024640 proven optimal", "chosen: banks"] {
        assert!(text.contains(words), "{text}");
    }
}
