//! Facts that files state about their origin.

use texpool::{Error, ImportError, Model, ModelMetadata};

use super::support::onnx::{self, bytes, number};
use crate::support::models;

/// A model of one function of one input.
fn file() -> Vec<u8> {
    let mut model = onnx::Model::new();
    model.input("x", &[1, 4]);
    model.node("Relu", &["x"], &["y"], &[]);
    model.output("y");
    model.bytes()
}

fn metadata(file: &[&[u8]]) -> Result<ModelMetadata, Error> {
    Ok(Model::from_bytes(file.concat())?.metadata().clone())
}

/// Fields of `ModelProto` by the numbers that `onnx.proto` gives them.
#[test]
fn every_stated_fact_is_read() {
    let entry = |key: &str, value: &str| bytes(14, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
    let facts = metadata(&[
        &file(),
        &bytes(2, b"pytorch"),
        &bytes(3, b"2.4"),
        &bytes(4, b"org.example"),
        &number(5, 7),
        &bytes(6, b"finds cats"),
        &entry("classes", "cat,dog"),
        &entry("stride", "32"),
    ])
    .unwrap();
    assert_eq!((&*facts.producer_name, &*facts.domain, facts.version), ("pytorch", "org.example", 7));
    assert_eq!((&*facts.description, &*facts.graph_name, &*facts.graph_description), ("finds cats", "main", ""));
    let custom: Vec<(&str, &str)> = facts.custom.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(custom, [("classes", "cat,dog"), ("stride", "32")]);
}

/// A version that is a text is refused by its place, and a graph built by hand states nothing.
#[test]
fn damaged_facts_are_refused() {
    let error = metadata(&[&file(), &bytes(5, b"seven")]).unwrap_err();
    assert!(matches!(&error, Error::Import(ImportError::Malformed { what }) if what.contains("at byte")), "{error}");
    let graph = Model::from_bytes(file()).unwrap().graph().clone();
    assert_eq!(Model::from_graph(graph).unwrap().metadata(), &ModelMetadata::default());
}

#[test]
fn real_files_name_their_converter() {
    let facts = Model::open(models::model("face_detection_short_range.tflite")).unwrap().metadata().clone();
    assert!(!facts.description.is_empty(), "{facts:?}");
    let facts = Model::open(models::model("mobilenet_v2.onnx")).unwrap().metadata().clone();
    assert!(!facts.producer_name.is_empty(), "{facts:?}");
}
