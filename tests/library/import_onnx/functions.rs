//! Operators that the file defines: what a call computes, whose names, attributes and operator sets it has, and how
//! calls are limited.

use std::{slice, sync::Arc};

use texpool_model::import::{IMAGES, ImportError, ImportOptions, OutlineSource, Verdict};
use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import,
    onnx::{Attr, Model, attribute, bytes, number},
};

/// A model with an input `x` of two floats and an output `y`.
fn model(build: impl FnOnce(&mut Model)) -> Model {
    let mut m = Model::new();
    m.input("x", &[2]);
    build(&mut m);
    m.output("y");
    m
}

/// The nodes of a function.
fn nodes(build: impl FnOnce(&mut Model)) -> Model {
    let mut body = Model::new();
    build(&mut body);
    body
}

/// A function with one operand and one result.
fn plain(name: &str, build: impl FnOnce(&mut Model)) -> Vec<u8> {
    nodes(build).function(name, &["x"], &["y"], &[])
}

/// `LeakyRelu`, whose slope is the attribute `slope`.
fn leaky(fields: &[u8]) -> Vec<u8> {
    nodes(|m| m.node("LeakyRelu", &["v"], &["r"], &[("alpha", Attr::Of("slope"))])).function(
        "own.Leaky",
        &["v"],
        &["r"],
        fields,
    )
}

fn file(m: &Model, functions: &[Vec<u8>]) -> Vec<u8> {
    [m.bytes(), functions.concat()].concat()
}

fn imported(m: &Model, functions: &[Vec<u8>]) -> Graph {
    import(file(m, functions)).unwrap()
}

/// The output for these values of `x`.
fn output(graph: &Graph, x: &[f32]) -> Vec<f32> {
    reference::outputs(graph, &[x.to_vec()]).unwrap().swap_remove(0)
}

fn answer(m: &Model, functions: &[Vec<u8>], x: &[f32]) -> Vec<f32> {
    output(&imported(m, functions), x)
}

fn refusal(m: &Model, functions: &[Vec<u8>]) -> String {
    import(file(m, functions)).unwrap_err().to_string()
}

#[test]
fn an_attribute_is_that_of_the_call_or_the_default_or_left_out() {
    let m = |attributes: &[(&str, Attr)]| model(|m| m.node("own.Leaky", &["x"], &["y"], attributes));
    let default = attribute(11, "slope", &Attr::Float(0.5));
    let declared = bytes(6, b"slope");
    let stated = [("slope", Attr::Float(0.25))];
    let x = [-8.0, 8.0];
    assert_eq!(answer(&m(&stated), &[leaky(&default)], &x), [-2.0, 8.0]);
    assert_eq!(answer(&m(&[]), &[leaky(&default)], &x), [-4.0, 8.0]);
    assert_eq!(answer(&m(&stated), &[leaky(&declared)], &x), [-2.0, 8.0]);
    // The slope of ONNX's operator is 0.01 if none is stated.
    assert_eq!(answer(&m(&[]), &[leaky(&declared)], &x), [-0.08, 8.0]);
}

#[test]
fn functions_pass_attributes_on_and_keep_their_names_apart() {
    let m = model(|m| {
        m.node("own.Twice", &["x"], &["r"], &[("outer", Attr::Float(0.5))]);
        m.node("own.Twice", &["r"], &["y"], &[("outer", Attr::Float(2.0))]);
    });
    // Its names are those of the main graph and of the function that it calls.
    let twice = nodes(|m| {
        m.node("own.Leaky", &["x"], &["r"], &[("slope", Attr::Of("outer"))]);
        m.node("own.Leaky", &["r"], &["v"], &[("slope", Attr::Of("outer"))]);
        m.node("Neg", &["v"], &["y"], &[]);
    });
    let twice = twice.function("own.Twice", &["x"], &["y"], &[]);
    let graph = imported(&m, &[twice, leaky(&[])]);
    assert_eq!(output(&graph, &[-8.0, 1.0]), [-2.0, 4.0]);
    let names: Vec<&str> = graph.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
    assert!(names.contains(&"r/v") && names.contains(&"y/v") && names.contains(&"y/r"), "{names:?}");
}

