//! Warnings about models that are read differently than their file states.

use std::fs;

use super::{
    command::{stderr, texpool},
    onnx_model::{self, Model},
};

#[test]
fn extents_that_the_file_states_otherwise_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    let path = path.to_str().unwrap();
    let written = |stated: &[i64]| {
        let mut m = Model::new();
        m.input("x", &[1, 3, 4]);
        m.raw_node("Relu", &["x"], &["y"], &[]);
        let dims: Vec<Vec<u8>> = stated.iter().map(|&extent| onnx_model::number(1, extent)).collect();
        m.outputs.push(onnx_model::typed("y", onnx_model::FLOAT, &dims));
        fs::write(path, m.bytes()).unwrap();
        let output = texpool(&["plan", path]);
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let stderr = written(&[1, 3, 5]);
    assert!(stderr.contains("output `y` has the extents [1, 3, 4], the file states [1, 3, 5]"), "{stderr}");
    let stderr = written(&[1, 12]);
    assert!(stderr.contains("the file states [1, 12]"), "{stderr}");
    assert!(!written(&[1, 3, 4]).contains("the file states"));
    // Zero and negative extents stand for unknown ones.
    assert!(!written(&[-1, 3, 4]).contains("the file states"));
}
