//! Runs the committed texts of the fuzz target `records`.

#[path = "../../../../fuzz/src/records.rs"]
mod records;

use std::{fs, path::Path};

#[test]
fn every_text_kept_is_an_answer_or_an_error() {
    let mut ran = 0;
    for kind in ["seeds", "found"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind).join("records");
        for entry in fs::read_dir(folder).into_iter().flatten() {
            records::drive(&String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap()));
            ran += 1;
        }
    }
    assert!(ran > 6, "only {ran} texts");
}
