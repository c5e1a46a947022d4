//! `WHILE`: how its iterations are counted, and iterations that a run decides about.

use texpool_model::import::{ImportError, OutlineSource, Verdict};
use texpool_ops::{graph::Graph, ops::reference};

use super::{
    import,
    one::BOOL,
    variables::{Build, with_graphs},
};
use crate::support::tflite::{F32, Field, I32, Model, Options, Table};

const ADD: i32 = 0;
const MUL: i32 = 18;
const LESS: i32 = 58;
const LOGICAL_AND: i32 = 86;
const WHILE: i32 = 119;

fn repeated(condition: i32, body: i32) -> Option<Options> {
    Some((93, Table(vec![(4, Field::I32(condition)), (6, Field::I32(body))])))
}

fn integer(m: &mut Model, name: &str, value: i32) -> i32 {
    m.constant(name, &[], I32, value.to_le_bytes().to_vec())
}

/// Operands of the comparison that is the condition.
#[derive(Clone, Copy, Debug)]
enum Compared {
    /// A counter with a constant.
    Counter(i32),
    /// A value with a limit that each run gives.
    Value,
    Both(i32),
    /// The condition is the constant true.
    Nothing,
}

/// The graph of a condition, given a counter, a value and a limit.
fn condition(compared: Compared) -> Build<'static> {
    Box::new(move |m| {
        let (n, v, limit) = (m.tensor("n", &[], I32), m.floats("v", &[]), m.floats("limit", &[]));
        let [by_counter, by_value, both] = ["by counter", "by value", "both"].map(|name| m.tensor(name, &[], BOOL));
        let count = |m: &mut Model, most: i32| {
            let most = integer(m, "most", most);
            m.op(LESS, &[n, most], by_counter, None);
        };
        let result = match compared {
            Compared::Counter(most) => {
                count(m, most);
                by_counter
            }
            Compared::Value => {
                m.op(LESS, &[v, limit], by_value, None);
                by_value
            }
            Compared::Both(most) => {
                count(m, most);
                m.op(LESS, &[v, limit], by_value, None);
                m.op(LOGICAL_AND, &[by_value, by_counter], both, None);
                both
            }
            Compared::Nothing => m.constant("always", &[], BOOL, vec![1]),
        };
        [vec![n, v, limit], vec![result]]
    })
}

/// The graph of a body: counts, and triples the value.
fn tripling() -> Build<'static> {
    Box::new(|m| {
        let (n, v, limit) = (m.tensor("n", &[], I32), m.floats("v", &[]), m.floats("limit", &[]));
        let (next, tripled) = (m.tensor("next", &[], I32), m.floats("tripled", &[]));
        let one = integer(m, "one", 1);
        let three = m.constant("three", &[], F32, 3f32.to_le_bytes().to_vec());
        m.op(ADD, &[n, one], next, None);
        m.op(MUL, &[v, three], tripled, None);
        [vec![n, v, limit], vec![next, tripled, limit]]
    })
}

/// A loop over a counter from zero and an input `v`, with another input as the limit.
fn model(compared: Compared, body: Build<'_>) -> Vec<u8> {
    let mut m = Model::new();
    let (v, limit) = (m.floats("v", &[]), m.floats("limit", &[]));
    let zero = integer(&mut m, "zero", 0);
    let (n, y, same) = (m.tensor("n", &[], I32), m.floats("y", &[]), m.floats("same", &[]));
    m.op_of_many(WHILE, &[zero, v, limit], &[n, y, same], repeated(1, 2));
    with_graphs(&m, &[v, limit], &[y, n, same], vec![condition(compared), body])
}

fn outputs(graph: &Graph, v: f32, limit: f32) -> Vec<f32> {
    reference::outputs(graph, &[vec![v], vec![limit]]).unwrap().concat()
}

/// The results of a loop of which runs mean three iterations and none.
pub(super) fn two_runs() -> Vec<f32> {
    let graph = import(model(Compared::Both(5), tripling())).unwrap();
    [outputs(&graph, 1.0, 10.0), outputs(&graph, 2.0, 1.0)].concat()
}

