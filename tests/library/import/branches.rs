//! `IF`: the branch of a constant condition, both branches of another, and what cannot be a branch.

use texpool_model::import::{ImportError, ImportOptions, OutlineSource, Verdict};
use texpool_ops::{graph::Graph, ops::reference};

use super::{
    import,
    one::BOOL,
    variables::{Build, with_graphs},
};
use crate::support::tflite::{F32, Field, I32, Model, Options, Table};

const ADD: i32 = 0;
const MUL: i32 = 18;
const GREATER: i32 = 61;
const IF: i32 = 118;
const READ_VARIABLE: i32 = 143;

fn chosen(then: i32, other: i32) -> Option<Options> {
    Some((92, Table(vec![(4, Field::I32(then)), (6, Field::I32(other))])))
}

/// A graph of an operator that is given its input twice.
fn twice(code: i32) -> Build<'static> {
    Box::new(move |m| {
        let (x, y) = (m.floats("a", &[2]), m.floats("b", &[2]));
        m.op(code, &[x, x], y, None);
        [vec![x], vec![y]]
    })
}

/// A graph that passes its input on.
fn passing() -> Build<'static> {
    Box::new(|m| {
        let x = m.floats("a", &[2]);
        [vec![x], vec![x]]
    })
}

/// `x` by one of two branches: a constant condition, or whether `p` is above 0.
fn model(condition: Option<bool>, indices: [i32; 2], branches: Vec<Build<'_>>) -> Vec<u8> {
    let mut m = Model::new();
    let (x, p, y) = (m.floats("x", &[2]), m.floats("p", &[]), m.floats("y", &[2]));
    let c = match condition {
        Some(truth) => m.constant("c", &[], BOOL, vec![u8::from(truth)]),
        None => {
            let zero = m.constant("zero", &[], F32, vec![0; 4]);
            let c = m.tensor("c", &[], BOOL);
            m.op(GREATER, &[p, zero], c, None);
            c
        }
    };
    m.op(IF, &[c, x], y, chosen(indices[0], indices[1]));
    with_graphs(&m, &[x, p], &[y], branches)
}

fn outputs(graph: &Graph, p: f32) -> Vec<f32> {
    reference::outputs(graph, &[vec![3.0, -5.0], vec![p]]).unwrap().remove(0)
}

/// The results of an `IF`, whose condition holds in the first of two runs alone.
pub(super) fn two_runs() -> Vec<f32> {
    let graph = import(model(None, [1, 2], vec![twice(MUL), twice(ADD)])).unwrap();
    [outputs(&graph, 1.0), outputs(&graph, -1.0)].concat()
}

#[test]
fn a_constant_condition_takes_its_branch() {
    // The other branch may be anything.
    for (condition, expected) in [(true, [9.0, 25.0]), (false, [6.0, -10.0])] {
        let mut branches = vec![twice(MUL), twice(ADD)];
        branches[usize::from(condition)] = twice(READ_VARIABLE);
        let graph = import(model(Some(condition), [1, 2], branches)).unwrap();
        assert_eq!(outputs(&graph, 0.0), expected);
    }
    let graph = import(model(Some(true), [1, 2], vec![passing(), twice(ADD)])).unwrap();
    assert_eq!(outputs(&graph, 0.0), [3.0, -5.0]);
}

#[test]
fn both_branches_of_a_computed_condition_are_computed() {
    for (branches, [then, other]) in [
        (vec![twice(MUL), twice(ADD)], [[9.0, 25.0], [6.0, -10.0]]),
        (vec![twice(MUL), passing()], [[9.0, 25.0], [3.0, -5.0]]),
        (vec![passing(), passing()], [[3.0, -5.0]; 2]),
    ] {
        let graph = import(model(None, [1, 2], branches)).unwrap();
        assert_eq!([outputs(&graph, 1.0), outputs(&graph, -1.0)], [then.to_vec(), other.to_vec()]);
    }
    // The same graph in both places.
    let graph = import(model(None, [1, 1], vec![twice(MUL)])).unwrap();
    assert_eq!([outputs(&graph, 1.0), outputs(&graph, -1.0)], [[9.0, 25.0]; 2]);
}

