//! Outlines of files: nodes examined one by one, substitutes for the results of refused nodes, and unknown extents.

use std::{collections::BTreeMap, sync::Arc};

use texpool_model::{
    delegate::{Host, NodeStanding, Offline, select_of},
    import::{GraphOutline, IMAGES, ImportOptions, OutlineSource, TensorOutline, Verdict},
};

use crate::support::onnx::{Attr, DOUBLE, Dim, FLOAT, Model, bytes, number, typed};

fn outline(model: &Model, dims: &[(&str, usize)]) -> GraphOutline {
    let dims: BTreeMap<String, usize> = dims.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect();
    let options = ImportOptions { dims, ..ImportOptions::default() };
    OutlineSource::from_bytes(Arc::new(model.bytes()), &options).outline(IMAGES[0]).unwrap().graphs.remove(0)
}

/// Verdict on each node, as a letter.
fn verdicts(graph: &GraphOutline) -> String {
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Computed => 'c',
        Verdict::Passed => 'p',
        Verdict::Known => 'k',
        Verdict::Refused(_) => 'r',
        Verdict::Unknown(_) => 'u',
    };
    graph.nodes.iter().map(|node| letter(&node.verdict)).collect()
}

fn tensor<'g>(graph: &'g GraphOutline, name: &str) -> &'g TensorOutline {
    graph.tensors.iter().find(|tensor| tensor.name == name).unwrap()
}

fn reason(graph: &GraphOutline, node: usize) -> &str {
    match &graph.nodes[node].verdict {
        Verdict::Refused(refusal) | Verdict::Unknown(refusal) => &refusal.reason,
        other => panic!("{other:?}"),
    }
}

/// Relu, then the unknown operator Foo, then Relu.
fn broken_chain() -> Model {
    let mut m = Model::new();
    m.input("x", &[1, 3, 4]);
    m.node("Relu", &["x"], &["a"], &[]);
    m.node("Foo", &["a"], &["b"], &[]);
    m.node("Relu", &["b"], &["c"], &[]);
    m.output("c");
    m
}

#[test]
fn results_of_refused_nodes_have_their_stated_shapes() {
    let silent = outline(&broken_chain(), &[]);
    assert_eq!(verdicts(&silent), "cru");
    assert!(reason(&silent, 2).contains("does not state the extents of its operand `b`"));
    let [a, b, c] = ["a", "b", "c"].map(|name| tensor(&silent, name));
    assert_eq!([a.bytes(), b.bytes(), c.bytes()], [Some(48), None, None]);
    assert_eq!((&b.dims, &c.dims), (&None, &None));

    let mut stated = broken_chain();
    stated.outputs.push(typed("b", FLOAT, &[number(1, 2), number(1, 5)]));
    let stated = outline(&stated, &[]);
    assert_eq!(verdicts(&stated), "crc");
    assert_eq!(tensor(&stated, "c").dims, Some(vec![Some(2), Some(5)]));

    let mut open = broken_chain();
    open.outputs.push(typed("b", FLOAT, &[number(1, 2), bytes(2, b"found")]));
    let open = outline(&open, &[]);
    assert_eq!(verdicts(&open), "cru");
    assert_eq!(tensor(&open, "b").dims, Some(vec![Some(2), None]));
}

/// The shapes of some unsupported operators' results are known.
#[test]
fn results_shaped_like_their_operand_need_no_statement() {
    let mut m = Model::new();
    m.input("x", &[3, 4]);
    m.node("Relu", &["x"], &["a"], &[]);
    m.node("LpNormalization", &["a"], &["b"], &[("p", Attr::Int(3))]);
    m.node("Relu", &["b"], &["c"], &[]);
    m.output("c");
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "crc");
    assert_eq!(["b", "c"].map(|name| tensor(&graph, name).bytes()), [Some(48); 2]);
}

