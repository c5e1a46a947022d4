//! Selections of files: each part is read as a graph of its own, with extents that are tried, and compiled by a delegate
//! that is loaded.

use std::sync::Arc;

use texpool_model::{
    delegate::{Live, NodeStanding, Offline, Partition, Selection, select},
    import::{ImportError, ImportOptions, Outline, OutlineSource, Refusal},
};
use texpool_ops::graph::Graph;

use crate::support::{
    onnx::{Dim, FLOAT, INT64, Model, number, typed},
    tflite,
};

fn source(bytes: Vec<u8>) -> OutlineSource {
    OutlineSource::from_bytes(Arc::new(bytes), &ImportOptions::default())
}

/// Selects the nodes of a file without a delegate, whatever their size.
fn selected(bytes: Vec<u8>) -> (Outline, Selection) {
    let (outline, mut selections) = select(&source(bytes), 0, &mut Offline).unwrap();
    (outline, selections.remove(0))
}

/// The verdict on each node: the number of its partition, or a letter.
fn standings(selection: &Selection) -> String {
    let letter = |standing: &NodeStanding| match standing {
        NodeStanding::Taken(partition) => partition.to_string(),
        NodeStanding::Known => "k".to_owned(),
        NodeStanding::Left(_) => "l".to_owned(),
        NodeStanding::Unknown(_) => "u".to_owned(),
    };
    selection.standings.iter().map(letter).collect()
}

fn reason(selection: &Selection, node: usize) -> &str {
    match &selection.standings[node] {
        NodeStanding::Left(refusal) => &refusal.reason,
        other => panic!("{other:?}"),
    }
}

/// A model that reads text has lines of 48 rows, fixed by a weight. At 224 rows, the sum is refused.
#[test]
fn open_heights_are_tried_with_those_of_text_readers() {
    for rows in [224, 48, 32] {
        let mut m = Model::new();
        m.open_input("x", FLOAT, &[Dim::Named("batch"), Dim::Is(4), Dim::Named("height"), Dim::Is(6)]);
        m.floats("rows", &[1, 1, rows, 1], &vec![1.0; rows as usize]);
        m.node("Relu", &["x"], &["a"], &[]);
        m.node("Add", &["a", "rows"], &["y"], &[]);
        m.output("y");
        let (outline, selection) = selected(m.bytes());
        assert_eq!(standings(&selection), "00");
        let open: Vec<(&str, usize)> = outline.graphs[0].open.iter().map(|open| (&*open.name, open.tried)).collect();
        assert_eq!(open, [("batch", 1), ("height", rows as usize)]);
    }
}

/// Two parts, of which the second reshapes to extents that the first computes. The runtime hands them over in a run, when
/// it is too late for a plan.
#[test]
fn extents_that_another_part_computes_are_no_constants() {
    let reshaped = |fixed: bool| {
        let mut m = Model::new();
        let open = if fixed { Dim::Is(2) } else { Dim::Named("batch") };
        m.open_input("x", FLOAT, &[open, Dim::Is(3)]);
        m.node("Relu", &["x"], &["a"], &[]);
        m.node("Shape", &["a"], &["s"], &[]);
        m.node("Foo", &["a"], &["b"], &[]);
        m.node("Reshape", &["b", "s"], &["c"], &[]);
        m.node("Neg", &["c"], &["y"], &[]);
        m.outputs.push(typed("b", FLOAT, &[number(1, if fixed { 2 } else { 1 }), number(1, 3)]));
        m.output("y");
        selected(m.bytes()).1
    };
    let selection = reshaped(false);
    assert_eq!(standings(&selection), "00ll1");
    assert!(reason(&selection, 3).contains("computed at run time"), "{}", reason(&selection, 3));
    assert_eq!(selection.partitions[0].outputs.len(), 2, "the extents are read");
    // The runtime folds extents that the file states.
    let selection = reshaped(true);
    assert_eq!(standings(&selection), "0kl11");
    let part = &selection.partitions[1];
    assert_eq!((&part.computed[..], part.inputs.len(), part.extents.len()), (&[1, 3, 4][..], 1, 1));
}

#[test]
fn integers_that_may_grow_are_left_to_onnx_runtime() {
    let mut m = Model::new();
    m.raw_input("i", INT64, &[number(1, 4)]);
    m.node("Max", &["i", "i"], &["a"], &[]);
    m.node("Add", &["a", "i"], &["b"], &[]);
    m.node("Max", &["b", "i"], &["y"], &[]);
    m.output("y");
    let selection = selected(m.bytes()).1;
    assert_eq!(standings(&selection), "0l1");
    assert!(reason(&selection, 1).starts_with("it computes with integers"), "{}", reason(&selection, 1));
}

/// A list of no extents stands for those of a scalar. It has no values, so nobody gives them.
#[test]
fn an_empty_list_is_no_input() {
    let mut m = tflite::Model::new();
    let (x, y, z) = (m.floats("x", &[1]), m.floats("y", &[]), m.floats("z", &[]));
    let list = m.ints("list", &[]);
    m.op(22, &[x, list], y, None);
    m.op(101, &[y], z, None);
    let selection = selected(m.bytes(&[x], &[z])).1;
    assert_eq!(standings(&selection), "00");
    assert_eq!(selection.partitions[0].inputs, [0]);
}

/// A delegate whose device cannot compute one of the nodes.
struct Device {
    refuses: usize,
    compiled: Vec<Vec<usize>>,
}

impl Live for Device {
    type Error = ImportError;

    fn compile(&mut self, partition: &Partition, graph: Graph) -> Result<Vec<(usize, Refusal)>, ImportError> {
        assert_eq!(graph.nodes.len(), partition.nodes.len());
        self.compiled.push(partition.nodes.clone());
        let refusal = Refusal { reason: "it is too much".to_owned(), hint: "get another device".to_owned() };
        Ok(partition.nodes.iter().filter(|&&node| node == self.refuses).map(|&node| (node, refusal.clone())).collect())
    }
}

/// Only the parts that result from splitting are compiled again.
#[test]
fn a_node_that_cannot_be_compiled_is_left_and_divides() {
    let mut m = Model::new();
    m.input("x", &[1, 4]);
    for (operator, [from, to]) in [("Relu", ["x", "a"]), ("Tanh", ["a", "b"]), ("Exp", ["b", "y"])] {
        m.node(operator, &[from], &[to], &[]);
    }
    m.output("y");
    let mut device = Device { refuses: 1, compiled: Vec::new() };
    let (_, selections) = select(&source(m.bytes()), 0, &mut device).unwrap();
    assert_eq!((&*standings(&selections[0]), reason(&selections[0], 1)), ("0l1", "it is too much"));
    assert_eq!(device.compiled, [vec![0, 1, 2], vec![0], vec![2]]);
}
