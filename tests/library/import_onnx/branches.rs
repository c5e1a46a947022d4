//! `If`: the branch of a known condition, both branches of another, names, and limits.

use std::collections::BTreeMap;

use texpool_model::import::{Array, ImportError, ImportOptions, UnsupportedOp};
use texpool_ops::{
    graph::{Graph, Op},
    ops::reference,
};

use super::support::{
    import, import_with,
    onnx::{Attr, FLOAT, INT64, Model, bytes, number, varint},
};

const BOOL: i64 = 9;

/// A branch.
fn branch(build: impl FnOnce(&mut Model)) -> Model {
    let mut branch = Model::new();
    build(&mut branch);
    branch
}

/// A branch of one node with one result.
fn one(op: &str, inputs: &[&str], result: &str) -> Model {
    branch(|b| {
        b.node(op, inputs, &[result], &[]);
        b.output(result);
    })
}

/// Adds an `If`.
fn choose(m: &mut Model, condition: &str, outputs: &[&str], [then, other]: [Model; 2]) {
    let branches = [("then_branch", Attr::Branch(then)), ("else_branch", Attr::Branch(other))];
    m.node("If", &[condition], outputs, &branches);
}

/// Adds a constant truth value.
fn truth(m: &mut Model, name: &str, value: bool) {
    m.tensor(name, BOOL, &[], &bytes(9, &[u8::from(value)]));
}

/// A model with an input `x` of two floats, a single one `p` and `c`, whether `p` is above 0.
fn model(build: impl FnOnce(&mut Model)) -> Model {
    let mut m = Model::new();
    m.input("x", &[2]);
    m.input("p", &[]);
    m.floats("zero", &[], &[0.0]);
    m.node("Greater", &["p", "zero"], &["c"], &[]);
    build(&mut m);
    m.output("y");
    m
}

/// The outputs for values of `x` and `p`.
fn outputs(graph: &Graph, x: [f32; 2], p: f32) -> Vec<Vec<f32>> {
    let value = |name: &str| if name == "x" { x.to_vec() } else { vec![p] };
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&id| value(&graph.tensors[id].name)).collect();
    reference::outputs(graph, &inputs).unwrap()
}

fn refused(m: &Model) -> Vec<UnsupportedOp> {
    match import(m.bytes()).unwrap_err() {
        ImportError::Unsupported(refusals) => refusals,
        other => panic!("{other}"),
    }
}

fn operators(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().map(|node| node.op.name()).collect()
}

#[test]
fn a_known_condition_takes_its_branch_and_reads_nothing_of_the_other() {
    for (condition, expected) in [(true, [0.0, 3.0]), (false, [2.0, -3.0])] {
        let m = model(|m| {
            truth(m, "k", condition);
            // The same name in both, and what the other branch holds is not even an operator.
            let [relu, neg] = [("Relu", "Strange"), ("Neg", "Strange")].map(|(op, _)| one(op, &["x"], "r"));
            let strange = one("Strange", &["nothing"], "r");
            let pair = if condition { [relu, strange] } else { [strange, neg] };
            choose(m, "k", &["y"], pair);
        });
        let graph = import(m.bytes()).unwrap();
        assert_eq!(graph.nodes.len(), 2, "{:?}", operators(&graph));
        assert_eq!(outputs(&graph, [-2.0, 3.0], 0.0), [expected]);
        assert_eq!(graph.tensors[graph.outputs[0]].name, "y");
    }
}

#[test]
fn conditions_follow_from_shapes_and_from_bound_inputs() {
    // The rank of `x`, and an input that is bound.
    let m = model(|m| {
        m.ints("two", &[2]);
        m.raw_input("rate", INT64, &[]);
        m.tensor("usual", INT64, &[], &bytes(9, &16_000i64.to_le_bytes()));
        m.node("Shape", &["x"], &["s"], &[]);
        m.node("Equal", &["s", "two"], &["is_two"], &[]);
        m.node("Equal", &["rate", "usual"], &["is_usual"], &[]);
        choose(m, "is_two", &["a"], [one("Neg", &["x"], "r"), one("Strange", &["x"], "r")]);
        choose(m, "is_usual", &["y"], [one("Neg", &["a"], "r"), one("Abs", &["a"], "r")]);
    });
    for (rate, expected) in [(16_000, [1.0, -2.0]), (8_000, [1.0, 2.0])] {
        let rate = Array::ints(&[], &[rate]).unwrap();
        let constants = BTreeMap::from([("rate".to_owned(), rate)]);
        let graph = import_with(m.bytes(), &ImportOptions { constants, ..ImportOptions::default() }).unwrap();
        assert_eq!(outputs(&graph, [1.0, -2.0], 0.0), [expected]);
    }
    // Not bound, both are computed.
    let graph = import(m.bytes()).unwrap();
    assert_eq!(graph.inputs.len(), 3);
}

