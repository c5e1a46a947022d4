//! Tensors without elements inside a model: those that nothing is computed from are left out, and the others are named,
//! with their extents as in the file.

use texpool_model::import::ImportError;
use texpool_ops::ops::reference;

use super::support::{
    import,
    onnx::{Attr, FLOAT, INT64, Model, bytes},
};

fn refused(build: impl FnOnce(&mut Model)) -> String {
    let mut m = Model::new();
    build(&mut m);
    m.output("y");
    let error = import(m.bytes()).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains("not as its format asks"), "{text}");
    assert!(matches!(error, ImportError::Unsupported(_) | ImportError::GraphIo { .. }), "{text}");
    text
}

/// A node of `op` whose second operand is a list of integers and whose result, which is empty, is `y`.
fn by_a_list(op: &str, x: &[i64], list: &[i64]) -> String {
    refused(|m| {
        m.input("x", x);
        m.ints("list", list);
        m.node(op, &["x", "list"], &["y"], &[]);
    })
}

#[test]
fn results_without_elements_are_named_with_the_extents_of_the_file() {
    for (op, x, list, extents) in [
        ("Tile", &[2, 3][..], &[0, 1][..], "[0, 3]"),
        ("Expand", &[1, 3], &[4, 0, 1, 3], "[4, 0, 1, 3]"),
        ("Pad", &[2, 3], &[-1, 0, -1, 0], "[0, 3]"),
        ("Gather", &[2, 3], &[], "[0, 3]"),
    ] {
        let text = by_a_list(op, x, list);
        let expected = format!("output `y`: it has no elements: its extents are {extents}; tensors without elements");
        assert!(text.contains(&expected), "{op}: {text}");
    }
    let text = refused(|m| {
        m.input("x", &[2, 3, 4, 5, 6]);
        m.ints("at", &[1]);
        m.node("Slice", &["x", "at", "at"], &["y"], &[]);
    });
    assert!(text.contains("`y`: it has no elements: its extents are [0, 3, 4, 5, 6]"), "{text}");
}

#[test]
fn operands_without_elements_are_named_with_the_extents_of_the_file() {
    for (op, extents) in [("Add", [0, 3]), ("MatMul", [3, 0]), ("Gemm", [3, 0]), ("Conv", [0, 3]), ("PRelu", [0, 3])] {
        let text = refused(|m| {
            m.input("x", if op == "Conv" { &[1, 3, 4, 4] } else { &[2, 3][..] });
            m.tensor("e", FLOAT, &extents, &[]);
            m.node(op, &["x", "e"], &["y"], &[]);
        });
        let expected = format!("node 0 {op} `y`: its operand `e` has no elements: its extents are {extents:?}");
        assert!(text.contains(&expected), "{op}: {text}");
    }
}

/// A slice and a part of nothing, which exporters leave in a file, are dropped where they are joined with others.
#[test]
fn nothing_is_added_to_a_concatenation() {
    let mut m = Model::new();
    m.input("x", &[2, 3]);
    m.ints("at", &[1]);
    m.ints("sizes", &[0, 3]);
    m.node("Slice", &["x", "at", "at"], &["nothing"], &[]);
    m.node("Split", &["x", "sizes"], &["no part", "whole"], &[("axis", Attr::Int(1))]);
    m.node("Concat", &["nothing", "whole", "x"], &["y"], &[("axis", Attr::Int(0))]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let x: Vec<f32> = (1u8..=6).map(f32::from).collect();
    assert_eq!(reference::outputs(&graph, std::slice::from_ref(&x)).unwrap(), [[x.clone(), x].concat()]);
}

/// Shapes of the graph have leading ones and other axes than the file's tensors.
#[test]
fn large_results_are_refused_with_the_extents_of_the_file() {
    for (op, named) in [
        ("Add", "its result of [65536, 65536] is too large"),
        ("MatMul", "a tensor of 4294967296 elements is too large"),
        ("MatMul", "its operands are `x` of [65536, 1], `z` of [1, 65536]"),
    ] {
        let text = refused(|m| {
            m.input("x", &[65536, 1]);
            m.input("z", &[1, 65536]);
            m.node(op, &["x", "z"], &["y"], &[]);
        });
        assert!(text.contains(named) && text.contains("at most 2147483648 elements"), "{op}: {text}");
    }
}

/// These break the format, so that the file is blamed; the place is that of the file.
#[test]
fn indices_and_places_outside_are_named_with_the_axis_of_the_file() {
    let refused_with = |op: &str, second: &[i64], expected: &str| {
        let mut m = Model::new();
        m.input("x", &[2, 3]);
        let raw: Vec<u8> = second.iter().flat_map(|v| v.to_le_bytes()).collect();
        let rank = if op == "GatherElements" { vec![1, second.len() as i64] } else { vec![second.len() as i64] };
        m.tensor("n", INT64, &rank, &bytes(9, &raw));
        m.node(op, &["x", "n"], &["y"], &[]);
        m.output("y");
        let text = import(m.bytes()).unwrap_err().to_string();
        assert!(text.contains(expected), "{op}: {text}");
    };
    refused_with("Gather", &[0, 5], "the index 5 lies outside axis 0 of [2, 3]");
    refused_with("GatherElements", &[0, -3, 1], "the index -3 lies outside axis 0 of [2, 3]");
    refused_with("TopK", &[4], "it takes 4 of axis 1 of [2, 3]");
    refused_with("Pad", &[-3, 0, 0, 0], "borders of -3 and 0 cut off more than axis 0 of [2, 3] has");
}