/// Unbound extents get typical values, so that all nodes are examined. Those values are never reported.
#[test]
fn open_extents_are_tried_and_not_told() {
    let mut m = Model::new();
    m.open_input("x", FLOAT, &[Dim::Named("batch"), Dim::Is(3), Dim::Open]);
    m.input("z", &[2]);
    m.node("Relu", &["x"], &["a"], &[]);
    m.node("Shape", &["a"], &["s"], &[]);
    m.node("Relu", &["z"], &["y"], &[]);
    m.node("Reshape", &["a", "s"], &["b"], &[]);
    ["b", "y"].iter().for_each(|name| m.output(name));
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "ckcp");
    assert_eq!(graph.open.len(), 2, "{:?}", graph.open);
    assert_eq!(tensor(&graph, "x").dims, Some(vec![None, Some(3), None]));
    assert_eq!(tensor(&graph, "a").dims, Some(vec![None; 3]));
    assert_eq!(tensor(&graph, "b").bytes(), None);
    assert_eq!(tensor(&graph, "y").bytes(), Some(8), "it follows from nothing that is open");

    let bound = outline(&m, &[("batch", 2), ("x:2", 5)]);
    assert!(bound.open.is_empty());
    assert_eq!(["x", "a", "b"].map(|name| tensor(&bound, name).bytes()), [Some(120); 3]);
    let half = outline(&m, &[("batch", 2)]);
    assert_eq!((half.open.len(), &tensor(&half, "x").dims), (1, &Some(vec![Some(2), Some(3), None])));
}

/// A mismatch with assumed extents is not reported as a defect of the file.
#[test]
fn nodes_that_do_not_fit_what_was_tried_say_so() {
    let mut m = Model::new();
    m.open_input("x", FLOAT, &[Dim::Is(1), Dim::Open]);
    m.input("z", &[7]);
    m.node("Add", &["x", "z"], &["y"], &[]);
    m.output("y");
    let hint = |dims: &[(&str, usize)]| match outline(&m, dims).nodes.remove(0).verdict {
        Verdict::Refused(refusal) => refusal.hint,
        other => panic!("{other:?}"),
    };
    assert!(hint(&[]).contains("others may fit"), "{}", hint(&[]));
    assert_eq!(verdicts(&outline(&m, &[("x:1", 7)])), "c");
}

/// An input with an unsupported type causes refusal of its readers only.
#[test]
fn an_input_of_another_type_refuses_its_readers() {
    let mut m = Model::new();
    m.raw_input("d", DOUBLE, &[number(1, 4)]);
    m.input("x", &[4]);
    m.node("Relu", &["d"], &["a"], &[]);
    m.node("Relu", &["x"], &["b"], &[]);
    ["a", "b"].iter().for_each(|name| m.output(name));
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "rc");
    assert!(reason(&graph, 0).contains("double"), "{}", reason(&graph, 0));
    assert_eq!(tensor(&graph, "d").bytes(), None);
}

#[test]
fn an_operator_set_that_is_not_read_refuses_all() {
    let mut m = broken_chain();
    m.opset = 99;
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "rrr");
    assert!(reason(&graph, 0).contains("operator set 99"));
}

/// A shape that both branches of a condition state is the shape of its result.
#[test]
fn shapes_stated_by_both_branches_are_known() {
    let body = |name: &str, extent| {
        let result = bytes(12, &typed("r", FLOAT, &[number(1, 2), number(1, extent)]));
        bytes(5, &[bytes(1, name.as_bytes()), bytes(6, &result)].concat())
    };
    for (other, expected) in [(3, "rc"), (4, "ru")] {
        let mut m = Model::new();
        m.input("x", &[1]);
        m.raw_node("If", &["x"], &["a"], &[body("then_branch", 3), body("else_branch", other)]);
        m.node("Relu", &["a"], &["b"], &[]);
        m.output("b");
        let graph = outline(&m, &[]);
        assert_eq!(verdicts(&graph), expected);
        assert_eq!(tensor(&graph, "b").bytes(), (other == 3).then_some(24));
    }
}

