//! The published unit-test vectors of the TensorFlow Lite memory planners, for every strategy that this library
//! shares.

use serde_json::Value;
use texpool_plan::{
    Layout, LayoutKind, Place, SearchControl, Strategy, bounds,
    offsets::{back_to_back, greedy_by_size, micro_greedy},
    operator_profiles,
};

use crate::data::{json, json_records, lists, numbers};

fn regions(layout: &Layout) -> Vec<u64> {
    layout.places.iter().map(|p| p.region as u64).collect()
}

fn offsets(layout: &Layout) -> Vec<u64> {
    layout.places.iter().map(|p| p.offset).collect()
}

/// In these vectors, `GREEDY_BY_SIZE` over objects means Greedy by Size Improved.
fn strategy(name: &str) -> Strategy {
    match name {
        "NAIVE" => Strategy::Naive,
        "EQUALITY" => Strategy::Equality,
        "GREEDY_IN_ORDER" => Strategy::GreedyInOrder,
        "MINCOSTFLOW" => Strategy::MinCostFlow,
        "GREEDY_BY_BREADTH" => Strategy::GreedyByBreadth,
        "GREEDY_BY_SIZE" => Strategy::GreedyBySizeImprovedMerged,
        _ => panic!("{name}"),
    }
}

fn cases() -> Vec<Value> {
    json("tflite_memory_vectors.json")["gpu_delegate"]["cases"].as_array().unwrap().clone()
}

#[test]
fn gpu_delegate() {
    let (mut objects, mut arenas) = (0, 0);
    for case in cases() {
        let records = json_records(&case["records"]);
        for (name, expected) in case["objects"].as_object().into_iter().flatten() {
            let layout = strategy(name).place(&records).unwrap();
            assert_eq!(regions(&layout), numbers(&expected["object_ids"]), "{} {name}", case["name"]);
            assert_eq!(layout.regions, numbers(&expected["object_sizes"]), "{} {name}", case["name"]);
            objects += 1;
        }
        for expected in case["offsets"].as_array().unwrap() {
            let align = expected["base_addr_align_bytes"].as_u64().unwrap();
            let layout = greedy_by_size(&records, align, &SearchControl::new()).unwrap();
            assert_eq!(offsets(&layout), numbers(&expected["offsets"]), "{}", case["name"]);
            assert_eq!(Some(layout.total()), expected["total_size"].as_u64(), "{}", case["name"]);
            arenas += 1;
        }
        let b = bounds(&records).unwrap();
        assert_eq!(b.positional_maximums, numbers(&case["derived"]["positional_maximums"]));
        assert_eq!(Some(b.shared_objects), case["derived"]["objects_lower_bound"].as_u64());
        assert_eq!(Some(b.offsets), case["derived"]["offsets_lower_bound"].as_u64());
    }
    assert_eq!((objects, arenas), (24, 5));
}

#[test]
fn objects_back_to_back() {
    for case in json("tflite_memory_vectors.json")["object_to_offset"].as_array().unwrap() {
        let place = |region| Place { region: region as usize, offset: 0 };
        let places = numbers(&case["object_ids"]).into_iter().map(place).collect();
        let objects = Layout { problem: LayoutKind::SharedObjects, regions: numbers(&case["object_sizes"]), places };
        let arena = back_to_back(&objects);
        assert_eq!(offsets(&arena), numbers(&case["offsets"]), "{}", case["name"]);
        let total = case["total_size"].as_u64().or(case["derived_total_size"].as_u64());
        assert_eq!(Some(arena.total()), total, "{}", case["name"]);
    }
}

#[test]
fn task_profiles() {
    for case in json("tflite_memory_vectors.json")["task_profiles"].as_array().unwrap() {
        let records = json_records(&case["records"]);
        assert_eq!(bounds(&records).unwrap().positional_maximums, numbers(&case["positional_maximums"]));
        let profiles = operator_profiles(&records).unwrap();
        let profiles: Vec<Vec<u64>> = profiles.iter().map(|p| p.iter().map(|&i| i as u64).collect()).collect();
        assert_eq!(profiles, lists(&case["task_profiles"]), "{}", case["name"]);
    }
}

#[test]
fn micro_planner() {
    for case in json("tflite_memory_vectors.json")["micro_greedy"].as_array().unwrap() {
        let layout = micro_greedy(&json_records(&case["records"]), &SearchControl::new()).unwrap();
        let published = ["offsets", "derived_offsets"].into_iter().find(|&key| case[key].is_array()).unwrap();
        assert_eq!(offsets(&layout), numbers(&case[published]), "{}", case["name"]);
        let total = case["total_size"].as_u64().or(case["derived_total_size"].as_u64());
        assert_eq!(Some(layout.total()), total, "{}", case["name"]);
    }
}
