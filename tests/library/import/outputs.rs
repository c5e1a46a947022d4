//! Outputs that are not the result of a single operator, extents that operators compute, and additional graphs in a
//! file.

use std::sync::Arc;

use texpool_model::import::{ImportError, ImportOptions, from_bytes_with};
use texpool_ops::{graph::Op, ops::reference};

use super::{
    import,
    one::{N, S, X, results},
};
use crate::support::tflite::{Field, I8, I32, Model, Table, file, flags, numbers};

const RELU: i32 = 19;
const RESHAPE: i32 = 22;
const SHAPE: i32 = 77;
const STRIDED_SLICE: i32 = 45;
const PACK: i32 = 83;
const TRANSPOSE_CONV: i32 = 67;

/// An input, a constant, and a tensor that is named twice.
#[test]
fn whatever_the_file_names_is_an_output() {
    let mut m = Model::new();
    let (x, y, k) = (m.floats("x", &[4]), m.floats("y", &[4]), m.weights("k", &[2]));
    let q = m.constant("q", &[2], I8, vec![3, 255]);
    let q = m.scaled(q, &[0.5], &[1], 0);
    m.op(RELU, &[x], y, None);
    let graph = import(m.bytes(&[x], &[x, y, k, y, q, k])).unwrap();
    let names: Vec<&str> = graph.outputs.iter().map(|&id| graph.tensors[id].name.as_str()).collect();
    assert_eq!(names, ["x", "y", "k", "y", "q", "k"]);
    assert_eq!(graph.tensors[graph.outputs[4]].element_type, texpool_ops::graph::ElementType::I8);
    let input = vec![-1.0, 2.0, -3.0, 4.0];
    let answers = reference::outputs(&graph, std::slice::from_ref(&input)).unwrap();
    let positive = vec![0.0, 2.0, 0.0, 4.0];
    assert_eq!(answers, [input, positive.clone(), vec![0.5, 1.0], positive, vec![1.0, -1.0], vec![0.5, 1.0]]);
}

/// Nodes that Keras writes for `Conv2DTranspose`: the batch is read from the input.
#[test]
fn extents_computed_from_extents_are_known() {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 2, 2, 1]);
    let (shape, batch, extents) = (m.tensor("sh", &[4], I32), m.tensor("b", &[], I32), m.tensor("e", &[4], I32));
    let (zero, one, step) = (m.ints("zero", &[0]), m.ints("one", &[1]), m.ints("step", &[1]));
    let fixed = [4, 4, 1].map(|n: i32| m.constant("n", &[], I32, n.to_le_bytes().to_vec()));
    let (w, y) = (m.weights("w", &[1, 2, 2, 1]), m.floats("y", &[1, 4, 4, 1]));
    m.op(SHAPE, &[x], shape, None);
    // Its last mask makes an axis of one index disappear.
    m.op(STRIDED_SLICE, &[shape, zero, one, step], batch, numbers(32, &[0, 0, 0, 0, 1]));
    m.op(PACK, &[batch, fixed[0], fixed[1], fixed[2]], extents, numbers(59, &[4, 0]));
    let options = Table(vec![(4, Field::I8(1)), (6, Field::I32(2)), (8, Field::I32(2))]);
    m.op(TRANSPOSE_CONV, &[extents, w, x], y, Some((49, options)));
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    assert_eq!(graph.nodes.len(), 1, "{:?}", graph.nodes);
    assert!(matches!(graph.nodes[texpool_ops::graph::NodeId::new(0)].op, Op::TransposeConv(_)));
    let answer = reference::outputs(&graph, &[vec![1.0, 2.0, 3.0, 4.0]]).unwrap().remove(0);
    assert_eq!(answer[..8], [0.5, 1.0, 1.0, 2.0, 1.5, 2.0, 3.0, 4.0]);
}

