//! The committed support matrix equals the one generated from the tables of operators, and names shaders that exist.

use std::path::Path;

use texpool_model::import::supported;

#[test]
fn every_family_of_kernels_has_a_shader() {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    for kernel in supported().into_iter().flat_map(|operator| operator.kernels) {
        assert!(shaders.join(format!("{kernel}.wgsl")).is_file(), "`{kernel}` is no kernel");
    }
}

#[test]
fn the_committed_matrix_is_what_the_tables_write() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/texpool-model/src/import/OPERATORS.md");
    let written = texpool_model::import::operators();
    if std::fs::read_to_string(path).unwrap() != written {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/OPERATORS.md");
        std::fs::write(path, written).unwrap();
        panic!("crates/texpool-model/src/import/OPERATORS.md differs from {path}, as written just now");
    }
}
