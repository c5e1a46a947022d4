//! Importing reports all unsupported parts of a file in one list, each with its reason and a hint.

use texpool_model::import::ImportError;

use super::support::{
    import,
    onnx::{Attr, Dim, FLOAT, Model},
};

fn refused(model: &Model) -> Vec<texpool_model::import::UnsupportedOp> {
    match import(model.bytes()).unwrap_err() {
        ImportError::Unsupported(refusals) => refusals,
        other => panic!("{other}"),
    }
}

/// The element type of complex numbers.
const COMPLEX64: i64 = 14;

#[test]
fn ten_unsupported_nodes_are_named_by_name() {
    let mut m = Model::new();
    m.input("x", &[1, 4]);
    let mut last = "x".to_owned();
    for i in 0..10 {
        let next = format!("y{i}");
        m.node(&format!("Strange{i}"), &[&last], &[&next], &[]);
        last = next;
    }
    m.output(&last);
    let refusals = refused(&m);
    assert_eq!(refusals.len(), 10);
    for (i, refusal) in refusals.iter().enumerate() {
        assert_eq!((refusal.node, &*refusal.name, &*refusal.operator), (i, &*format!("y{i}"), &*format!("Strange{i}")));
        assert!(!refusal.reason.is_empty() && !refusal.hint.is_empty());
    }
}

#[test]
fn each_reason_says_what_is_wrong() {
    type Change = fn(&mut Model);
    let cases: [(&str, Change); 16] = [
        ("control flow", |m| m.node("SequenceMap", &["x"], &["y"], &[("body", Attr::Graph)])),
        ("computed by no node", |m| m.node("Add", &["x", "nothing"], &["y"], &[])),
        ("follows from its own result: the nodes form a cycle", |m| {
            m.node("Add", &["x", "z"], &["y"], &[]);
            m.node("Relu", &["y"], &["z"], &[]);
        }),
        ("form a cycle", |m| m.node("Add", &["x", "y"], &["y"], &[])),
        ("has a value already", |m| {
            m.node("Relu", &["x"], &["y"], &[]);
            m.node("Relu", &["x"], &["y"], &[]);
        }),
        ("complex64", |m| {
            m.tensor("c", COMPLEX64, &[1], &[]);
            m.node("Add", &["x", "c"], &["y"], &[]);
        }),
        ("complex64", |m| m.node("Cast", &["x"], &["y"], &[("to", Attr::Int(COMPLEX64))])),
        ("computed at run time", |m| m.node("Reshape", &["x", "x"], &["y"], &[])),
        ("do not broadcast", |m| {
            m.floats("c", &[3], &[0.0; 3]);
            m.node("Add", &["x", "c"], &["y"], &[]);
        }),
        ("there is no axis 7", |m| m.node("Softmax", &["x"], &["y"], &[("axis", Attr::Int(7))])),
        ("antialiasing", |m| {
            m.floats("s", &[4], &[1.0, 1.0, 2.0, 2.0]);
            let crop = ("coordinate_transformation_mode", Attr::Text("tf_crop_and_resize"));
            let linear = ("mode", Attr::Text("linear"));
            m.node("Resize", &["x", "", "s"], &["y"], &[("antialias", Attr::Int(1)), linear, crop]);
        }),
        ("indices", |m| {
            m.node(
                "MaxPool",
                &["x"],
                &["y", "z"],
                &[("kernel_shape", Attr::Ints(vec![400, 1])), ("pads", Attr::Ints(vec![399, 0, 399, 0]))],
            )
        }),
        ("its output_padding are [0, -1]", |m| {
            m.floats("w", &[2, 1, 2, 2], &[0.0; 8]);
            m.node("ConvTranspose", &["x", "w"], &["y"], &[("output_padding", Attr::Ints(vec![0, -1]))]);
        }),
        ("training", |m| {
            m.floats("r", &[], &[0.5]);
            m.tensor("t", 9, &[], &super::support::onnx::bytes(9, &[1]));
            m.node("Dropout", &["x", "r", "t"], &["y"], &[]);
        }),
        ("its mode is strange", |m| {
            m.ints("p", &[0, 0, 1, 1, 0, 0, 1, 1]);
            m.node("Pad", &["x", "p"], &["y"], &[("mode", Attr::Text("strange"))]);
        }),
        ("is not an integer", |m| m.node("Concat", &["x"], &["y"], &[("axis", Attr::Float(1.0))])),
    ];
    for (reason, change) in cases {
        let mut m = Model::new();
        m.input("x", &[1, 2, 4, 4]);
        change(&mut m);
        m.output("y");
        if reason == "indices" {
            m.output("z");
        }
        let refusals = refused(&m);
        assert!(refusals[0].reason.contains(reason), "{reason}: {}", refusals[0]);
    }
}

