//! The published unit-test vectors of the TensorFlow Lite memory planners.

use crate::data::{json, json_records, numbers};
use texpool::plan::{Layout, Strategy, bounds};

fn ids(layout: &Layout) -> Vec<u64> {
    layout.places.iter().map(|p| p.region as u64).collect()
}

/// There, `GREEDY_BY_SIZE` over objects is the paper's Greedy by Size Improved.
fn strategy(name: &str) -> Option<Strategy> {
    Some(match name {
        "NAIVE" => Strategy::Naive,
        "GREEDY_IN_ORDER" => Strategy::GreedyInOrder,
        "GREEDY_BY_BREADTH" => Strategy::GreedyByBreadth,
        "GREEDY_BY_SIZE" => Strategy::GreedyBySizeImprovedMerged,
        _ => return None,
    })
}

#[test]
fn shared_objects_of_one_dimension() {
    let vectors = json("tflite_memory_vectors.json");
    let mut seen = 0;
    for case in vectors["gpu_delegate"]["cases"].as_array().unwrap() {
        if case["dim"] != "1d" {
            continue;
        }
        let records = json_records(&case["records"]);
        for (name, expected) in case["objects"].as_object().into_iter().flatten() {
            let Some(strategy) = strategy(name) else { continue };
            let layout = strategy.place(&records).unwrap();
            assert_eq!(ids(&layout), numbers(&expected["object_ids"]), "{} {name}", case["name"]);
            assert_eq!(layout.regions, numbers(&expected["object_sizes"]), "{} {name}", case["name"]);
            seen += 1;
        }
        let b = bounds(&records).unwrap();
        let derived = &case["derived"];
        assert_eq!(b.positional_maximums, numbers(&derived["positional_maximums"]));
        assert_eq!(Some(b.shared_objects), derived["objects_lower_bound"].as_u64());
        assert_eq!(Some(b.offsets), derived["offsets_lower_bound"].as_u64());
    }
    assert_eq!(seen, 16);
}

#[test]
fn positional_maximums() {
    for case in json("tflite_memory_vectors.json")["task_profiles"].as_array().unwrap() {
        let records = json_records(&case["records"]);
        assert_eq!(bounds(&records).unwrap().positional_maximums, numbers(&case["positional_maximums"]));
    }
}
