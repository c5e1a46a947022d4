//! Pins which cells of the published tables are reproduced exactly and which are not.

use texpool_plan::published::{Verdict, tables, tables_text};

use crate::data::csv_records;

#[test]
fn records_that_come_with_the_library_are_the_reference_records() {
    for name in ["mobilenet_v1", "mobilenet_v2", "deeplab_v3", "inception_v3", "posenet", "blazeface"] {
        let path = format!("{}/src/published/{name}.csv", env!("CARGO_MANIFEST_DIR"));
        let set = texpool_plan::io::from_csv(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(set.records, csv_records(name), "{name}");
    }
}

#[test]
fn four_networks_are_exact_but_for_two_cells() {
    let cells = tables().unwrap();
    assert_eq!(cells.len(), 78);
    let reachable = |network: &str| !["Inception v3", "BlazeFace"].contains(&network);
    let off: Vec<(&str, &str)> = cells
        .iter()
        .filter(|c| reachable(c.network) && matches!(c.verdict, Verdict::Off { .. }))
        .map(|c| (c.row, c.network))
        .collect();
    assert_eq!(off, [("Min-cost Flow (Lee et al.)", "DeepLab v3"), ("Strip Packing Bestfit", "DeepLab v3")]);
    let exact = |cell: &&texpool_plan::published::Cell| matches!(cell.verdict, Verdict::Exact);
    assert_eq!(cells.iter().filter(|c| reachable(c.network)).filter(exact).count(), 38);
    assert!(cells.iter().filter(|c| c.network == "BlazeFace").all(|c| matches!(c.verdict, Verdict::Off { .. })));
}

#[test]
fn the_text_names_variants_and_reasons() {
    let text = tables_text().unwrap();
    assert!(text.contains("exact with variant greedy_by_size/first_object"), "{text}");
    assert!(text.contains("an unpublished variant"), "{text}");
    assert!(text.contains("Table 2: offsets, MiB"), "{text}");
}
