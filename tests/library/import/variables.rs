//! Variables: their first values, what a run reads and writes, and what cannot be kept.

use std::sync::Arc;

use texpool_model::{
    delegate::{NodeStanding, Offline, Selection, select},
    import::{ImportOptions, OutlineSource},
};
use texpool_ops::{
    graph::{Graph, Quantization},
    ops::reference,
};

use super::import;
use crate::support::tflite::{F32, Field, I8, Model, Options, Table, file, numbers};

const ADD: i32 = 0;
const CALL_ONCE: i32 = 129;
const VAR_HANDLE: i32 = 142;
const READ_VARIABLE: i32 = 143;
const ASSIGN_VARIABLE: i32 = 144;
const RESOURCE: i8 = 13;

fn called(name: &str) -> Option<Options> {
    Some((111, Table(vec![(6, Field::Text(name.to_owned()))])))
}

/// A tensor that stands for a variable.
fn handle(m: &mut Model, name: &str) -> i32 {
    let handle = m.tensor(name, &[], RESOURCE);
    m.op(VAR_HANDLE, &[], handle, called(name));
    handle
}

fn read(m: &mut Model, handle: i32, name: &str) -> i32 {
    let value = m.floats(name, &[2]);
    m.op(READ_VARIABLE, &[handle], value, None);
    value
}

fn assign(m: &mut Model, handle: i32, value: i32) {
    m.op_of_many(ASSIGN_VARIABLE, &[handle, value], &[], None);
}

fn sum(m: &mut Model, a: i32, b: i32, name: &str) -> i32 {
    let sum = m.floats(name, &[2]);
    m.op(ADD, &[a, b], sum, None);
    sum
}

/// The file, with a second graph that `first` writes.
fn with_first_values(m: &mut Model, inputs: &[i32], outputs: &[i32], first: impl FnOnce(&mut Model)) -> Vec<u8> {
    m.op_of_many(CALL_ONCE, &[], &[], numbers(103, &[1]));
    let call = m.operators.pop().unwrap();
    m.operators.insert(0, call);
    with_graphs(
        m,
        inputs,
        outputs,
        vec![Box::new(|m| {
            first(m);
            [Vec::new(), Vec::new()]
        })],
    )
}

/// Adds the operators of a graph, and returns its inputs and outputs.
pub(super) type Build<'b> = Box<dyn FnOnce(&mut Model) -> [Vec<i32>; 2] + 'b>;

/// The file, with further graphs.
pub(super) fn with_graphs(m: &Model, inputs: &[i32], outputs: &[i32], others: Vec<Build<'_>>) -> Vec<u8> {
    let graphs = |table: &Table| match table.0.iter().find(|(slot, _)| *slot == 8) {
        Some((_, Field::Tables(graphs))) => graphs.clone(),
        other => panic!("{other:?}"),
    };
    // All graphs share the buffers and the operator codes.
    let (mut whole, mut further) = (m.clone(), Vec::new());
    for build in others {
        (whole.tensors, whole.operators) = (Vec::new(), Vec::new());
        let [inputs, outputs] = build(&mut whole);
        further.extend(graphs(&whole.root(&inputs, &outputs)));
    }
    (whole.tensors, whole.operators) = (m.tensors.clone(), m.operators.clone());
    let mut root = whole.root(inputs, outputs);
    let all = [graphs(&root), further].concat();
    for (slot, field) in &mut root.0 {
        if *slot == 8 {
            *field = Field::Tables(all.clone());
        }
    }
    file(&root)
}

/// A constant that a graph of first values assigns.
fn first_value(m: &mut Model, name: &str, values: [f32; 2]) {
    let handle = handle(m, name);
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let value = m.constant("first", &[2], F32, bytes);
    assign(m, handle, value);
}

/// A running sum: what is held, plus `x`, is the result and is held for the next run. It begins with 10 and 20.
pub(super) fn running_sum() -> Vec<u8> {
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let handle = handle(&mut m, "total");
    let before = read(&mut m, handle, "before");
    let after = sum(&mut m, before, x, "after");
    assign(&mut m, handle, after);
    with_first_values(&mut m, &[x], &[after], |m| first_value(m, "total", [10.0, 20.0]))
}

