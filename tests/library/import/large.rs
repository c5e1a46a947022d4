//! Small files that demand much. Memory and work stay in proportion to the file. Excessive demands are refused with
//! the operator, the tensor and the number.

use texpool_model::import::{ImportError, Resource};

use crate::support::{
    bounded::bounded,
    tflite::{F32, Field, I8, Model, Table, flags},
};

/// A sparse constant that stores one of its `extent` values.
fn sparse(m: &mut Model, name: &str, extent: i32) -> i32 {
    let id = m.constant(name, &[extent], F32, 1.0f32.to_le_bytes().to_vec());
    let shorts = |list: &[u16]| Field::Table(Table(vec![(4, Field::Shorts(list.to_vec()))]));
    let level = Table(vec![
        (4, Field::I8(1)),
        (8, Field::I8(2)),
        (10, shorts(&[0, 1])),
        (12, Field::I8(2)),
        (14, shorts(&[0])),
    ]);
    let sparsity = Table(vec![(4, Field::Ints(vec![0])), (8, Field::Tables(vec![level]))]);
    m.tensors[id as usize].0.push((16, Field::Table(sparsity)));
    id
}

#[test]
fn sparse_constants_that_unfold_to_much_are_refused() {
    let mut m = Model::new();
    let extent = 1 << 28;
    let (x, y) = (m.floats("x", &[extent]), m.floats("y", &[extent]));
    let w = sparse(&mut m, "w", extent);
    m.op(0, &[x, w], y, flags(11, &[0]));
    let error = bounded(m.bytes(&[x], &[y])).unwrap_err();
    let ImportError::TooMuch(too_much) = &error else { panic!("{error}") };
    assert_eq!((too_much.node, too_much.operator.as_str(), too_much.tensor.as_str()), (Some(0), "ADD", "y"));
    assert_eq!((too_much.excess.resource, too_much.excess.asked), (Resource::Memory, 1 << 30));
    let text = error.to_string();
    assert!(text.contains("tensor `w`: its sparse values unfold to 1073741824 bytes"), "{text}");
}

/// Each constant is within its limits, but all of them together are not.
#[test]
fn many_sparse_constants_are_refused_together() {
    let mut m = Model::new();
    let extent = 1 << 22;
    let x = m.floats("x", &[extent]);
    let mut last = x;
    for i in 0..40 {
        let (w, y) = (sparse(&mut m, &format!("w{i}"), extent), m.floats(&format!("y{i}"), &[extent]));
        m.op(0, &[last, w], y, flags(11, &[0]));
        last = y;
    }
    let error = bounded(m.bytes(&[x], &[last])).unwrap_err();
    assert!(matches!(&error, ImportError::TooMuch(too_much) if too_much.node > Some(0)), "{error}");
}

/// Operators that pass on a constant share its values; its scales were once copied for each of them.
#[test]
fn scales_of_many_names_for_one_constant_are_counted() {
    let mut m = Model::new();
    let count = 1 << 16;
    let q = m.constant("q", &[count], I8, vec![1; count as usize]);
    m.scaled(q, &vec![0.5; count as usize], &vec![0; count as usize], 0);
    let x = m.floats("x", &[count]);
    for i in 0..3_000 {
        let d = m.floats(&format!("d{i}"), &[count]);
        m.op(6, &[q], d, None);
    }
    let y = m.floats("y", &[count]);
    m.op(19, &[x], y, None);
    let error = bounded(m.bytes(&[x], &[y])).unwrap_err();
    assert!(matches!(error, ImportError::TooMuch(_)), "{error}");
}

/// Four bytes of an operand once became a node and two tensors with names of a kilobyte.
#[test]
fn operands_by_the_million_are_refused() {
    let mut m = Model::new();
    let name = "n".repeat(1024);
    let (x, y) = (m.floats(&name, &[1]), m.floats(&name, &[1]));
    m.op(106, &vec![x; 1_000_000], y, None);
    let error = bounded(m.bytes(&[x], &[y])).unwrap_err();
    assert!(matches!(&error, ImportError::TooMuch(too_much) if too_much.operator == "ADD_N"), "{error}");
    assert!(error.to_string().len() < 2_000, "{error}");
}

#[test]
fn extents_of_a_split_that_overflow_are_refused() {
    let mut m = Model::new();
    let (x, k) = (m.floats("x", &[6]), m.constant("k", &[], 2, 0i32.to_le_bytes().to_vec()));
    let stated = [i64::MAX, i64::MAX, -1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let sizes = m.constant("s", &[3], 4, stated);
    let parts: Vec<i32> = (0..3).map(|i| m.floats(&format!("y{i}"), &[2])).collect();
    m.op_of_many(102, &[x, sizes, k], &parts, None);
    let error = bounded(m.bytes(&[x], &parts)).unwrap_err().to_string();
    assert!(error.contains("an axis of 6 into parts of"), "{error}");
}

/// Passing on a constant creates no node, so the checks of nodes cannot detect that it is written twice.
#[test]
fn a_constant_passed_on_twice_is_refused_by_name() {
    let mut m = Model::new();
    let (a, b) = (m.weights("a", &[4]), m.weights("b", &[4]));
    let (x, d, y) = (m.floats("x", &[4]), m.floats("d", &[4]), m.floats("y", &[4]));
    m.op(6, &[a], d, None);
    m.op(6, &[b], d, None);
    m.op(0, &[x, d], y, flags(11, &[0]));
    let error = bounded(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(error.contains("node 1 DEQUANTIZE `d`: its result `d` has a value already"), "{error}");
}

#[test]
fn names_reach_messages_without_their_escape_sequences() {
    let mut m = Model::new();
    let (x, y) = (m.floats("x\u{1b}[31m", &[4]), m.floats("y\u{7}\nerror: none", &[5]));
    m.op(19, &[x], y, None);
    let error = bounded(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(error.contains("`y\\u{7}\\nerror: none`"), "{error}");
    assert!(!error.lines().any(|line| line.chars().any(char::is_control)), "{error:?}");
}