/// Inputs that a caller can bind are listed, and those with more than a number are only named.
#[test]
fn operands_that_must_be_known_name_the_inputs_that_they_are_computed_from() {
    for (extents, inputs) in [([1], &["ratio"][..]), ([2], &[])] {
        let mut m = Model::new();
        m.input("x", &[1, 1, 4, 4]);
        m.input("ratio", &extents);
        m.floats("ones", &[3], &[1.0; 3]);
        m.ints("end", &[4]);
        m.ints("begin", &[0]);
        m.node("Concat", &["ones", "ratio"], &["joined"], &[("axis", Attr::Int(0))]);
        m.node("Slice", &["joined", "begin", "end"], &["scales"], &[]);
        m.node("Resize", &["x", "", "scales"], &["y"], &[]);
        m.output("y");
        let refusals = refused(&m);
        let reason = "operand 2 `scales`, its scales, is computed at run time from `ratio`";
        assert!(refusals[0].reason.contains(reason), "{}", refusals[0]);
        assert_eq!(refusals[0].inputs, inputs);
    }
    let mut m = Model::new();
    m.input("x", &[1, 1, 4, 4]);
    m.input("scales", &[4]);
    m.node("Resize", &["x", "", "scales"], &["y"], &[]);
    m.output("y");
    assert!(refused(&m)[0].reason.ends_with("operand 2 `scales`, its scales, is computed at run time"));
}

#[test]
fn inputs_of_other_types_are_named() {
    // The format's number for complex numbers of 128 bits.
    const COMPLEX128: i64 = 15;
    let mut m = Model::new();
    m.open_input("x", COMPLEX128, &[Dim::Is(1)]);
    m.node("Relu", &["x"], &["y"], &[]);
    m.output("y");
    let error = import(m.bytes()).unwrap_err().to_string();
    assert!(error.contains("input `x`") && error.contains("complex128"), "{error}");
}

#[test]
fn operator_sets_out_of_reach_are_named() {
    for opset in [0, 5, 1000, -1] {
        let mut m = Model::new();
        m.opset = opset;
        m.open_input("x", FLOAT, &[Dim::Is(1)]);
        m.node("Relu", &["x"], &["y"], &[]);
        m.output("y");
        assert!(matches!(import(m.bytes()), Err(ImportError::Opset { version, .. }) if version == opset));
    }
}

#[test]
fn what_follows_from_constants_alone_is_not_decided_by_inputs() {
    let mut m = Model::new();
    m.input("x", &[1, 1, 4, 4]);
    m.floats("angle", &[4], &[0.1; 4]);
    m.node("Atan", &["angle"], &["scales"], &[]);
    m.node("Resize", &["x", "", "scales"], &["y"], &[]);
    m.output("y");
    let refusals = refused(&m);
    assert!(refusals[0].reason.ends_with("operand 2 `scales`, its scales, is computed at run time"), "{}", refusals[0]);
    assert!(refusals[0].hint.starts_with("no input has an effect on it"), "{}", refusals[0]);
    assert!(refusals[0].inputs.is_empty());
}

#[test]
fn operators_for_one_processor_are_refused_with_the_level_that_writes_none() {
    let mut m = Model::new();
    m.input("x", &[1, 1, 4, 4]);
    m.node("com.microsoft.nchwc.ReorderInput", &["x"], &["y"], &[]);
    m.output("y");
    let text = refused(&m)[0].to_string();
    assert!(
        text.contains("chose for one processor; save the optimised model again at `ORT_ENABLE_EXTENDED`"),
        "{text}"
    );
}