/// Results of runs on the CPU that carry the variables: the caller's outputs of each run.
pub(super) fn runs(graph: &Graph, inputs: &[Vec<f32>]) -> Vec<Vec<Vec<f32>>> {
    let first = |i: usize| {
        let variable = &graph.variables[i];
        let zeros = vec![0.0; graph.shape(graph.inputs[variable.input]).len()];
        variable.initial.as_ref().map_or(zeros, |initial| initial.to_f32().into_owned())
    };
    let mut variables: Vec<Vec<f32>> = (0..graph.variables.len()).map(first).collect();
    let mut all = Vec::new();
    for input in inputs {
        let inputs = [vec![input.clone()], variables.clone()].concat();
        let mut outputs = reference::outputs(graph, &inputs).unwrap();
        variables = outputs.split_off(graph.caller_outputs().len());
        all.push(outputs);
    }
    all
}

/// Results of two runs of the running sum.
pub(super) fn two_runs() -> Vec<f32> {
    let graph = import(running_sum()).unwrap();
    runs(&graph, &[vec![1.0, 2.0], vec![3.0, 4.0]]).concat().concat()
}

#[test]
fn a_variable_is_an_input_and_an_output_that_the_caller_does_not_see() {
    let graph = import(running_sum()).unwrap();
    let [variable] = &graph.variables[..] else { panic!("{:?}", graph.variables) };
    assert_eq!((&*variable.name, variable.input, variable.output), ("total", 1, 1));
    assert_eq!((graph.caller_inputs().len(), graph.caller_outputs().len()), (1, 1));
    assert_eq!(variable.initial.as_ref().unwrap().to_f32().as_ref(), [10.0, 20.0]);
    assert_eq!(two_runs(), [11.0, 22.0, 14.0, 26.0]);
}

#[test]
fn without_first_values_a_variable_is_zero() {
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let handle = handle(&mut m, "total");
    let before = read(&mut m, handle, "before");
    let after = sum(&mut m, before, x, "after");
    assign(&mut m, handle, after);
    let graph = import(m.bytes(&[x], &[after])).unwrap();
    assert!(graph.variables[0].initial.is_none());
    assert_eq!(runs(&graph, &[vec![1.0, 2.0], vec![3.0, 4.0]]), [[[1.0, 2.0]], [[4.0, 6.0]]]);
}

/// Operators run in the file's order: a read after an assignment sees it, and the last assignment is kept.
#[test]
fn reads_and_assignments_take_effect_in_order() {
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let handle = handle(&mut m, "v");
    let before = read(&mut m, handle, "before");
    let one = sum(&mut m, before, x, "one");
    assign(&mut m, handle, one);
    let again = read(&mut m, handle, "again");
    let two = sum(&mut m, again, x, "two");
    assign(&mut m, handle, two);
    let last = read(&mut m, handle, "last");
    let graph = import(m.bytes(&[x], &[before, again, last])).unwrap();
    assert_eq!(graph.variables.len(), 1);
    let results = runs(&graph, &[vec![1.0, 2.0], vec![10.0, 20.0]]);
    assert_eq!(results[0], [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]);
    assert_eq!(results[1], [[2.0, 4.0], [12.0, 24.0], [22.0, 44.0]]);
}

#[test]
fn only_what_passes_from_run_to_run_is_kept() {
    // The first variable is never assigned, the second never read, and the third assigned before it is read.
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let [constant, unread, within] = ["constant", "unread", "within"].map(|name| handle(&mut m, name));
    let value = read(&mut m, constant, "value");
    let y = sum(&mut m, value, x, "y");
    assign(&mut m, unread, y);
    assign(&mut m, within, y);
    let z = read(&mut m, within, "z");
    let bytes = with_first_values(&mut m, &[x], &[y, z], |m| first_value(m, "constant", [5.0, 6.0]));
    let graph = import(bytes).unwrap();
    assert!(graph.variables.is_empty());
    assert_eq!(runs(&graph, &[vec![1.0, 2.0]]), [[[6.0, 8.0], [6.0, 8.0]]]);
}