#[test]
fn a_counter_counts_iterations() {
    for (most, factor) in [(0, 1.0), (1, 3.0), (4, 81.0)] {
        let graph = import(model(Compared::Counter(most), tripling())).unwrap();
        assert_eq!(outputs(&graph, 2.0, 5.0), [2.0 * factor, most as f32, 5.0]);
    }
    // The constant of the body is there once.
    let graph = import(model(Compared::Counter(20), tripling())).unwrap();
    let constants = graph.tensors.iter().filter(|tensor| tensor.constant.is_some() && tensor.name == "three");
    assert_eq!(constants.count(), 1);
}

#[test]
fn a_run_decides_about_iterations() {
    let graph = import(model(Compared::Both(5), tripling())).unwrap();
    for (limit, n) in [(0.0, 0), (1.0, 0), (2.0, 1), (27.0, 3), (28.0, 4), (1e6, 5)] {
        assert_eq!(outputs(&graph, 1.0, limit), [3f32.powi(n), n as f32, limit], "{limit}");
    }
}

fn reasons(file: Vec<u8>) -> String {
    match import(file).unwrap_err() {
        ImportError::Unsupported(refusals) => refusals.iter().map(|refusal| refusal.to_string()).collect(),
        other => other.to_string(),
    }
}

#[test]
fn loops_without_a_limit_are_refused() {
    let refused = reasons(model(Compared::Value, tripling()));
    assert!(refused.contains("WHILE `n`: its condition is computed at run time from `v`, `limit`"), "{refused}");
    assert!(refused.contains("after 1024 of them"), "{refused}");
    let passing = || -> Build<'_> {
        Box::new(|m| {
            let all = vec![m.tensor("n", &[], I32), m.floats("v", &[]), m.floats("limit", &[])];
            [all.clone(), all]
        })
    };
    for body in [tripling(), passing()] {
        let endless = import(model(Compared::Nothing, body)).unwrap_err();
        assert!(matches!(endless, ImportError::TooMuch(_)), "{endless}");
    }
}

#[test]
fn graphs_that_do_not_fit_are_refused() {
    let few: Build<'_> = Box::new(|m| {
        let all = vec![m.tensor("n", &[], I32), m.floats("v", &[]), m.floats("limit", &[])];
        [all.clone(), all[..2].to_vec()]
    });
    let refused = reasons(model(Compared::Counter(2), few));
    assert!(refused.contains("its body has 2 results, and the operator has 3"), "{refused}");
    let strange: Build<'_> = Box::new(|m| {
        let all = vec![m.tensor("n", &[], I32), m.floats("v", &[]), m.floats("limit", &[])];
        let next = m.floats("next", &[]);
        m.op(143, &[all[1]], next, None);
        [all.clone(), vec![all[0], next, all[2]]]
    });
    let refused = reasons(model(Compared::Counter(2), strange));
    assert!(refused.contains("READ_VARIABLE `n/body/next`"), "{refused}");
}

#[test]
fn delegates_leave_loops_to_the_runtime() {
    let source =
        OutlineSource::from_bytes(std::sync::Arc::new(model(Compared::Counter(3), tripling())), &<_>::default());
    let outline = source.outline(224).unwrap();
    let Verdict::Refused(refusal) = &outline.graphs[0].nodes[0].verdict else { panic!("{outline:?}") };
    assert!(refusal.reason.contains("graphs of their own"), "{}", refusal.reason);
}

/// TensorFlow's converter writes recurrent layers as loops. Their bodies replace an element of a list by joining the
/// elements before it, the new one, and those behind it; at both ends of the list, one of these parts is empty.
#[test]
fn recurrent_layers_of_keras_agree_with_litert() {
    let graph = import(include_bytes!("../../data/keras_recurrent.tflite").to_vec()).unwrap();
    let outputs = reference::outputs(&graph, &[vec![0.5, -1.0, 2.0, 0.25, -0.75, 1.5]]).unwrap().concat();
    // Values that LiteRT 2.3 gives.
    let expected = [-0.778_229_3, 0.151_553_88, 0.482_742_9];
    assert_eq!(outputs.len(), expected.len());
    for (value, expected) in outputs.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-6, "{outputs:?}");
    }
}
