//! Extents that a file's `shape_signature` leaves open, and that the caller binds.

use std::sync::Arc;

use texpool_model::import::{ImportError, ImportOptions, NodesToRead, OutlineSource, from_bytes_with};
use texpool_ops::{graph::Graph, ops::reference};

use crate::support::tflite::{F32, Field, I32, Model, conv, flags};

/// A mean over windows of lines, whose length the file leaves open: each tensor is stated for a line of 4. Its result
/// is made of the extents that SHAPE gives.
fn lines() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.floats("line:0", &[1, 4]);
    let rows = m.floats("rows", &[1, 1, 4, 1]);
    let means = m.floats("means", &[1, 1, 3, 1]);
    let flat = m.floats("flat", &[3]);
    let y = m.floats("y", &[3, 1]);
    let added = m.ints("added", &[1, 1, -1, 1]);
    m.op(22, &[x, added], rows, None);
    let weights = m.constant("weights", &[1, 1, 2, 1], F32, [0.5f32; 2].iter().flat_map(|v| v.to_le_bytes()).collect());
    m.op(3, &[rows, weights], means, conv(1, 1, 1, 0));
    // The third extent of the means, which RESHAPE then takes.
    let extents = m.tensor("extents", &[4], I32);
    m.op(77, &[means], extents, None);
    let [begin, size] = [("begin", 2), ("size", 1)].map(|(name, value)| m.ints(name, &[value]));
    let length = m.tensor("length", &[1], I32);
    m.op(65, &[extents, begin, size], length, None);
    m.op(22, &[means, length], flat, None);
    let axis = m.ints("axis", &[1]);
    m.op(70, &[flat, axis], y, None);
    let signatures = [(x, vec![1, -1]), (rows, vec![1, 1, -1, 1]), (means, vec![1, 1, -1, 1]), (flat, vec![-1])];
    for (tensor, signature) in signatures {
        m.tensors[tensor as usize].0.push((18, Field::Ints(signature)));
    }
    m.bytes(&[x], &[y])
}

fn import(dims: &[(&str, usize)]) -> Result<Graph, ImportError> {
    let dims = dims.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect();
    from_bytes_with(Arc::new(lines()), &ImportOptions { dims, ..ImportOptions::default() })
}

#[test]
fn bound_extents_reach_every_tensor() {
    for length in [4, 7] {
        let graph = import(&[("line:0:1", length)]).unwrap();
        assert_eq!(graph.tensors[graph.inputs[0]].dims, [1, length]);
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [length - 1, 1]);
        let line: Vec<f32> = (0..length).map(|i| (i * i) as f32).collect();
        let means: Vec<f32> = line.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        assert_eq!(reference::outputs(&graph, &[line]).unwrap(), [means]);
    }
    assert_eq!(import(&[]).unwrap().tensors.iter().filter(|tensor| tensor.dims == [1, 4]).count(), 1);
}

#[test]
fn names_that_are_no_open_extents_are_answered_with_those_that_are() {
    for name in ["line:0:0", "line:0:2", "line:1", "length", "rows:2"] {
        let error = import(&[("line:0:1", 5), (name, 3)]).unwrap_err();
        assert!(matches!(&error, ImportError::FixedDims { names, .. } if names == &[name]), "{error}");
        let text = error.to_string();
        assert!(text.contains("`line:0` [1, 4]") && text.contains("leaves open line:0:1"), "{text}");
    }
}

/// Without bound extents those of the file are used. Where they lead nowhere, the refusal says that others can be
/// bound.
#[test]
fn stated_extents_that_do_not_fit_are_refused_with_the_way_out() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1, 1, 1, 1]), m.floats("y", &[1, 1, 1, 1]));
    m.tensors[x as usize].0.push((18, Field::Ints(vec![1, 1, -1, 1])));
    let weights = m.weights("weights", &[1, 1, 2, 1]);
    m.op(3, &[x, weights], y, conv(1, 1, 1, 0));
    let error = from_bytes_with(Arc::new(m.bytes(&[x], &[y])), &ImportOptions::default()).unwrap_err();
    assert!(error.to_string().contains("bind them by INPUT:AXIS"), "{error}");
}

#[test]
fn extents_that_lead_to_no_result_are_refused() {
    let refused = import(&[("line:0:1", 1)]).unwrap_err();
    assert!(matches!(refused, ImportError::Unsupported(_)), "{refused}");
    let huge = import(&[("line:0:1", usize::MAX)]).unwrap_err().to_string();
    assert!(huge.contains("too large"), "{huge}");
}

/// An axis that the file states keeps its extent, whatever its operands give.
#[test]
fn stated_extents_stay() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1, 8]), m.floats("y", &[1, 8]));
    for (tensor, signature) in [(x, vec![-1, 8]), (y, vec![1, 8])] {
        m.tensors[tensor as usize].0.push((18, Field::Ints(signature)));
    }
    m.op(0, &[x, x], y, flags(11, &[0]));
    let options = ImportOptions { dims: [("x:0".to_owned(), 3)].into(), ..ImportOptions::default() };
    let error = from_bytes_with(Arc::new(m.bytes(&[x], &[y])), &options).unwrap_err().to_string();
    assert!(error.contains("stated as [1, 8]") && error.contains("[3, 8]"), "{error}");
}

#[test]
fn outlines_and_their_parts_have_the_bound_extents() {
    let options = ImportOptions { dims: [("line:0:1".to_owned(), 9)].into(), ..ImportOptions::default() };
    let outline = OutlineSource::from_bytes(Arc::new(lines()), &options).outline(224).unwrap();
    let graph = &outline.graphs[0];
    let dims = |name: &str| graph.tensors.iter().find(|tensor| tensor.name == name).unwrap().dims.clone().unwrap();
    assert_eq!(dims("means"), [1, 1, 8, 1].map(Some));
    let place = |name: &str| graph.tensors.iter().position(|tensor| tensor.name == name).unwrap();
    let [rows, means] = ["rows", "means"].map(place);
    let part = NodesToRead { nodes: &[1], inputs: &[rows], outputs: &[means] };
    let part = graph.reader.as_ref().unwrap().read(&part).unwrap();
    assert_eq!(part.tensors[part.outputs[0]].dims, [1, 1, 8, 1]);
}