#[test]
fn a_computed_condition_selects_among_the_results_of_both() {
    let m = model(|m| {
        let then = branch(|b| {
            b.floats("w", &[2], &[10.0, 20.0]);
            b.node("Add", &["x", "w"], &["sum"], &[]);
            b.node("Log", &["sum"], &["log"], &[]);
            ["log", "w", "x"].iter().for_each(|name| b.output(name));
        });
        let other = branch(|b| {
            b.floats("w", &[2], &[1.0, 2.0]);
            b.node("Mul", &["x", "w"], &["product"], &[]);
            ["product", "w", "x"].iter().for_each(|name| b.output(name));
        });
        choose(m, "c", &["y", "constant", "same"], [then, other]);
        ["constant", "same"].iter().for_each(|name| m.output(name));
    });
    let graph = import(m.bytes()).unwrap();
    // The branch that is not selected gives NaN, which is not in the result.
    assert_eq!(outputs(&graph, [-30.0, -40.0], 0.0)[2], [-30.0, -80.0]);
    let results = outputs(&graph, [-9.0, -19.0], 1.0);
    assert_eq!(results, [vec![10.0, 20.0], vec![-9.0, -19.0], vec![0.0, 0.0]]);
    assert_eq!(outputs(&graph, [3.0, 4.0], -1.0)[0], [1.0, 2.0]);
    let names: Vec<&str> = graph.outputs.iter().map(|&id| &*graph.tensors[id].name).collect();
    assert_eq!(names, ["constant", "same", "y"]);
    // What both pass on is not selected.
    let selected = graph.nodes.iter().filter(|node| matches!(node.op, Op::Binary(texpool_ops::graph::Binary::ZeroIf)));
    assert_eq!(selected.count(), 2);
}

/// A condition of one axis selects a result without axes, and integers are selected exactly.
#[test]
fn selected_results_have_the_extents_and_types_of_their_branches() {
    let m = model(|m| {
        m.ints("one", &[1]);
        m.node("Reshape", &["c", "one"], &["list"], &[]);
        let number = |value: i64| {
            branch(|b| {
                b.tensor("n", INT64, &[], &bytes(9, &value.to_le_bytes()));
                b.output("n");
            })
        };
        choose(m, "list", &["y"], [number(1 << 24), number(-7)]);
    });
    let graph = import(m.bytes()).unwrap();
    let output = &graph.tensors[graph.outputs[0]];
    assert!(output.dims.is_empty());
    assert_eq!(output.element_type.name(), "i64");
    assert_eq!(outputs(&graph, [0.0; 2], 1.0), [[16_777_216.0]]);
    assert_eq!(outputs(&graph, [0.0; 2], 0.0), [[-7.0]]);
}

#[test]
fn names_of_a_branch_hide_equal_names_and_end_with_it() {
    let m = model(|m| {
        m.node("Neg", &["x"], &["v"], &[]);
        truth(m, "k", true);
        let inner = branch(|b| {
            b.node("Abs", &["v"], &["w"], &[]);
            b.output("w");
        });
        let then = branch(|b| {
            // Hides the outer `v`; the inner branch reads this one.
            b.node("Add", &["x", "x"], &["v"], &[]);
            truth(b, "inner", true);
            choose(b, "inner", &["w"], [inner, one("Strange", &[], "w")]);
            b.output("w");
        });
        choose(m, "k", &["a"], [then, one("Neg", &["x"], "w")]);
        // `v` is still the outer one.
        m.node("Add", &["a", "v"], &["y"], &[]);
    });
    let graph = import(m.bytes()).unwrap();
    assert_eq!(outputs(&graph, [3.0, -5.0], 0.0), [[6.0 - 3.0, 10.0 + 5.0]]);

    // A name of a branch is unknown outside.
    let m = model(|m| {
        truth(m, "k", true);
        choose(m, "k", &["a"], [one("Neg", &["x"], "w"), one("Neg", &["x"], "w")]);
        m.node("Add", &["a", "w"], &["y"], &[]);
    });
    let refusals = refused(&m);
    assert!(refusals[0].reason.contains("`w` is computed by no node"), "{}", refusals[0]);
}

