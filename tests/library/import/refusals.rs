//! Refusals report all defects in one list, by name.

use texpool_model::import::ImportError;

use super::import;
use crate::support::tflite::{Field, I8, I32, Model, Table, file, flags, numbers};

#[test]
fn all_unsupported_operators_come_in_one_error() {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 4]);
    let (a, b, c, d) = (m.floats("a", &[1, 4]), m.floats("b", &[1, 4]), m.floats("c", &[1, 4]), m.floats("d", &[2, 4]));
    m.op(24, &[x], a, None);
    m.op(19, &[a], b, None);
    m.custom("MaxUnpooling2D", &[b], c, Vec::new());
    m.op(0, &[c, c], d, flags(11, &[0]));
    m.op(4000, &[x], x, None);
    let error = import(m.bytes(&[x], &[d])).unwrap_err();
    let ImportError::Unsupported(refusals) = &error else { unreachable!("{error}") };
    let named: Vec<(usize, &str, &str)> =
        refusals.iter().map(|r| (r.node, r.name.as_str(), r.operator.as_str())).collect();
    assert_eq!(
        named,
        [(0, "a", "RNN"), (2, "c", "CUSTOM MaxUnpooling2D"), (3, "d", "ADD"), (4, "x", "UNKNOWN")],
        "the RELU between them is fine"
    );
    assert!(refusals.iter().all(|r| !r.reason.is_empty() && !r.hint.is_empty()));
    let text = error.to_string();
    assert!(text.starts_with("4 of the model's operators cannot be imported:\n"), "{text}");
    assert!(text.contains("\n  node 0 RNN `a`: the operator is not supported; express it"), "{text}");
    assert_eq!(text.lines().count(), 5);
}

/// Operators that are refused for the same reason do not repeat it.
#[test]
fn a_reason_of_several_operators_is_stated_once() {
    let mut m = Model::new();
    let x = m.floats("x", &[1, 4]);
    let (a, b, c, d) = (m.floats("a", &[1, 4]), m.floats("b", &[1, 4]), m.floats("c", &[1, 4]), m.floats("d", &[2, 4]));
    m.op(24, &[x], a, None);
    m.op(0, &[a, a], d, flags(11, &[0]));
    m.custom("MaxUnpooling2D", &[a], b, Vec::new());
    m.op(24, &[b], c, None);
    let text = import(m.bytes(&[x], &[c, d])).unwrap_err().to_string();
    let [same, first, second, third, other] = text.lines().skip(1).collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(
        same.starts_with("  the operator is not supported; express it") && same.ends_with("in front of it:"),
        "{text}"
    );
    let nodes = ["    node 0 RNN `a`", "    node 2 CUSTOM MaxUnpooling2D `b`", "    node 3 RNN `c`"];
    assert_eq!([first, second, third], nodes);
    assert!(other.starts_with("  node 1 ADD `d`: its result is stated as"), "{text}");

    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1, 4]), m.floats("y", &[1, 4]));
    m.op(24, &[x], y, None);
    let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(text.starts_with("1 operator of the model cannot be imported:\n  node 0 RNN `y`: "), "{text}");
}