#[test]
fn operands_and_results_may_be_left_out() {
    let clip = nodes(|m| {
        m.node("Constant", &[], &["extents"], &[("value_ints", Attr::Ints(vec![1, 1, 2]))]);
        m.node("Reshape", &["v", "extents"], &["square"], &[]);
        m.node("Clip", &["v", "least", "most"], &["y"], &[]);
        m.node("Neg", &["y"], &["other"], &[]);
        // Read by nothing, and so not missed: positions are no result that is supported here.
        m.node("MaxPool", &["square"], &["pooled", "places"], &[("kernel_shape", Attr::Ints(vec![1]))]);
    });
    let results = ["y", "other", "places"];
    let clip = clip.function("own.Clip", &["v", "least", "most"], &results, &[]);
    let m = |operands: &[&str], results: &[&str]| {
        model(|m| {
            m.floats("one", &[], &[1.0]);
            m.node("own.Clip", operands, results, &[]);
        })
    };
    let answer =
        |operands: &[&str], results: &[&str]| answer(&m(operands, results), slice::from_ref(&clip), &[-3.0, 3.0]);
    assert_eq!(answer(&["x"], &["y"]), [-3.0, 3.0]);
    assert_eq!(answer(&["x", "one"], &["y"]), [1.0, 3.0]);
    assert_eq!(answer(&["x", "", "one"], &["", "y"]), [3.0, -1.0]);
    let many = refusal(&m(&["x", "one", "one", "one"], &["y"]), slice::from_ref(&clip));
    assert!(many.contains("node 0 own.Clip `y`: it has 4 operands, and its function 3"), "{many}");
    let many = refusal(&m(&["x"], &["y", "a", "b", "c"]), slice::from_ref(&clip));
    assert!(many.contains("it has 4 results, and its function 3"), "{many}");
}

#[test]
fn a_function_has_its_own_operator_set() {
    let softmax = |opset: i64| {
        let mut body = nodes(|m| m.node("Softmax", &["v"], &["r"], &[("axis", Attr::Int(0))]));
        body.opset = opset;
        body.function("own.Softmax", &["v"], &["r"], &[])
    };
    let m = model(|m| {
        m.ints("extents", &[2, 1]);
        m.node("Reshape", &["x", "extents"], &["column"], &[]);
        m.node("own.Softmax", &["column"], &["y"], &[]);
    });
    // Up to set 12, all axes from the named one on are one.
    assert_eq!(answer(&m, &[softmax(12)], &[0.0, 0.0]), [0.5, 0.5]);
    let m = model(|m| {
        m.ints("extents", &[1, 2]);
        m.node("Reshape", &["x", "extents"], &["line"], &[]);
        m.node("own.Softmax", &["line"], &["y"], &[]);
    });
    assert_eq!(answer(&m, &[softmax(12)], &[0.0, 0.0]), [0.5, 0.5]);
    assert_eq!(answer(&m, &[softmax(13)], &[0.0, 0.0]), [1.0, 1.0]);
    let old = refusal(&m, &[softmax(3)]);
    assert!(old.contains("node 1 Softmax `y/own.Softmax/r`: it is of operator set 3, 6 to 28 are supported"), "{old}");
    let none = refusal(&m, &[softmax(0)]);
    assert!(none.contains("no version of ONNX's operator set is stated for it"), "{none}");
    // A function that calls others alone needs no operator set.
    let mut main = m.clone();
    main.opset = 0;
    let refused = refusal(&main, &[softmax(13)]);
    assert!(refused.contains("node 0 Reshape `line`: no version") && !refused.contains("Softmax"), "{refused}");
    let mut bare = model(|m| m.node("own.Neg", &["x"], &["y"], &[]));
    bare.opset = 0;
    assert_eq!(answer(&bare, &[plain("own.Neg", |m| m.node("Neg", &["x"], &["y"], &[]))], &[1.0, 2.0]), [-1.0, -2.0]);
}

#[test]
fn bodies_within_functions_read_operands_and_attributes() {
    let branch = |op: &str, attributes: &[(&str, Attr)]| {
        let mut b = nodes(|b| b.node(op, &["v"], &["r"], attributes));
        b.output("r");
        Attr::Branch(b)
    };
    let either = nodes(|m| {
        m.node("Constant", &[], &["none"], &[("value_float", Attr::Float(0.0))]);
        m.node("ReduceMax", &["v"], &["most"], &[("keepdims", Attr::Int(0))]);
        m.node("Greater", &["most", "none"], &["positive"], &[]);
        let leaky = [("alpha", Attr::Of("slope"))];
        let branches = [("then_branch", branch("LeakyRelu", &leaky)), ("else_branch", branch("Neg", &[]))];
        m.node("If", &["positive"], &["result"], &branches);
    });
    let either = either.function("own.Either", &["v"], &["result"], &[]);
    let m = model(|m| m.node("own.Either", &["x"], &["y"], &[("slope", Attr::Float(0.5))]));
    let graph = imported(&m, &[either]);
    assert_eq!(output(&graph, &[-8.0, 1.0]), [-4.0, 1.0]);
    assert_eq!(output(&graph, &[-8.0, -1.0]), [8.0, 1.0]);
}

