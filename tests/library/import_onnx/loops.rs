//! `Loop` and `Scan`, whose bodies are repeated, and how their iterations are counted and limited.

use texpool_model::import::ImportError;
use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes, number},
};

pub(super) const BOOL: i64 = 9;

pub(super) fn body(build: impl FnOnce(&mut Model)) -> Attr {
    let mut body = Model::new();
    build(&mut body);
    Attr::Branch(body)
}

/// Adds a constant integer without axes.
pub(super) fn integer(m: &mut Model, name: &str, value: i64) {
    m.tensor(name, INT64, &[], &bytes(9, &value.to_le_bytes()));
}

/// Adds a constant truth value.
pub(super) fn truth(m: &mut Model, name: &str, value: bool) {
    m.tensor(name, BOOL, &[], &bytes(9, &[u8::from(value)]));
}

/// A model with an input `x` of two floats and an output `y`.
pub(super) fn model(build: impl FnOnce(&mut Model)) -> Model {
    let mut m = Model::new();
    m.input("x", &[2]);
    build(&mut m);
    m.output("y");
    m
}

/// The body of a loop that adds `x` to a value, and collects twice the value before.
pub(super) fn adding() -> Attr {
    body(|b| {
        b.input("i", &[]);
        b.input("goes_on", &[]);
        b.input("v", &[2]);
        b.node("Identity", &["goes_on"], &["still"], &[]);
        b.node("Add", &["v", "x"], &["sum"], &[]);
        b.node("Add", &["v", "v"], &["twice"], &[]);
        ["still", "sum", "twice"].iter().for_each(|name| b.output(name));
    })
}

fn outputs(graph: &Graph, inputs: &[&[f32]]) -> Vec<Vec<f32>> {
    reference::outputs(graph, &inputs.iter().map(|values| values.to_vec()).collect::<Vec<_>>()).unwrap()
}

