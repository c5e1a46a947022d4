//! Tests of the selection of nodes in small graphs.

use std::cell::RefCell;

use texpool::{Model, Uncomputable};

use super::{Reading, survey};
use crate::graph::{Extent, Graph, Node, Part, Value};

/// Returns a chain of unary operators. All values have the same shape.
fn chain(operators: &[&str], dims: &[Extent]) -> Graph<'static> {
    let value = |i: usize| Value {
        name: format!("t{i}"),
        kind: 1,
        dims: Some(dims.to_vec()),
        constant: None,
        overridable: false,
    };
    let node = |(i, operator): (usize, &&str)| Node {
        name: format!("n{i}"),
        operator: (*operator).to_owned(),
        inputs: vec![Some(i)],
        outputs: vec![Some(i + 1)],
        ..Node::default()
    };
    Graph {
        name: "chain".into(),
        opsets: vec![(String::new(), 17)],
        values: (0..=operators.len()).map(value).collect(),
        nodes: operators.iter().enumerate().map(node).collect(),
        inputs: vec![0],
        outputs: vec![operators.len()],
    }
}

fn parts(graph: &Graph<'_>) -> (Vec<Vec<usize>>, Vec<(usize, String)>) {
    let result = survey(graph, &Reading::default(), &|_, _, _| None);
    (result.parts.into_iter().map(|part| part.nodes).collect(), result.refusals.into_iter().collect())
}

fn fixed() -> Vec<Extent> {
    [1, 4, 6, 6].map(Extent::Known).to_vec()
}

#[test]
fn a_node_that_is_not_supported_divides_and_the_importer_says_why() {
    let (parts, refusals) = parts(&chain(&["Relu", "Tanh", "Sorcery", "Exp"], &fixed()));
    assert_eq!(parts, [vec![0, 1], vec![3]]);
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].0, 2);
    assert!(refusals[0].1.starts_with("the operator is not supported; "), "{}", refusals[0].1);
}

#[test]
fn values_that_are_no_floats_of_ours_stay() {
    let mut graph = chain(&["Relu", "Exp"], &fixed());
    graph.values[2].kind = 11;
    let (parts, refusals) = parts(&graph);
    assert_eq!(parts, [vec![0]]);
    let reason =
        "its result `t2`: its elements are of type double (11); convert it to float, float16, an integer or bool";
    assert_eq!(refusals, [(1, reason.to_owned())]);
}

#[test]
fn nodes_of_other_providers_are_not_reported() {
    let mut graph = chain(&["Relu", "Exp", "Tanh"], &fixed());
    graph.nodes[1].assigned = true;
    assert_eq!(parts(&graph), (vec![vec![0], vec![2]], vec![]));
}

#[test]
fn nodes_that_only_pass_values_on_stay() {
    let (parts, refusals) = parts(&chain(&["Identity"], &fixed()));
    assert!(parts.is_empty());
    assert!(refusals[0].1.contains("only passes values on"), "{}", refusals[0].1);
}

/// Unknown extents of the graph's inputs are tried with usual values. This is impossible for values that another
/// provider computes.
#[test]
fn open_extents_are_tried_where_the_caller_gives_them() {
    let open = [Extent::Named("batch".into()), Extent::Known(4), Extent::Unknown, Extent::Unknown];
    assert_eq!(parts(&chain(&["Relu", "Exp"], &open)).0, [vec![0, 1]]);
    let (parts, refusals) = parts(&chain(&["Relu", "Sorcery", "Exp"], &open));
    assert_eq!(parts, [vec![0]]);
    assert!(
        refusals[1].1.starts_with("the file does not state the extents of its operand `t2`, which is left; "),
        "{refusals:?}"
    );
}

/// Unknown operators are left in a single step, even if there are many and each reads the previous one's result.
#[test]
fn operators_that_are_not_known_are_left_at_once() {
    let operators = ["Relu", "Sorcery"].repeat(400);
    let (parts, refusals) = parts(&chain(&operators, &fixed()));
    assert_eq!((parts.len(), refusals.len()), (400, 400));
    assert!(refusals.iter().all(|(_, why)| why.starts_with("the operator is not supported; ")));
}

/// Only the groups that result from splitting are compiled again.
#[test]
fn a_node_that_cannot_be_compiled_is_left_and_divides() {
    let graph = chain(&["Relu", "Tanh", "Exp"], &fixed());
    let compiled = RefCell::new(Vec::new());
    let compile = |_: &Graph<'_>, part: &Part, _: &Model| {
        compiled.borrow_mut().push(part.nodes.clone());
        let position = part.nodes.iter().position(|&node| node == 1)?;
        Some((Uncomputable::Node(position), "it is too much for the device".to_owned()))
    };
    let result = survey(&graph, &Reading::default(), &compile);
    assert_eq!(result.parts.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[0], [2]]);
    assert_eq!(
        result.refusals.into_iter().collect::<Vec<_>>(),
        [(1, "it is too much for the device; the runtime computes it".to_owned())]
    );
    assert_eq!(result.beyond_device.into_iter().collect::<Vec<_>>(), [1]);
    assert_eq!(compiled.into_inner(), [vec![0, 1, 2], vec![0], vec![2]]);
}

/// A model that reads text has lines of 48 rows, fixed by a weight. At 224 rows, the sum is refused.
#[test]
fn open_heights_are_tried_with_those_of_text_readers() {
    let open = [Extent::Known(1), Extent::Known(4), Extent::Named("height".to_owned()), Extent::Known(6)];
    let mut graph = chain(&["Relu", "Add"], &open);
    let rows = [1, 1, 48, 1].map(Extent::Known).to_vec();
    graph.values.push(Value { name: "rows".into(), dims: Some(rows), ..graph.values[0].clone() });
    graph.nodes[1].inputs.push(Some(3));
    graph.inputs.push(3);
    let compiled = RefCell::new(Vec::new());
    let compile = |_: &Graph<'_>, _: &Part, model: &Model| {
        compiled.borrow_mut().push(model.inputs()[0].dims.clone());
        None
    };
    let result = survey(&graph, &Reading::default(), &compile);
    assert_eq!((result.refusals.len(), &*result.guessed), (0, &["height=48".to_owned()][..]));
    assert_eq!(result.parts[0].nodes, [0, 1]);
    // Nothing is compiled for the other extents.
    assert_eq!(compiled.into_inner(), [[1, 4, 48, 6]]);
}

/// A part with less work than a call costs is left. The whole graph is taken whatever its size.
#[test]
fn small_parts_are_left() {
    let reading = Reading { min_operations: 200, ..Reading::default() };
    let chain = |operators: &[&str]| {
        let graph = chain(operators, &fixed());
        let result = survey(&graph, &reading, &|_, _, _| None);
        (result.parts.into_iter().map(|part| part.nodes).collect::<Vec<_>>(), result.refusals)
    };
    // 144 values a node.
    let (parts, refusals) = chain(&["Relu", "Neg", "Sorcery", "Abs"]);
    assert_eq!(parts, [[0, 1]]);
    assert!(
        refusals[&3].contains("costs that copies 1152 bytes; the option `min_operations` is 200"),
        "{}",
        refusals[&3]
    );
    assert_eq!(chain(&["Abs"]).0, [[0]]);
}