/// A value that only a branch reads is still held when the branch is lowered.
#[test]
fn known_values_are_kept_for_branches() {
    let m = model(|m| {
        m.node("Shape", &["x"], &["s"], &[]);
        m.node("Neg", &["s"], &["n"], &[]);
        m.node("Neg", &["n"], &["s2"], &[]);
        truth(m, "k", true);
        let inner = one("Reshape", &["x", "s2"], "r");
        let then = branch(|b| {
            truth(b, "inner", true);
            choose(b, "inner", &["r"], [inner, one("Reshape", &["x", "n"], "r")]);
            b.output("r");
        });
        choose(m, "k", &["a"], [then, one("Neg", &["n"], "r")]);
        m.node("Reshape", &["a", "s2"], &["b"], &[]);
        m.node("Relu", &["b"], &["y"], &[]);
    });
    assert_eq!(outputs(&import(m.bytes()).unwrap(), [-1.0, 1.0], 0.0), [[0.0, 1.0]]);
}

#[test]
fn refused_nodes_of_a_branch_are_named() {
    let strange = || {
        branch(|b| {
            b.node("Strange", &["x"], &["s"], &[]);
            b.node("Stranger", &["x"], &["t"], &[]);
            // Depends on a refused node, and is not listed.
            b.node("Neg", &["s"], &["r"], &[]);
            b.output("r");
        })
    };
    let m = model(|m| {
        truth(m, "k", true);
        let then = branch(|b| {
            choose(b, "k", &["r"], [strange(), one("Neg", &["x"], "r")]);
            b.output("r");
        });
        choose(m, "k", &["y"], [then, one("Neg", &["x"], "r")]);
    });
    let listed: Vec<String> =
        refused(&m).iter().map(|r| format!("{} {} {}: {}", r.node, r.operator, r.name, r.reason)).collect();
    assert_eq!(
        listed,
        [
            "1 Strange y/then_branch/r/then_branch/s: the operator is not supported",
            "1 Stranger y/then_branch/r/then_branch/t: the operator is not supported",
        ]
    );

    // Of a computed condition both branches are refused, with the inputs to make constants of.
    let m = model(|m| choose(m, "c", &["y"], [strange(), one("Odd", &["x"], "r")]));
    let refusals = refused(&m);
    let names: Vec<&str> = refusals.iter().map(|refusal| &*refusal.name).collect();
    assert_eq!(names, ["y/then_branch/s", "y/then_branch/t", "y/else_branch/r"]);
    for refusal in &refusals {
        assert!(refusal.reason.contains("the condition is computed from `p` in a run"), "{refusal}");
        assert!(refusal.hint.contains("make constants of the inputs"), "{refusal}");
    }
}

#[test]
fn branches_that_do_not_agree_are_refused_with_both_shapes() {
    let constant = |kind, dims: &[i64], values: &[u8]| {
        branch(|b| {
            b.tensor("v", kind, dims, &bytes(9, values));
            b.output("v");
        })
    };
    let m = model(|m| {
        choose(m, "c", &["y"], [constant(FLOAT, &[1, 2], &[0; 8]), constant(INT64, &[2], &[0; 16])]);
    });
    let refusals = refused(&m);
    let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
    let expected = "its result `y` is f32 [1, 2] in the then_branch, but i64 [2] in the else_branch";
    assert!(refusal.reason.starts_with(expected), "{refusal}");
    assert!(refusal.reason.contains("computed from `p`"), "{refusal}");
    assert_eq!((&*refusal.operator, refusal.node), ("If", 1));
}