/// A value that a run passes on unchanged, and two variables that swap theirs.
#[test]
fn variables_may_be_assigned_one_another() {
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let [a, b] = ["a", "b"].map(|name| handle(&mut m, name));
    let (of_a, of_b) = (read(&mut m, a, "of a"), read(&mut m, b, "of b"));
    assign(&mut m, a, of_b);
    assign(&mut m, b, of_a);
    let y = sum(&mut m, of_a, x, "y");
    let bytes = with_first_values(&mut m, &[x], &[y], |m| {
        first_value(m, "a", [1.0, 2.0]);
        first_value(m, "b", [3.0, 4.0]);
    });
    let graph = import(bytes).unwrap();
    assert_eq!(graph.variables.len(), 2);
    assert_eq!(runs(&graph, &vec![vec![0.0, 0.0]; 3]), [[[1.0, 2.0]], [[3.0, 4.0]], [[1.0, 2.0]]]);
}

#[test]
fn quantised_variables_hold_reals() {
    let mut m = Model::new();
    let x = m.tensor("x", &[2], I8);
    m.scaled(x, &[0.5], &[-2], 0);
    let handle = handle(&mut m, "v");
    let before = m.tensor("before", &[2], I8);
    m.scaled(before, &[0.5], &[-2], 0);
    m.op(READ_VARIABLE, &[handle], before, None);
    assign(&mut m, handle, x);
    let bytes = with_first_values(&mut m, &[x], &[before], |m| {
        let handle = self::handle(m, "v");
        let value = m.constant("first", &[2], I8, vec![0, 2]);
        m.scaled(value, &[0.5], &[-2], 0);
        assign(m, handle, value);
    });
    let graph = import(bytes).unwrap();
    assert_eq!(runs(&graph, &[vec![3.0, 4.0], vec![0.0, 0.0]]), [[[1.0, 2.0]], [[3.0, 4.0]]]);
    let input = &graph.tensors[graph.inputs[1]];
    assert_eq!(input.quantization, Some(Quantization { scale: 0.5, zero_point: -2 }));
}