#[test]
fn names_of_the_caller_are_unknown_in_a_function() {
    let m = model(|m| {
        m.floats("w", &[2], &[1.0, 2.0]);
        m.node("own.Outside", &["x"], &["y"], &[]);
    });
    let refused = refusal(&m, &[plain("own.Outside", |m| m.node("Add", &["x", "w"], &["y"], &[]))]);
    let expected = "node 0 Add `y/own.Outside/y`: its operand `w` is computed by no node";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn refused_nodes_are_named_with_the_calls_around_them() {
    let m = model(|m| {
        m.node("Neg", &["x"], &["n"], &[]);
        m.node("own.Outer", &["n"], &["y"], &[]);
    });
    let outer = plain("own.Outer", |m| m.node("own.Inner", &["x"], &["y"], &[]));
    let inner = plain("own.Inner", |m| {
        m.node("Foo", &["x"], &["a"], &[]);
        m.node("Bar", &["a"], &["y"], &[]);
    });
    let ImportError::Unsupported(refused) = import(file(&m, &[outer, inner])).unwrap_err() else { panic!() };
    let named: Vec<(usize, &str, &str)> = refused.iter().map(|r| (r.node, &*r.operator, &*r.name)).collect();
    let [a, y] = ["y/own.Outer/y/own.Inner/a", "y/own.Outer/y/own.Inner/y"];
    assert_eq!(named, [(1, "Foo", a), (1, "Bar", y)]);
    // What no call reaches is not missed.
    let unused = plain("own.Unused", |m| m.node("Foo", &["x"], &["y"], &[]));
    assert_eq!(answer(&model(|m| m.node("Neg", &["x"], &["y"], &[])), &[unused], &[1.0, 2.0]), [-1.0, -2.0]);
}

#[test]
fn functions_of_one_name_differ_by_domain_and_overload() {
    let one = |name: &str, overload: &str, op: &'static str| {
        nodes(|m| m.node(op, &["x"], &["y"], &[])).function(name, &["x"], &["y"], &bytes(13, overload.as_bytes()))
    };
    let functions = [one("a.F", "", "Neg"), one("b.F", "", "Abs"), one("b.F", "o", "Exp")];
    let call = |name| model(|m| m.node(name, &["x"], &["y"], &[]));
    assert_eq!(answer(&call("a.F"), &functions, &[-1.0, 2.0]), [1.0, -2.0]);
    assert_eq!(answer(&call("b.F"), &functions, &[-1.0, 2.0]), [1.0, 2.0]);
    let mut overloaded = Model::new();
    overloaded.input("x", &[2]);
    overloaded.raw_node("b.F", &["x"], &["y"], &[bytes(8, b"o")]);
    overloaded.output("y");
    assert_eq!(answer(&overloaded, &functions, &[0.0, 0.0]), [1.0, 1.0]);
    let twice = refusal(&call("a.F"), &[functions[0].clone(), functions[0].clone()]);
    assert!(twice.contains("two functions called `a.F`"), "{twice}");
    assert!(refusal(&call("c.F"), &functions).contains("the operator is not supported"));
}