#[test]
fn a_part_without_elements_and_a_single_number_are_fine() {
    let parts =
        results(102, &[X(&[4], &[1.0, 2.0, 3.0, 4.0]), N(&[3, 0, 1]), S(0)], None, &[(0, &[3]), (0, &[0]), (0, &[1])]);
    let error = parts.unwrap_err();
    assert!(error.contains("output `y1`") && error.contains("without elements are not supported"), "{error}");
    let mut m = Model::new();
    let x = m.floats("x", &[4]);
    let (sizes, axis) = (m.ints("sizes", &[3, 0, 1]), m.constant("axis", &[], I32, vec![0; 4]));
    let parts = [("a", 3), ("b", 0), ("c", 1)].map(|(name, extent)| m.floats(name, &[extent]));
    m.op_of_many(102, &[x, sizes, axis], &parts, None);
    // The new shape of a single number is empty, in a constant without bytes.
    let (none, y) = (m.ints("none", &[]), m.floats("y", &[]));
    m.op(RESHAPE, &[parts[2], none], y, None);
    let graph = import(m.bytes(&[x], &[parts[0], y])).unwrap();
    let answers = reference::outputs(&graph, &[vec![1.0, 2.0, 3.0, 4.0]]).unwrap();
    assert_eq!(answers, [vec![1.0, 2.0, 3.0], vec![4.0]]);
}

#[test]
fn control_flow_is_called_so() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[4]), m.floats("y", &[4]));
    m.op(200, &[x], y, None);
    let text = import(with_graphs(&m, x, y)).unwrap_err().to_string();
    assert!(text.contains("STABLEHLO_WHILE `y`: control flow"), "{text}");
}

fn with_graphs(m: &Model, x: i32, y: i32) -> Vec<u8> {
    let mut root = m.root(&[x], &[y]);
    let body = Table(vec![(12, Field::Text("other".to_owned()))]);
    for (_, field) in root.0.iter_mut().filter(|(slot, _)| *slot == 8) {
        if let Field::Tables(graphs) = field {
            graphs.extend([body.clone(), Table::default()]);
        }
    }
    file(&root)
}

/// TensorFlow Lite runs the first graph. Others are bodies of operators, or entry points of other signatures.
#[test]
fn graphs_that_nothing_refers_to_are_left_out() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[4]), m.floats("y", &[4]));
    m.op(RELU, &[x], y, None);
    assert_eq!(import(with_graphs(&m, x, y)).unwrap().nodes.len(), 1);
}

#[test]
fn names_of_no_open_extent_are_refused_and_the_signature_is_named() {
    let mut m = Model::new();
    let (x, y) = (m.floats("image", &[1, 8]), m.floats("y", &[1, 8]));
    m.tensors[x as usize].0.push((18, Field::Ints(vec![-1, 8])));
    m.op(0, &[x, x], y, flags(11, &[0]));
    let dims = [("batch".to_owned(), 4)].into();
    let options = ImportOptions { dims, ..ImportOptions::default() };
    let error = from_bytes_with(Arc::new(m.bytes(&[x], &[y])), &options).unwrap_err();
    assert!(matches!(&error, ImportError::FixedDims { names, .. } if names == &["batch"]), "{error}");
    let text = error.to_string();
    assert!(text.contains("`image` [1, 8]") && text.contains("shape_signature"), "{text}");
    assert!(text.contains("image:0"), "{text}");
}

/// A file that exceeds a limit is not reported as damaged.
#[test]
fn limits_are_named() {
    let refused = |dims: &[i32]| {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", dims), m.floats("y", dims));
        m.op(RELU, &[x], y, None);
        import(m.bytes(&[x], &[y])).unwrap_err().to_string()
    };
    let large = refused(&[1 << 20, 1 << 20]);
    assert!(large.contains("at most 2147483648 elements") && !large.contains("format asks"), "{large}");
    let deep = refused(&[1; 9]);
    assert!(deep.contains("9 extents: at most 8 are supported") && !deep.contains("format asks"), "{deep}");
}