#[test]
fn what_cannot_be_kept_is_refused_by_name() {
    type Build = fn(&mut Model, i32) -> i32;
    let cases: [(&str, Build); 5] = [
        ("ASSIGN_VARIABLE ``: variable `v` is f32 [3], but f32 [2] elsewhere", |m, x| {
            let v = handle(m, "v");
            let y = read(m, v, "y");
            let other = m.weights("other", &[3]);
            assign(m, v, other);
            sum(m, x, y, "z")
        }),
        ("READ_VARIABLE `y`: its variable is named by no VAR_HANDLE", |m, _| {
            let v = m.tensor("v", &[], RESOURCE);
            read(m, v, "y")
        }),
        ("READ_VARIABLE `y`: it has 0 operands, must have 1", |m, _| {
            let y = m.floats("y", &[2]);
            m.op(READ_VARIABLE, &[], y, None);
            y
        }),
        ("ASSIGN_VARIABLE `y`: it has 1 results, must have 0", |m, x| {
            let (v, y) = (handle(m, "v"), m.floats("y", &[2]));
            m.op(ASSIGN_VARIABLE, &[v, x], y, None);
            y
        }),
        ("CALL_ONCE ``: graph 7 is none that it can call", |m, x| {
            m.op_of_many(CALL_ONCE, &[], &[], numbers(103, &[7]));
            sum(m, x, x, "y")
        }),
    ];
    for (expected, build) in cases {
        let mut m = Model::new();
        let x = m.floats("x", &[2]);
        let y = build(&mut m, x);
        let error = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn first_values_that_are_computed_or_late_are_refused() {
    let build = |first: fn(&mut Model), late: bool| {
        let mut m = Model::new();
        let x = m.floats("x", &[2]);
        let handle = handle(&mut m, "v");
        let before = read(&mut m, handle, "before");
        let after = sum(&mut m, before, x, "after");
        assign(&mut m, handle, after);
        if late {
            m.op_of_many(CALL_ONCE, &[], &[], numbers(103, &[1]));
        }
        let bytes = match late {
            true => m.bytes(&[x], &[after]),
            false => with_first_values(&mut m, &[x], &[after], first),
        };
        import(bytes).unwrap_err().to_string()
    };
    let computed = |m: &mut Model| {
        let (v, a, b) = (handle(m, "v"), m.weights("a", &[2]), m.floats("b", &[2]));
        m.op(ADD, &[a, a], b, None);
        assign(m, v, b);
    };
    let error = build(computed, false);
    assert!(error.contains("node 1 of the graph that it calls is ADD, which assigns no constant"), "{error}");
    let unset = |m: &mut Model| {
        let (v, b) = (handle(m, "v"), m.floats("b", &[2]));
        assign(m, v, b);
    };
    let error = build(unset, false);
    assert!(error.contains("the first value of variable `v` is computed"), "{error}");
    let error = build(|m| first_value(m, "v", [1.0, 2.0]), true);
    assert!(error.contains("it gives variables their first values after they are used"), "{error}");
}

/// The selections of a delegate in the graphs of a file.
fn selected(bytes: Vec<u8>) -> Vec<Selection> {
    let source = OutlineSource::from_bytes(Arc::new(bytes), &ImportOptions::default());
    select(&source, 0, &mut Offline).unwrap().1
}

/// The reason for which a node of the first graph is left.
fn left(selections: &[Selection], node: usize) -> &str {
    match &selections[0].standings[node] {
        NodeStanding::Left(refusal) => &refusal.reason,
        other => panic!("{other:?}"),
    }
}

/// The graph of first values is taken with its call, because nothing of it is left to run.
#[test]
fn a_delegate_takes_variables_with_their_first_values() {
    let selections = selected(running_sum());
    assert_eq!(selections.len(), 2);
    for selection in selections {
        let [partition] = &selection.partitions[..] else { panic!("{selection:?}") };
        assert_eq!(partition.nodes.len(), selection.standings.len());
    }
}

/// The values would be those of this graph alone.
#[test]
fn a_delegate_leaves_variables_of_several_graphs() {
    let with_third = |third: Build<'static>| {
        let mut m = Model::new();
        let x = m.floats("x", &[2]);
        m.op_of_many(CALL_ONCE, &[], &[], numbers(103, &[1]));
        let total = handle(&mut m, "total");
        let before = read(&mut m, total, "before");
        let after = sum(&mut m, before, x, "after");
        assign(&mut m, total, after);
        let first: Build<'_> = Box::new(|m| {
            first_value(m, "total", [10.0, 20.0]);
            first_value(m, "other", [1.0, 2.0]);
            [Vec::new(), Vec::new()]
        });
        selected(with_graphs(&m, &[x], &[after], vec![first, third]))
    };
    let reader = |name: &'static str| -> Build<'static> {
        Box::new(move |m| {
            let handle = handle(m, name);
            [Vec::new(), vec![read(m, handle, "value")]]
        })
    };
    let caller: Build<'_> = Box::new(|m| {
        m.op_of_many(CALL_ONCE, &[], &[], numbers(103, &[1]));
        [Vec::new(), Vec::new()]
    });
    assert_eq!(with_third(reader("third"))[0].partitions[0].nodes.len(), 5);
    for third in [reader("total"), reader("other"), caller] {
        let selections = with_third(third);
        assert_eq!(left(&selections, 0), "another graph of the model has the variable, too, so the runtime keeps it");
        // The sum is taken all the same.
        assert_eq!(selections[0].partitions.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[3]]);
        assert!(selections[1].partitions.is_empty());
    }
}

/// TensorFlow Lite refuses the run, or its delegate for CPUs reads memory that nobody wrote.
#[test]
fn a_delegate_leaves_variables_without_first_values() {
    let mut m = Model::new();
    let x = m.floats("x", &[2]);
    let total = handle(&mut m, "total");
    let before = read(&mut m, total, "before");
    let after = sum(&mut m, before, x, "after");
    assign(&mut m, total, after);
    let selections = selected(m.bytes(&[x], &[after]));
    assert!(left(&selections, 1).starts_with("its variable is read before it has a value"));
    assert_eq!(selections[0].partitions[0].nodes, [2]);
}