/// The reasons for which nodes are refused.
pub(super) fn reasons(m: &Model) -> Vec<String> {
    match import(m.bytes()).unwrap_err() {
        ImportError::Unsupported(refusals) => refusals.into_iter().map(|refusal| refusal.to_string()).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_loop_passes_values_on_and_collects_others() {
    let mut m = model(|m| {
        integer(m, "three", 3);
        m.node("Loop", &["three", "", "x"], &["y", "all"], &[("body", adding())]);
    });
    m.output("all");
    let graph = import(m.bytes()).unwrap();
    let results = outputs(&graph, &[&[1.0, 10.0]]);
    assert_eq!(results, [vec![4.0, 40.0], vec![2.0, 20.0, 4.0, 40.0, 6.0, 60.0]]);
    assert_eq!(graph.tensors[graph.outputs[1]].dims, [3, 2]);
}

#[test]
fn a_loop_ends_when_a_condition_that_is_known_does() {
    // As TensorFlow's loops are exported: a counter that each iteration compares.
    let counting = || {
        body(|b| {
            ["i", "before"].iter().for_each(|name| b.input(name, &[]));
            b.input("n", &[]);
            b.input("v", &[2]);
            integer(b, "one", 1);
            b.node("Add", &["n", "one"], &["next"], &[]);
            b.node("Less", &["next", "end"], &["goes_on"], &[]);
            b.node("Add", &["v", "v"], &["double"], &[]);
            ["goes_on", "next", "double"].iter().for_each(|name| b.output(name));
        })
    };
    let m = model(|m| {
        integer(m, "zero", 0);
        integer(m, "end", 4);
        truth(m, "yes", true);
        m.node("Loop", &["", "yes", "zero", "x"], &["count", "y"], &[("body", counting())]);
    });
    assert_eq!(outputs(&import(m.bytes()).unwrap(), &[&[1.0, -1.0]]), [[16.0, -16.0]]);
    let none = model(|m| {
        integer(m, "zero", 0);
        integer(m, "end", 4);
        truth(m, "no", false);
        m.node("Loop", &["", "no", "zero", "x"], &["count", "y"], &[("body", counting())]);
    });
    assert_eq!(outputs(&import(none.bytes()).unwrap(), &[&[1.0, -1.0]]), [[1.0, -1.0]]);
}

#[test]
fn a_scan_reads_elements_forwards_and_backwards() {
    let mut m = Model::new();
    m.input("start", &[1]);
    m.input("a", &[3, 1]);
    m.input("b", &[1, 3]);
    let body = body(|b| {
        ["s", "p", "q"].iter().for_each(|name| b.input(name, &[1]));
        b.node("Mul", &["p", "q"], &["product"], &[]);
        b.node("Add", &["s", "product"], &["sum"], &[]);
        b.node("Identity", &["sum"], &["partial"], &[]);
        ["sum", "partial", "product"].iter().for_each(|name| b.output(name));
    });
    let lists = [
        ("scan_input_axes", vec![0, -1]),
        ("scan_input_directions", vec![0, 1]),
        ("scan_output_axes", vec![0, 1]),
        ("scan_output_directions", vec![0, 1]),
    ];
    let mut attributes: Vec<(&str, Attr)> = lists.map(|(name, list)| (name, Attr::Ints(list))).into();
    attributes.extend([("num_scan_inputs", Attr::Int(2)), ("body", body)]);
    m.node("Scan", &["start", "a", "b"], &["y", "partial", "products"], &attributes);
    ["y", "partial", "products"].iter().for_each(|name| m.output(name));
    let graph = import(m.bytes()).unwrap();
    let results = outputs(&graph, &[&[100.0], &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]);
    // 1 · 6, 2 · 5 and 3 · 4.
    assert_eq!(results, [vec![128.0], vec![106.0, 116.0, 128.0], vec![12.0, 10.0, 6.0]]);
    let dims: Vec<&[usize]> = graph.outputs.iter().map(|&id| &*graph.tensors[id].dims).collect();
    assert_eq!(dims, [&[1][..], &[3, 1], &[1, 3]]);
}

#[test]
fn loops_lie_within_loops_and_conditions() {
    let m = model(|m| {
        integer(m, "two", 2);
        let inner = body(|b| {
            ["i", "c"].iter().for_each(|name| b.input(name, &[]));
            b.input("v", &[2]);
            b.node("Identity", &["c"], &["still"], &[]);
            // `w` belongs to the loop outside, and `x` to the graph.
            b.node("Add", &["v", "w"], &["sum"], &[]);
            b.node("Add", &["sum", "x"], &["more"], &[]);
            ["still", "more"].iter().for_each(|name| b.output(name));
        });
        let outer = body(|b| {
            ["i", "c"].iter().for_each(|name| b.input(name, &[]));
            b.input("w", &[2]);
            b.node("Identity", &["c"], &["still"], &[]);
            b.node("Loop", &["two", "", "w"], &["r"], &[("body", inner)]);
            ["still", "r"].iter().for_each(|name| b.output(name));
        });
        m.node("Loop", &["two", "", "x"], &["y"], &[("body", outer)]);
    });
    // Each inner loop makes 3 w + 2 x of w.
    assert_eq!(outputs(&import(m.bytes()).unwrap(), &[&[1.0, 2.0]]), [[17.0, 34.0]]);
}

#[test]
fn iterations_that_cannot_be_counted_are_refused() {
    let m = model(|m| {
        m.input("p", &[]);
        m.floats("zero", &[], &[0.0]);
        m.node("Greater", &["p", "zero"], &["c"], &[]);
        m.node("Loop", &["", "c", "x"], &["y", "all"], &[("body", adding())]);
    });
    let reasons_of_condition = reasons(&m);
    assert!(
        reasons_of_condition[0].contains("its condition is computed from `p` in a run"),
        "{reasons_of_condition:?}"
    );
    let m = model(|m| {
        m.raw_input("n", INT64, &[]);
        m.node("Loop", &["n", "", "x"], &["y", "all"], &[("body", adding())]);
    });
    assert!(reasons(&m)[0].contains("count of iterations"), "{:?}", reasons(&m));
}

#[test]
fn an_endless_loop_ends_at_the_allowance_of_the_import() {
    let endless = |nodes: bool| {
        model(|m| {
            let body = body(|b| {
                ["i", "c"].iter().for_each(|name| b.input(name, &[]));
                b.input("v", &[2]);
                if nodes {
                    b.node("Neg", &["v"], &["next"], &[]);
                }
                ["c", if nodes { "next" } else { "v" }].iter().for_each(|name| b.output(name));
            });
            m.node("Loop", &["", "", "x"], &["y"], &[("body", body)]);
        })
    };
    for nodes in [false, true] {
        let error = import(endless(nodes).bytes()).unwrap_err();
        assert!(matches!(error, ImportError::TooMuch(_)), "{error}");
    }
}

#[test]
fn bodies_that_do_not_match_their_node_are_refused() {
    let m = model(|m| {
        integer(m, "three", 3);
        m.node("Loop", &["three", "", "x", "x"], &["y", "z", "all"], &[("body", adding())]);
    });
    assert!(reasons(&m)[0].contains("its body has 3 inputs, and is given 4"), "{:?}", reasons(&m));
    let m = model(|m| {
        integer(m, "three", 3);
        m.node("Loop", &["three", "", "x"], &["y"], &[("body", adding())]);
    });
    assert!(reasons(&m)[0].contains("it has 3 results instead of 2"), "{:?}", reasons(&m));
    let m = model(|m| {
        integer(m, "none", 0);
        m.node("Loop", &["none", "", "x"], &["z", "y"], &[("body", adding())]);
    });
    assert!(reasons(&m)[0].contains("it has no iterations"), "{:?}", reasons(&m));
}

#[test]
fn a_problem_in_a_body_names_its_node() {
    let m = model(|m| {
        integer(m, "three", 3);
        let body = body(|b| {
            ["i", "c"].iter().for_each(|name| b.input(name, &[]));
            b.input("v", &[2]);
            b.node("Strange", &["v"], &["next"], &[]);
            ["c", "next"].iter().for_each(|name| b.output(name));
        });
        m.node("Loop", &["three", "", "x"], &["y"], &[("body", body)]);
    });
    assert!(reasons(&m)[0].contains("Strange `y/body/next`"), "{:?}", reasons(&m));
}

/// Sequences of a batch that have different lengths, and all the same one.
#[test]
fn sequences_are_reversed_up_to_their_lengths() {
    for (lengths, expected) in [
        ([3, 2], [5.0, 4.0, 3.0, 2.0, 1.0, 6.0]),
        ([2, 2], [3.0, 4.0, 1.0, 2.0, 5.0, 6.0]),
        ([0, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ] {
        let mut m = Model::new();
        m.input("x", &[3, 2]);
        m.ints("lengths", &lengths);
        m.node("ReverseSequence", &["x", "lengths"], &["y"], &[]);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        assert_eq!(outputs(&graph, &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), [expected], "{lengths:?}");
    }
}

/// Indices in the file and indices in a run give the same values, for every reduction.
#[test]
fn elements_are_scattered_alike_whether_indices_are_known_or_not() {
    let data: Vec<f32> = (1..=12).map(|i| i as f32).collect();
    let (updates, indices) = ([0.5, 20.0, -3.0, 2.0, 7.0, 0.25], [1i64, -1, 0, 3, 2, 1]);
    for axis in [0, 1] {
        let (dims, few) = if axis == 0 { ([4, 3], [2, 3]) } else { ([3, 4], [3, 2]) };
        for reduction in ["none", "add", "mul", "max", "min"] {
            let results = [true, false].map(|known| {
                let mut m = Model::new();
                let attributes = [("axis", Attr::Int(axis)), ("reduction", Attr::Text(reduction))];
                if known {
                    m.floats("data", &dims, &data);
                    m.floats("updates", &few, &updates);
                    let raw: Vec<u8> = indices.iter().flat_map(|index| index.to_le_bytes()).collect();
                    m.tensor("indices", INT64, &few, &bytes(9, &raw));
                } else {
                    m.input("data", &dims);
                    m.raw_input("indices", INT64, &few.map(|extent| number(1, extent)));
                    m.input("updates", &few);
                }
                m.input("zero", &dims);
                m.node("ScatterElements", &["data", "indices", "updates"], &["scattered"], &attributes);
                m.node("Add", &["scattered", "zero"], &["y"], &[]);
                m.output("y");
                let (zero, indices) = ([0.0; 12], indices.map(|index| index as f32));
                let inputs: &[&[f32]] = if known { &[&zero] } else { &[&data, &indices, &updates, &zero] };
                outputs(&import(m.bytes()).unwrap(), inputs)
            });
            assert_eq!(results[0], results[1], "axis {axis}, {reduction}");
            assert!(results[0][0] != data, "axis {axis}, {reduction} writes nothing");
        }
    }
}

/// Indices that a run repeats along the other axes, as graph networks write them, give the same as those of the file.
#[test]
fn elements_are_scattered_by_one_index_for_each_place() {
    let data: Vec<f32> = (1..=24).map(|i| i as f32).collect();
    let updates: Vec<f32> = (0..30).map(|i| (i * 7 % 11) as f32 - 4.0).collect();
    let indices = [1i64, -1, 0, 3, 1];
    for (dims, few, axis) in [([4, 3, 2], [5, 3, 2], 0), ([3, 4, 2], [3, 5, 2], 1), ([3, 2, 4], [3, 2, 5], -1)] {
        for reduction in ["none", "add", "mul", "max", "min"] {
            // Without a reduction, no index may occur twice.
            let indices = if reduction == "none" { [1, -1, 0, 2, 7] } else { indices };
            let few = if reduction == "none" { few.map(|extent| extent.min(4)) } else { few };
            let number_of = few.iter().product::<i64>() as usize;
            let list: Vec<i64> = indices[..if reduction == "none" { 4 } else { 5 }].to_vec();
            let place = if axis < 0 { 2 } else { axis as usize };
            let results = [true, false].map(|known| {
                let mut m = Model::new();
                let attributes = [("axis", Attr::Int(axis)), ("reduction", Attr::Text(reduction))];
                m.input("data", &dims);
                m.input("updates", &few);
                let along = [0, 1, 2].map(|axis| if axis == place { list.len() as i64 } else { 1 });
                let raw: Vec<u8> = list.iter().flat_map(|index| index.to_le_bytes()).collect();
                match known {
                    true => m.tensor("list", INT64, &along, &bytes(9, &raw)),
                    false => m.raw_input("list", INT64, &along.map(|extent| number(1, extent))),
                }
                m.ints("extents", &few);
                m.node("Expand", &["list", "extents"], &["indices"], &[]);
                m.node("ScatterElements", &["data", "indices", "updates"], &["y"], &attributes);
                m.output("y");
                let list: Vec<f32> = list.iter().map(|&index| index as f32).collect();
                let inputs: &[&[f32]] =
                    if known { &[&data, &updates[..number_of]] } else { &[&data, &updates[..number_of], &list] };
                outputs(&import(m.bytes()).unwrap(), inputs)
            });
            assert_eq!(results[0], results[1], "axis {axis}, {reduction}");
            assert!(results[0][0] != data, "axis {axis}, {reduction} writes nothing");
        }
    }
}

/// A bound that is computed in a run clips as one that the file states.
#[test]
fn bounds_of_a_clip_may_be_computed() {
    let mut m = Model::new();
    m.input("x", &[4]);
    m.input("low", &[1]);
    m.node("Squeeze", &["low"], &["bound"], &[]);
    m.floats("high", &[], &[2.0]);
    m.node("Clip", &["x", "bound", "high"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    assert_eq!(outputs(&graph, &[&[-5.0, 0.0, 1.5, 9.0], &[-1.0]]), [[-1.0, 0.0, 1.5, 2.0]]);
}
