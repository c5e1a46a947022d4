//! Checks that the guide's pictures equal the library's current output. Set `TEXPOOL_DRAW=1` to draw them again.

use std::{env, fs, path::PathBuf};

use texpool_plan::{
    SearchControl, Strategy, UsageRecord, optimum, place_banks, plan_svg, profile_svg, uses_from_records,
};

use crate::data::{csv_records, json, json_records};

fn is_drawn(name: &str, svg: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("src/guide/{name}.svg"));
    // A blank line would end the picture in the page.
    let text = format!("<div>\n{svg}</div>\n");
    if env::var_os("TEXPOOL_DRAW").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap() == text, "{name} is not what the library draws: draw it anew");
}

fn example() -> Vec<UsageRecord> {
    let vectors = json("tflite_memory_vectors.json");
    let cases = vectors["gpu_delegate"]["cases"].as_array().unwrap();
    json_records(&cases.iter().find(|case| case["name"] == "ComplexRecords").unwrap()["records"])
}

#[test]
fn the_small_network() {
    let records = example();
    is_drawn("profiles", &profile_svg("Operator profiles", &records).unwrap());
    let shared = Strategy::GreedyBySizeImproved.place(&records).unwrap();
    assert_eq!(shared.total(), 112);
    is_drawn("shared", &plan_svg("Shared Objects: Greedy by Size Improved", &records, &shared).unwrap());
    let arena = Strategy::OffsetsGreedyBySize.place(&records).unwrap();
    assert_eq!(arena.total(), 96);
    is_drawn("arena", &plan_svg("Offset Calculation: Greedy by Size", &records, &arena).unwrap());
}

#[test]
fn mobilenet_v2() {
    let records: Vec<UsageRecord> = csv_records("mobilenet_v2");
    let objects = optimum(&records, 100, &SearchControl::new()).unwrap().layout;
    let banks =
        place_banks(&records, &uses_from_records(&records).unwrap(), &objects, 200_000, &SearchControl::new()).unwrap();
    assert_eq!((objects.total(), banks.total(), banks.regions.len()), (7_024_640, 6_623_232, 2));
    let title = "MobileNet v2, the Shared Objects optimum: 7,024,640 bytes";
    is_drawn("mobilenet_v2_optimum", &plan_svg(title, &records, &objects).unwrap());
    let title = "MobileNet v2, two banks: 6,623,232 bytes";
    is_drawn("mobilenet_v2_banks", &plan_svg(title, &records, &banks).unwrap());
}