#[test]
fn attributes_that_refer_to_nothing_or_to_graphs_are_refused() {
    let outside = model(|m| m.node("LeakyRelu", &["x"], &["y"], &[("alpha", Attr::Of("slope"))]));
    let refused = refusal(&outside, &[]);
    assert!(
        refused.contains("its alpha refers to the attribute `slope` of a function, and it is in none"),
        "{refused}"
    );
    let graph = model(|m| m.node("own.Leaky", &["x"], &["y"], &[("slope", Attr::Graph)]));
    let refused = refusal(&graph, &[leaky(&[])]);
    let expected = "LeakyRelu `y/own.Leaky/r`: its alpha is a graph that function `own.Leaky` is given";
    assert!(refused.contains(expected), "{refused}");
    let text = model(|m| m.node("own.Leaky", &["x"], &["y"], &[("slope", Attr::Text("steep"))]));
    assert!(refusal(&text, &[leaky(&[])]).contains("LeakyRelu `y/own.Leaky/r`: its alpha is not a float"));
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let call = |name: &str, called: &'static str| plain(name, |m| m.node(called, &["x"], &["y"], &[]));
    let m = model(|m| m.node("own.A", &["x"], &["y"], &[]));
    let refused = refusal(&m, &[call("own.A", "own.B"), call("own.B", "own.C"), call("own.C", "own.B")]);
    let expected = "own.B `y/own.A/y/own.B/y/own.C/y`: the function calls itself: own.B calls own.C calls own.B";
    assert!(refused.contains(expected), "{refused}");
    let refused = refusal(&m, &[call("own.A", "own.A")]);
    assert!(refused.contains("the function calls itself: own.A calls own.A"), "{refused}");
}

/// A chain of functions, each of which calls the next one `calls` times.
fn chain(functions: usize, calls: usize, last: &'static str) -> Vec<Vec<u8>> {
    let one = |i: usize| {
        let next = if i + 1 == functions { last.to_owned() } else { format!("own.F{}", i + 1) };
        plain(&format!("own.F{i}"), |m| {
            for call in 0..calls {
                let [from, to] = [call, call + 1].map(|place| match place {
                    0 => "x".to_owned(),
                    place if place == calls => "y".to_owned(),
                    place => format!("v{place}"),
                });
                m.node(&next, &[&from], &[&to], &[]);
            }
        })
    };
    (0..functions).map(one).collect()
}

#[test]
fn calls_are_nested_to_a_limit() {
    let m = model(|m| m.node("own.F0", &["x"], &["y"], &[]));
    assert_eq!(answer(&m, &chain(32, 1, "Neg"), &[1.0, 2.0]), [-1.0, -2.0]);
    let refused = refusal(&m, &chain(33, 1, "Neg"));
    assert!(refused.contains("functions and bodies are nested more than 32 deep"), "{refused}");
}

#[test]
fn calls_that_multiply_are_refused_in_bounded_time() {
    let m = model(|m| m.node("own.F0", &["x"], &["y"], &[]));
    assert_eq!(answer(&m, &chain(5, 3, "Neg"), &[1.0, 2.0]), [-1.0, -2.0]);
    // 2^31 calls, of nothing and of a node.
    for last in ["Identity", "Neg"] {
        let error = import(file(&m, &chain(31, 2, last))).unwrap_err();
        let ImportError::TooMuch(too_much) = &error else { panic!("{error}") };
        assert_eq!((too_much.node, &*too_much.operator, &*too_much.tensor), (Some(0), "own.F0", "y"), "{error}");
    }
}

#[test]
fn a_call_is_one_node_of_the_outline() {
    let m = model(|m| {
        m.node("own.Good", &["x"], &["g"], &[]);
        m.node("own.Bad", &["g"], &["b"], &[]);
        m.node("Neg", &["g"], &["y"], &[]);
    });
    let good = plain("own.Good", |m| {
        m.node("Neg", &["x"], &["a"], &[]);
        m.node("Exp", &["a"], &["y"], &[]);
    });
    let bad = plain("own.Bad", |m| m.node("Foo", &["x"], &["y"], &[]));
    let bytes = file(&m, &[good, bad]);
    let source = OutlineSource::from_bytes(Arc::new(bytes), &ImportOptions::default());
    let graph = source.outline(IMAGES[0]).unwrap().graphs.remove(0);
    let verdicts: Vec<&Verdict> = graph.nodes.iter().map(|node| &node.verdict).collect();
    assert!(matches!(verdicts[..], [Verdict::Computed, Verdict::Refused(_), Verdict::Computed]), "{verdicts:?}");
    assert!(graph.nodes[0].operations > graph.nodes[2].operations, "it has two nodes");
}

#[test]
fn a_file_may_state_the_functions_first() {
    let m = model(|m| m.node("own.Neg", &["x"], &["y"], &[]));
    let neg = plain("own.Neg", |m| m.node("Neg", &["x"], &["y"], &[]));
    let bytes = [number(1, 8), neg, m.bytes()].concat();
    assert_eq!(output(&import(bytes).unwrap(), &[1.0, 2.0]), [-1.0, -2.0]);
}
