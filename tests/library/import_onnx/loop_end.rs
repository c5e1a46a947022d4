//! Loops whose end is decided in a run: by a condition, by a count, or by both.

use texpool_model::import::{ImportError, ImportOptions};
use texpool_ops::{graph::Graph, ops::reference};

use super::{
    loops::{BOOL, adding, body, integer, model, reasons, truth},
    support::{
        import,
        onnx::{Attr, Dim, FLOAT, INT64, Model, number},
    },
};

/// Extents and values of the outputs.
fn outputs(graph: &Graph, inputs: &[&[f32]]) -> Vec<(Vec<usize>, Vec<f32>)> {
    let inputs: Vec<Vec<f32>> = inputs.iter().map(|values| values.to_vec()).collect();
    let mut outputs = reference::outputs(graph, &inputs).unwrap();
    let dims = graph.cut_outputs(&mut outputs);
    dims.into_iter().zip(outputs).collect()
}

/// A body that doubles `v`, counts in `n`, and goes on while the sum of `v` is below `limit`. It collects `v`.
fn doubling() -> Attr {
    body(|b| {
        ["i", "goes_on"].iter().for_each(|name| b.input(name, &[]));
        b.input("v", &[2]);
        b.input("n", &[]);
        integer(b, "one", 1);
        b.node("Add", &["v", "v"], &["double"], &[]);
        b.node("Add", &["n", "one"], &["next"], &[]);
        b.node("ReduceSum", &["double"], &["sum"], &[("keepdims", Attr::Int(0))]);
        b.node("Less", &["sum", "limit"], &["below"], &[]);
        b.node("Identity", &["double"], &["kept"], &[]);
        ["below", "double", "next", "kept"].iter().for_each(|name| b.output(name));
    })
}

/// What the loop with at most `most` iterations gives.
fn doubled(x: [f32; 2], limit: f32, first: bool, most: usize) -> (Vec<f32>, usize, Vec<f32>) {
    let (mut v, mut n, mut kept, mut goes_on) = (x, 0, Vec::new(), first);
    while goes_on && n < most {
        v = v.map(|value| value + value);
        n += 1;
        kept.extend(v);
        goes_on = v[0] + v[1] < limit;
    }
    (v.to_vec(), n, kept)
}

#[test]
fn a_condition_of_a_run_ends_a_loop() {
    for first in [None, Some(true)] {
        let mut m = model(|m| {
            m.input("limit", &[]);
            m.input("p", &[]);
            integer(m, "five", 5);
            integer(m, "zero", 0);
            m.floats("nothing", &[], &[0.0]);
            m.node("Greater", &["p", "nothing"], &["positive"], &[]);
            truth(m, "yes", true);
            let condition = if first.is_some() { "yes" } else { "positive" };
            m.node("Loop", &["five", condition, "x", "zero"], &["y", "n", "all"], &[("body", doubling())]);
        });
        ["n", "all"].iter().for_each(|name| m.output(name));
        let graph = import(m.bytes()).unwrap();
        for (limit, p) in [(0.0, 1.0), (5.0, 1.0), (7.0, 1.0), (20.0, -1.0), (40.0, 1.0), (1e9, 1.0), (1e9, 0.0)] {
            let (v, n, kept) = doubled([1.0, 2.0], limit, first.unwrap_or(p > 0.0), 5);
            let results = outputs(&graph, &[&[1.0, 2.0], &[limit], &[p]]);
            let expected = [(vec![2], v), (vec![], vec![n as f32]), (vec![n, 2], kept)];
            assert_eq!(results, expected, "{first:?} {limit} {p}");
        }
    }
}

#[test]
fn values_behind_the_end_have_no_effect() {
    // They overflow soon.
    let m = model(|m| {
        m.input("limit", &[]);
        integer(m, "most", 200);
        integer(m, "zero", 0);
        m.node("Loop", &["most", "", "x", "zero"], &["y", "n", "all"], &[("body", doubling())]);
    });
    let graph = import(m.bytes()).unwrap();
    assert_eq!(outputs(&graph, &[&[1.0, -1.0], &[-0.5]]), [(vec![2], vec![2.0, -2.0])]);
    assert_eq!(outputs(&graph, &[&[1.0, 2.0], &[50.0]]), [(vec![2], vec![32.0, 64.0])]);
}

#[test]
fn a_counter_that_is_known_limits_a_loop_without_a_count() {
    // As PyTorch exports `while i < 6 and not done`.
    let body = body(|b| {
        ["i", "goes_on"].iter().for_each(|name| b.input(name, &[]));
        b.input("v", &[2]);
        b.input("n", &[]);
        integer(b, "one", 1);
        integer(b, "six", 6);
        b.node("Add", &["v", "x"], &["sum"], &[]);
        b.node("Add", &["n", "one"], &["next"], &[]);
        b.node("Less", &["next", "six"], &["counted"], &[]);
        b.node("ReduceMax", &["sum"], &["greatest"], &[("keepdims", Attr::Int(0))]);
        b.node("Less", &["greatest", "limit"], &["below"], &[]);
        b.node("And", &["below", "counted"], &["both"], &[]);
        ["both", "sum", "next"].iter().for_each(|name| b.output(name));
    });
    let mut m = model(|m| {
        m.input("limit", &[]);
        integer(m, "zero", 0);
        truth(m, "yes", true);
        m.node("Loop", &["", "yes", "x", "zero"], &["y", "n"], &[("body", body)]);
    });
    m.output("n");
    let graph = import(m.bytes()).unwrap();
    for (limit, n) in [(0.0, 1), (2.5, 2), (5.0, 4), (100.0, 6)] {
        let results = outputs(&graph, &[&[1.0, -1.0], &[limit]]);
        let all = 1.0 + n as f32;
        assert_eq!(results, [(vec![2], vec![all, -all]), (vec![], vec![n as f32])], "{limit}");
    }
}

