//! The committed support matrix equals the one generated from the tables of operators.

#[test]
fn the_committed_matrix_is_what_the_tables_write() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/import/OPERATORS.md");
    let written = texpool::import::operators();
    if std::fs::read_to_string(path).unwrap() != written {
        let made = concat!(env!("CARGO_TARGET_TMPDIR"), "/OPERATORS.md");
        std::fs::write(made, written).unwrap();
        panic!("src/import/OPERATORS.md differs from {made}, as written just now");
    }
}