#[test]
fn inputs_of_other_types_are_refused_by_name() {
    for (dtype, reason) in [
        (I8, "INT8 without a scale"),
        (7, "INT16 without a scale"),
        (17, "quantised (INT4)"),
        (10, "is FLOAT64"),
        (5, "is STRING"),
        (77, "of an unknown type"),
    ] {
        let mut m = Model::new();
        let (x, z) = (m.tensor("image", &[4], dtype), m.floats("z", &[4]));
        let y = m.floats("y", &[4]);
        m.op(19, &[x], y, None);
        let error = import(m.bytes(&[x], &[y])).unwrap_err();
        assert!(matches!(&error, ImportError::Unsupported(all) if all.len() == 1), "{error}");
        assert!(error.to_string().contains("`image`") && error.to_string().contains(reason), "{error}");

        // If no operator reads the input, the graph itself must report it.
        m.operators.clear();
        m.op(19, &[z], y, None);
        let error = import(m.bytes(&[x, z], &[y])).unwrap_err();
        assert!(matches!(error, ImportError::GraphIo { role: "input", .. }), "{error}");
        assert!(error.to_string().contains("input `image`") && error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn unknown_and_empty_extents_are_refused_by_name() {
    for (dims, hint) in
        [(&[1, -1, 4][..], "fixed shapes"), (&[1, 0, 4], "without elements"), (&[i32::MIN], "fixed shapes")]
    {
        let mut m = Model::new();
        let (x, y) = (m.floats("image", dims), m.floats("y", dims));
        m.op(19, &[x], y, None);
        let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(text.contains("`image`") && text.contains(hint), "{text}");
    }
}

/// Weights and shapes computed by nodes are named.
#[test]
fn operands_that_must_be_constant() {
    let mut m = Model::new();
    let (x, w, s) = (m.floats("x", &[1, 2, 2, 1]), m.floats("w", &[3, 1, 1, 1]), m.tensor("s", &[2], I32));
    let (y, z) = (m.floats("y", &[1, 2, 2, 3]), m.floats("z", &[3, 4]));
    m.op(3, &[x, w], y, flags(1, &[0]));
    m.op(22, &[y, s], z, None);
    let text = import(m.bytes(&[x, w], &[z])).unwrap_err().to_string();
    assert!(text.contains("its weights `w` are computed at run time"), "{text}");
    assert!(text.contains("its new extents `s` are computed at run time"), "{text}");
}

/// Counts of operands are checked before any is read.
#[test]
fn operands_left_out_or_too_many() {
    for inputs in [&[][..], &[0], &[0, 0, 0], &[0, -1], &[0, 99]] {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", &[4]), m.floats("y", &[4]));
        m.op(0, inputs, y, flags(11, &[0]));
        assert!(matches!(import(m.bytes(&[x], &[y])), Err(ImportError::Unsupported(_))), "{inputs:?}");
    }
}

#[test]
fn variables_are_refused() {
    let mut m = Model::new();
    let (x, state, y) = (m.floats("x", &[4]), m.floats("state", &[4]), m.floats("y", &[4]));
    m.tensors[state as usize].0.push((14, Field::Bool(true)));
    m.op(0, &[x, state], y, flags(11, &[0]));
    let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(text.contains("from run to run"), "{text}");
}

/// Cycles, tensors that no node computes or two do, and outputs that nothing computes.
#[test]
fn order_and_producers() {
    // A cycle, a tensor without a producer, one with two, and outputs that nothing computes.
    let relu = |pairs: &[(i32, i32)], outputs: &[i32]| {
        let mut m = Model::new();
        for name in ["x", "a", "b"] {
            m.floats(name, &[4]);
        }
        m.weights("k", &[4]);
        for &(from, to) in pairs {
            m.op(19, &[from], to, None);
        }
        import(m.bytes(&[0], outputs)).unwrap_err().to_string()
    };
    assert!(relu(&[(2, 1), (1, 2)], &[2]).contains("no value yet"));
    assert!(relu(&[(1, 2)], &[2]).contains("tensor `a` has no value yet"));
    assert!(relu(&[(1, 1)], &[1]).contains("no value yet"));
    assert!(relu(&[(0, 1), (0, 1)], &[1]).contains("tensor `a` has a value already"));
    assert!(relu(&[(0, 0)], &[0]).contains("tensor `x` has a value already"));
    assert!(relu(&[(3, 3)], &[3]).contains("tensor `k` has a value already"));
    assert!(relu(&[(0, 1)], &[2]).contains("output `b` is computed by no node"));
    assert!(relu(&[(0, 1)], &[]).contains("no outputs"));
    assert!(relu(&[(0, 1)], &[9]).contains("output 9 is no tensor"));
    assert!(relu(&[(0, 1)], &[-1]).contains("output -1 is no tensor"));
}

/// Schema versions, and a file without a graph.
#[test]
fn other_versions_and_no_graph() {
    let empty = Table(vec![(4, Field::I32(3))]);
    assert!(matches!(import(file(&empty)), Err(ImportError::Malformed { .. })));
    for version in [0, 1, 2, 4] {
        assert!(matches!(import(file(&Table(vec![(4, Field::I32(version))]))), Err(ImportError::Version(_))));
    }
}

#[test]
fn more_than_eight_extents_are_refused() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x", &[1; 9]), m.floats("y", &[1; 9]));
    m.op(19, &[x], y, None);
    assert!(import(m.bytes(&[x], &[y])).unwrap_err().to_string().contains("9 extents"));
}

/// TensorFlow Lite fails at run time for such indices; texpool clamps and counts those that are computed alone.
#[test]
fn indices_of_the_file_outside_their_axis_are_refused() {
    for index in [2, -3] {
        let mut m = Model::new();
        let (x, y) = (m.floats("x", &[2, 3]), m.floats("y", &[2, 3]));
        let indices = m.ints("indices", &[0, index]);
        m.op(36, &[x, indices], y, numbers(23, &[0]));
        let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(text.contains(&format!("the index {index} lies outside axis 0 of [2, 3]")), "{text}");
    }
}

#[test]
fn messages_have_the_extents_of_the_file() {
    let refused_with = |build: &dyn Fn(&mut Model, i32) -> i32, dims: &[i32], expected: &str| {
        let mut m = Model::new();
        let x = m.floats("x", dims);
        let y = build(&mut m, x);
        let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
    };
    let pool = |m: &mut Model, x| {
        let y = m.floats("y", &[1, 5, 4, 3]);
        m.op(
            17,
            &[x],
            y,
            Some((
                5,
                Table(vec![
                    (4, Field::I8(1)),
                    (6, Field::I32(1)),
                    (8, Field::I32(1)),
                    (10, Field::I32(1)),
                    (12, Field::I32(1)),
                ]),
            )),
        );
        y
    };
    refused_with(&pool, &[1, 4, 4, 3], "its result is stated as [1, 5, 4, 3], its operands give [1, 4, 4, 3]");
    let reshape = |m: &mut Model, x| {
        let (y, s) = (m.floats("y", &[4, 2]), m.ints("s", &[4, 2]));
        m.op(22, &[x, s], y, None);
        y
    };
    refused_with(&reshape, &[2, 3], "[2, 3] and [4, 2] are not the same elements");
    let repeat = |m: &mut Model, x| {
        let (y, s) = (m.floats("y", &[0, 3]), m.ints("s", &[0, 3]));
        m.op(130, &[x, s], y, None);
        y
    };
    refused_with(&repeat, &[1, 3], "its result has no elements: its extents are [0, 3]; tensors without elements");
    let dense = |m: &mut Model, x| {
        let (w, y) = (m.weights("w", &[4, 4]), m.floats("y", &[2, 4]));
        m.op(9, &[x, w], y, None);
        y
    };
    refused_with(&dense, &[2, 3], "the elements of its input [2, 3] are no multiple of 4");
}
