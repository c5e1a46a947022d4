//! Outlines of files: nodes examined one by one.

use std::sync::Arc;

use texpool_model::import::{Format, IMAGES, ImportError, ImportOptions, Outline, OutlineSource, Verdict};

use crate::support::tflite::{F16, Model};

fn outline(bytes: Vec<u8>) -> Result<Outline, ImportError> {
    OutlineSource::from_bytes(Arc::new(bytes), &ImportOptions::default()).outline(IMAGES[0])
}

#[test]
fn nodes_behind_a_refused_one_are_looked_at() {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 4]);
    let (a, b, c, d) = (m.floats("a", &[1, 4]), m.floats("b", &[1, 4]), m.floats("c", &[1, 4]), m.floats("d", &[2, 2]));
    m.op(24, &[x], a, None);
    m.op(19, &[a], b, None);
    m.custom("MaxUnpooling2D", &[b], c, Vec::new());
    m.op(22, &[c, -1], d, None);
    let Outline { format, graphs } = outline(m.bytes(&[x], &[d])).unwrap();
    assert_eq!((format, graphs.len()), (Format::TfLite, 1));
    let graph = &graphs[0];
    let rows: Vec<(&str, &str, bool)> = graph
        .nodes
        .iter()
        .map(|node| (&*node.operator, &*node.name, matches!(node.verdict, Verdict::Refused(_))))
        .collect();
    assert_eq!(rows[..3], [("RNN", "a", true), ("RELU", "b", false), ("CUSTOM MaxUnpooling2D", "c", true)]);
    assert_eq!(graph.nodes[1].verdict, Verdict::Computed);
    assert_eq!((&graph.nodes[3].inputs[..], &graph.nodes[3].outputs[..]), (&[3][..], &[4][..]));
    assert_eq!((&graph.inputs[..], &graph.outputs[..]), (&[0][..], &[4][..]));
    assert_eq!(graph.tensors[4].bytes(), Some(16));
}

/// A constant that a node computes is known to the nodes after it.
#[test]
fn nodes_of_constants_are_known() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1, 2]), m.floats("y", &[1, 2]));
    let (half, w) = (m.constant("half", &[1, 2], F16, vec![0, 0x3c, 0, 0x40]), m.floats("w", &[1, 2]));
    m.op(6, &[half], w, None);
    m.op(0, &[x, w], y, None);
    let graph = outline(m.bytes(&[x], &[y])).unwrap().graphs.remove(0);
    assert_eq!([&graph.nodes[0].verdict, &graph.nodes[1].verdict], [&Verdict::Known, &Verdict::Computed]);
    assert!(graph.tensors[2].constant && !graph.tensors[3].constant);
}

#[test]
fn a_file_that_is_no_model_is_an_error() {
    assert!(matches!(outline(Vec::new()), Err(ImportError::Empty)));
    let mut m = Model::new();
    let x = m.floats("x", &[1]);
    let mut bytes = m.bytes(&[x], &[x]);
    bytes.truncate(bytes.len() / 2);
    assert!(matches!(outline(bytes), Err(ImportError::Malformed { .. })));
}