/// Names that bodies read from the enclosing graph, also through nested bodies.
#[test]
fn names_that_bodies_read_are_found() {
    let node = |reads: &[&str], more: Vec<u8>| {
        let reads: Vec<u8> = reads.iter().flat_map(|name| bytes(1, name.as_bytes())).collect();
        bytes(1, &[reads, bytes(4, b"Relu"), more].concat())
    };
    let attribute = |name: &str, body: Vec<u8>| bytes(5, &[bytes(1, name.as_bytes()), bytes(6, &body)].concat());
    let inner = node(&["a", "own"], Vec::new());
    let outer = [node(&["own"], attribute("body", inner)), bytes(12, &bytes(1, b"x"))].concat();
    let mut m = Model::new();
    m.input("x", &[4]);
    m.node("Relu", &["x"], &["a"], &[]);
    m.node("Relu", &["x"], &["c"], &[]);
    m.raw_node("If", &["x"], &["b"], &[attribute("then_branch", outer)]);
    m.output("b");
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "ccr");
    let read: Vec<&str> = graph.nodes[2].implicit.iter().map(|&index| &*graph.tensors[index].name).collect();
    assert_eq!(read, ["a", "x"]);
    // An empty body reads nothing.
    let mut m = broken_chain();
    m.node("If", &["c"], &["d"], &[("then_branch", Attr::Graph)]);
    assert!(outline(&m, &[]).nodes[3].implicit.is_empty());
}

/// The verdict on an `If` is what an import of the file would do.
#[test]
fn conditions_are_examined_as_they_are_imported() {
    let one = |op: &str, operand: &str| {
        let mut branch = Model::new();
        branch.node(op, &[operand], &["r"], &[]);
        branch.output("r");
        branch
    };
    let choose = |m: &mut Model, condition: &str, output: &str, branches: [(&str, &str); 2]| {
        let [then, other] = branches.map(|(op, operand)| Attr::Branch(one(op, operand)));
        m.node("If", &[condition], &[output], &[("then_branch", then), ("else_branch", other)]);
    };
    let mut m = Model::new();
    m.input("x", &[4]);
    m.input("p", &[]);
    m.floats("zero", &[], &[0.0]);
    m.tensor("k", 9, &[], &bytes(9, &[1]));
    m.node("Greater", &["p", "zero"], &["c"], &[]);
    m.node("Foo", &["x"], &["f"], &[]);
    choose(&mut m, "c", "computed", [("Neg", "x"), ("Relu", "x")]);
    choose(&mut m, "k", "taken", [("Neg", "x"), ("Foo", "x")]);
    choose(&mut m, "k", "known", [("Neg", "zero"), ("Foo", "zero")]);
    choose(&mut m, "c", "refused", [("Neg", "x"), ("Bar", "x")]);
    choose(&mut m, "c", "unknown", [("Neg", "x"), ("Neg", "f")]);
    let graph = outline(&m, &[]);
    assert_eq!(verdicts(&graph), "crcckru");
    let expected = "Bar `else_branch/r`: the operator is not supported; both branches are needed, since the condition is \
                    computed from `p` in a run";
    assert_eq!(reason(&graph, 5), expected);
    assert!(reason(&graph, 6).contains("operand `f`, which is left"), "{}", reason(&graph, 6));

    // ONNX Runtime keeps the branches of the conditions that a run computes.
    let selection = select_of(&graph, Host::OnnxRuntime, 0, &mut Offline).unwrap();
    let mut nodes: Vec<usize> = selection.partitions.iter().flat_map(|part| part.nodes.clone()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 3]);
    match &selection.standings[2] {
        NodeStanding::Left(refusal) => {
            assert!(refusal.reason.contains("the runtime keeps the branches"), "{refusal:?}")
        }
        other => panic!("{other:?}"),
    }
}