#[test]
fn branches_lie_within_branches_and_read_constants() {
    let outer: Build<'_> = Box::new(|m| {
        let (x, y) = (m.floats("a", &[2]), m.floats("b", &[2]));
        let c = m.constant("always", &[], BOOL, vec![1]);
        let half = m.constant("half", &[], F32, 0.5f32.to_le_bytes().to_vec());
        let z = m.floats("z", &[2]);
        m.op(MUL, &[x, half], z, None);
        m.op(IF, &[c, z], y, chosen(2, 3));
        [vec![x], vec![y]]
    });
    let constant: Build<'_> = Box::new(|m| {
        let x = m.floats("a", &[2]);
        let sevens = m.constant("sevens", &[2], F32, [7.0f32; 2].iter().flat_map(|v| v.to_le_bytes()).collect());
        [vec![x], vec![sevens]]
    });
    let graph = import(model(None, [1, 3], vec![outer, twice(MUL), constant])).unwrap();
    assert_eq!([outputs(&graph, 1.0), outputs(&graph, -1.0)], [[2.25, 6.25], [7.0, 7.0]]);
}

/// The reasons for which a file is refused.
fn reasons(file: Vec<u8>) -> String {
    match import(file).unwrap_err() {
        ImportError::Unsupported(refusals) => {
            refusals.iter().map(|refusal| refusal.to_string()).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

#[test]
fn branches_that_do_not_fit_are_refused() {
    let refused = reasons(model(None, [1, 2], vec![twice(READ_VARIABLE), twice(ADD)]));
    assert!(refused.contains("READ_VARIABLE `y/then/b`") && refused.contains("both branches are needed"), "{refused}");
    let refused = reasons(model(None, [1, 7], vec![twice(ADD)]));
    assert!(refused.contains("graph 7 is none that it can have"), "{refused}");
    let longer: Build<'_> = Box::new(|m| {
        let (x, y) = (m.floats("a", &[2]), m.floats("b", &[3]));
        [vec![x], vec![y]]
    });
    let refused = reasons(model(None, [1, 2], vec![twice(ADD), longer]));
    assert!(refused.contains("[3]"), "{refused}");
    let whole: Build<'_> = Box::new(|m| {
        let x = m.tensor("a", &[2], I32);
        [vec![x], vec![x]]
    });
    let refused = reasons(model(None, [1, 2], vec![twice(ADD), whole]));
    assert!(refused.contains("differ in type"), "{refused}");
    let none: Build<'_> = Box::new(|_| [Vec::new(), Vec::new()]);
    let refused = reasons(model(None, [1, 2], vec![twice(ADD), none]));
    assert!(refused.contains("graph 2 has 0 inputs, and is given 1"), "{refused}");
}

/// A graph that has itself as a branch ends with an error, also where each has two.
#[test]
fn branches_without_end_are_refused() {
    for count in [1, 2] {
        let endless: Build<'_> = Box::new(move |m| {
            let (x, y) = (m.floats("a", &[2]), m.floats("b", &[2]));
            let c = m.tensor("condition", &[], BOOL);
            let zero = m.constant("zero", &[2], F32, vec![0; 8]);
            let truths = m.tensor("truths", &[2], BOOL);
            m.op(GREATER, &[x, zero], truths, None);
            let axis = m.ints("axis", &[0]);
            m.op(91, &[truths, axis], c, None);
            for _ in 0..count {
                m.op(IF, &[c, x], y, chosen(1, 1));
            }
            [vec![x], vec![y]]
        });
        let error = import(model(None, [1, 1], vec![endless])).unwrap_err();
        let refused = reasons_of(&error);
        assert!(refused.contains("more than 32 deep") || matches!(error, ImportError::TooMuch(_)), "{refused}");
    }
}

fn reasons_of(error: &ImportError) -> String {
    match error {
        ImportError::Unsupported(refusals) => refusals.iter().map(|refusal| refusal.to_string()).collect(),
        other => other.to_string(),
    }
}

#[test]
fn delegates_leave_branches_to_the_runtime() {
    let file = model(None, [1, 2], vec![twice(MUL), twice(ADD)]);
    let source = OutlineSource::from_bytes(std::sync::Arc::new(file), &ImportOptions::default());
    let outline = source.outline(224).unwrap();
    assert_eq!(outline.graphs.len(), 3);
    assert_eq!(outline.graphs[0].tensors.len(), 5, "those of the file alone");
    let Verdict::Refused(refusal) = &outline.graphs[0].nodes[1].verdict else { panic!("{outline:?}") };
    assert!(refusal.reason.contains("graphs of their own"), "{}", refusal.reason);
}