#[test]
fn a_count_of_a_run_has_a_limit_or_is_refused() {
    let counted = |limit: Option<i64>| {
        let mut m = model(|m| {
            m.raw_input("n", INT64, &[]);
            integer(m, "limit", limit.unwrap_or_default());
            m.node("Min", &["n", "limit"], &["least"], &[]);
            let count = if limit.is_some() { "least" } else { "n" };
            m.node("Loop", &[count, "", "x"], &["y", "all"], &[("body", adding())]);
        });
        m.output("all");
        m
    };
    let graph = import(counted(Some(4)).bytes()).unwrap();
    for n in [-1.0f32, 0.0, 1.0, 3.0, 4.0, 9.0] {
        let times = n.clamp(0.0, 4.0) as usize;
        let y = [1.0, 2.0].map(|x| x * (1 + times) as f32);
        let all = (1..=times).flat_map(|i| [2.0 * i as f32, 4.0 * i as f32]).collect();
        assert_eq!(outputs(&graph, &[&[1.0, 2.0], &[n]]), [(vec![2], y.to_vec()), (vec![times, 2], all)], "{n}");
    }
    for m in [counted(None), counted(Some(100_000))] {
        let refused = reasons(&m);
        assert!(refused[0].contains("its count of iterations is computed from `n` in a run"), "{refused:?}");
        assert!(refused[0].contains("after 1024 of them") && refused[0].contains("bind what it is"), "{refused:?}");
        let Err(ImportError::Unsupported(refused)) = import(m.bytes()) else { panic!("it is refused") };
        assert_eq!(refused[0].inputs, ["n"]);
    }
}

/// The count is the extent of an input, of which each run gives another one.
#[test]
fn an_extent_of_a_run_counts_iterations() {
    let mut m = Model::new();
    m.open_input("steps", FLOAT, &[Dim::Named("n")]);
    m.input("x", &[2]);
    integer(&mut m, "zero", 0);
    m.node("Shape", &["steps"], &["extents"], &[]);
    m.node("Gather", &["extents", "zero"], &["count"], &[]);
    m.node("Loop", &["count", "", "x"], &["y", "all"], &[("body", adding())]);
    ["y", "all"].iter().for_each(|name| m.output(name));
    let options = ImportOptions { bounds: [("n".to_owned(), 5.into())].into(), ..ImportOptions::default() };
    let graph = texpool_model::import::from_bytes_with(std::sync::Arc::new(m.bytes()), &options).unwrap();
    for n in 1..=5 {
        let results = outputs(&graph, &[&[0.0; 5], &[1.0, 2.0], &[n as f32]]);
        let all: Vec<f32> = (1..=n).flat_map(|i| [2.0 * i as f32, 4.0 * i as f32]).collect();
        assert_eq!(results[..2], [(vec![2], vec![1.0 + n as f32, 2.0 + 2.0 * n as f32]), (vec![n, 2], all)], "{n}");
    }
}

#[test]
fn what_a_run_cannot_decide_is_refused_by_name() {
    // A value that grows.
    let growing = body(|b| {
        ["i", "goes_on"].iter().for_each(|name| b.input(name, &[]));
        b.input("v", &[2]);
        b.node("Concat", &["v", "x"], &["longer"], &[("axis", Attr::Int(0))]);
        ["c", "longer"].iter().for_each(|name| b.output(name));
    });
    let of_condition = |m: &mut Model| {
        m.floats("nothing", &[], &[0.0]);
        m.input("p", &[]);
        m.node("Greater", &["p", "nothing"], &["c"], &[]);
        integer(m, "three", 3);
    };
    let m = model(|m| {
        of_condition(m);
        m.node("Loop", &["three", "c", "x"], &["y"], &[("body", growing)]);
    });
    let refused = reasons(&m);
    assert!(refused[0].contains("its result `y` is f32 [2] before an iteration and f32 [4] after it"), "{refused:?}");
    // Collected values of an inner loop.
    let inner = body(|b| {
        ["i", "goes_on"].iter().for_each(|name| b.input(name, &[]));
        b.input("v", &[2]);
        b.node("Loop", &["three", "c", "x"], &["w", "all"], &[("body", adding())]);
        b.node("ReduceSum", &["all"], &["sum"], &[]);
        b.node("Add", &["v", "sum"], &["next"], &[]);
        ["c", "next"].iter().for_each(|name| b.output(name));
    });
    let m = model(|m| {
        of_condition(m);
        m.node("Loop", &["three", "c", "x"], &["y"], &[("body", inner)]);
    });
    let refused = reasons(&m);
    assert!(refused[0].contains("iterations whose number a run decides, inside a body"), "{refused:?}");
    // No truth value.
    let m = model(|m| {
        m.raw_input("c", BOOL, &[number(1, 2)]);
        integer(m, "three", 3);
        m.node("Loop", &["three", "c", "x"], &["y", "all"], &[("body", adding())]);
    });
    assert!(reasons(&m)[0].contains("not a single truth value"), "{:?}", reasons(&m));
}