#[test]
fn malformed_branches_are_refused() {
    let neg = || one("Neg", &["x"], "r");
    type Change<'c> = &'c dyn Fn(&mut Model);
    let cases: [(&str, Change<'_>); 6] = [
        ("its condition is f32 [2], not a single truth value", &|m| choose(m, "x", &["y"], [neg(), neg()])),
        ("If `y/else_branch`: the node has no such body", &|m| {
            m.node("If", &["c"], &["y"], &[("then_branch", Attr::Branch(neg()))])
        }),
        ("If `y/then_branch`: the node has no such body", &|m| {
            m.node("If", &["c"], &["y"], &[("then_branch", Attr::Int(1))])
        }),
        ("`y/then_branch`: it has 1 results, and the node has 2", &|m| choose(m, "c", &["y", "z"], [neg(), neg()])),
        ("its result: its operand `q` is computed by no node", &|m| {
            let none = || branch(|b| b.output("q"));
            choose(m, "c", &["y"], [none(), none()]);
        }),
        ("two initializers called `w`", &|m| {
            let twice = branch(|b| {
                (0..2).for_each(|_| b.floats("w", &[1], &[1.0]));
                b.output("w");
            });
            choose(m, "c", &["y"], [twice, neg()]);
        }),
    ];
    for (expected, change) in cases {
        let error = import(model(change).bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Results of refused nodes make an `If` unknown, not refused.
#[test]
fn a_branch_that_reads_a_refused_result_is_not_listed() {
    let m = model(|m| {
        m.node("Strange", &["x"], &["s"], &[]);
        choose(m, "c", &["a"], [one("Neg", &["s"], "r"), one("Neg", &["x"], "r")]);
        m.node("Neg", &["a"], &["y"], &[]);
    });
    let refusals = refused(&m);
    assert_eq!(refusals.iter().map(|refusal| &*refusal.operator).collect::<Vec<_>>(), ["Strange"]);
}

/// An `If` in both branches of an `If`, `depth` levels deep. The conditions are computed.
fn tree(depth: usize) -> Model {
    branch(|b| {
        if depth == 0 {
            b.node("Neg", &["x"], &["r"], &[]);
        } else {
            choose(b, "c", &["r"], [tree(depth - 1), tree(depth - 1)]);
        }
        b.output("r");
    })
}

#[test]
fn a_tree_of_conditions_takes_what_its_file_holds() {
    let build = |depth| model(|m| choose(m, "c", &["y"], [tree(depth), tree(depth)]));
    let graph = import(build(6).bytes()).unwrap();
    // A Neg for each of 128 leaves, three nodes for each of 127 selections, and the comparison.
    assert_eq!(graph.nodes.len(), 128 + 3 * 127 + 1);
    assert_eq!(outputs(&graph, [1.0, -2.0], 1.0), [[-1.0, 2.0]]);
}

#[test]
fn conditions_within_conditions_have_a_limited_depth() {
    let chain = |depth: usize| {
        let mut inner = one("Neg", &["x"], "r");
        for _ in 1..depth {
            inner = branch(|b| {
                choose(b, "c", &["r"], [inner, one("Abs", &["x"], "r")]);
                b.output("r");
            });
        }
        model(|m| choose(m, "c", &["y"], [inner, one("Abs", &["x"], "r")]))
    };
    assert_eq!(outputs(&import(chain(32).bytes()).unwrap(), [1.0, 2.0], 1.0), [[-1.0, -2.0]]);
    let error = import(chain(33).bytes()).unwrap_err().to_string();
    assert!(error.contains("it is nested more than 32 deep"), "{error}");
    // Once for each of the two branches.
    assert_eq!(error.matches("both branches are needed").count(), 2, "{error}");

    // A hundred thousand levels, written from the inside, backwards.
    let mut nested: Vec<u8> = Vec::new();
    for _ in 0..100_000 {
        let attribute = [bytes(1, b"then_branch"), varint(6 << 3 | 2)].concat();
        for (before, key) in [(attribute, None), (bytes(4, b"If"), Some(5)), (Vec::new(), Some(1))] {
            // The message so far with its length, then what stands in front of it in the same message.
            let length = varint(nested.len() as u64);
            nested.extend(length.iter().rev());
            if let Some(key) = key {
                nested.extend(varint(key << 3 | 2).iter().rev());
            }
            nested.extend(before.iter().rev());
        }
    }
    nested.reverse();
    let error = import([number(1, 8), bytes(7, &nested), bytes(8, &number(2, 18))].concat()).unwrap_err();
    assert!(matches!(error, ImportError::Unsupported(_)), "{error}");
}
