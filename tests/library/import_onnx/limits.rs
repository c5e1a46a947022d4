//! Valid files that exceed a limit are not reported as damaged. Each message names the limit, and the origin of the
//! number that exceeds it.

use std::collections::BTreeMap;

use texpool_model::import::{ImportError, ImportOptions};

use super::support::{
    import, import_with,
    onnx::{Attr, Dim, FLOAT, INT64, Model, bytes},
};

fn model(build: impl FnOnce(&mut Model)) -> Model {
    let mut m = Model::new();
    build(&mut m);
    m.output("y");
    m
}

fn bound(m: &Model, dims: &[(&str, usize)]) -> Result<texpool_ops::graph::Graph, ImportError> {
    let dims: BTreeMap<String, usize> = dims.iter().map(|(name, extent)| (name.to_string(), *extent)).collect();
    import_with(m.bytes(), &ImportOptions { dims, ..ImportOptions::default() })
}

/// A message about a valid file contains none of these words.
fn sound(error: &ImportError) -> String {
    let text = error.to_string();
    for wrong in ["not as its format asks", "convert the model again", "damaged"] {
        assert!(!text.contains(wrong), "{text}");
    }
    text
}

#[test]
fn large_numbers_of_the_file_are_named_with_their_limit() {
    type Build = fn(&mut Model);
    let cases: [(&str, &str, Build); 6] = [
        ("constant `w`", "at most 268435456 elements", |m| {
            m.input("x", &[1]);
            m.tensor("w", FLOAT, &[300_000, 2_000], &bytes(9, &[]));
            m.node("Add", &["x", "w"], &["y"], &[]);
        }),
        ("node 0 Range `y`", "at most 268435456 elements", |m| {
            for (name, value) in [("a", 0i64), ("b", 1 << 40), ("c", 1)] {
                m.tensor(name, INT64, &[], &bytes(9, &value.to_le_bytes()));
            }
            m.node("Range", &["a", "b", "c"], &["y"], &[]);
        }),
        ("node 0 Expand `y`", "at most 2147483648 elements", |m| {
            m.input("x", &[1]);
            m.ints("s", &[1 << 20, 1 << 20]);
            m.node("Expand", &["x", "s"], &["y"], &[]);
        }),
        ("input `x`", "at most 2147483648 are supported", |m| {
            m.input("x", &[1 << 40]);
            m.node("Relu", &["x"], &["y"], &[]);
        }),
        ("node 0 MaxPool `y`", "at most 1073741824 pixels", |m| {
            m.input("x", &[1, 1, 1, 8]);
            let list = |v: &[i64]| Attr::Ints(v.to_vec());
            let attributes = [("kernel_shape", list(&[1, 1 << 20])), ("dilations", list(&[1, 1 << 20]))];
            m.node("MaxPool", &["x"], &["y"], &attributes);
        }),
        ("node 0 GlobalLpPool `y`", "the power is 257, at most 256 is supported", |m| {
            m.input("x", &[1, 1, 4, 4]);
            m.node("GlobalLpPool", &["x"], &["y"], &[("p", Attr::Int(257))]);
        }),
    ];
    for (place, limit, build) in cases {
        let text = sound(&import(model(build).bytes()).unwrap_err());
        assert!(text.contains(place) && text.contains(limit), "{place}: {text}");
    }
}

#[test]
fn large_numbers_of_the_caller_are_called_bound() {
    let m = model(|m| {
        m.open_input("x", FLOAT, &[Dim::Named("n"), Dim::Named("m")]);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    let text = sound(&bound(&m, &[("n", 1 << 30), ("m", 1 << 30)]).unwrap_err());
    assert!(text.contains("input `x`") && text.contains("at most 2147483648 elements"), "{text}");
    assert!(text.contains("bound"), "{text}");
    // The input is small enough, but a node produces more elements than the limit.
    let m = model(|m| {
        m.open_input("x", FLOAT, &[Dim::Named("n")]);
        m.ints("r", &[1 << 16]);
        m.node("Tile", &["x", "r"], &["y"], &[]);
    });
    let text = sound(&bound(&m, &[("n", 1 << 20)]).unwrap_err());
    assert!(text.contains("node 0 Tile `y`") && text.contains("extents that were bound"), "{text}");
}

#[test]
fn extents_of_nothing_are_said_to_be_that() {
    let m = model(|m| {
        m.input("x", &[0, 3]);
        m.node("Relu", &["x"], &["y"], &[]);
    });
    let error = import(m.bytes()).unwrap_err();
    let text = sound(&error);
    assert!(matches!(&error, ImportError::UnresolvedDim(open) if open.len() == 1 && open[0].zero), "{text}");
    assert!(text.contains("x:0") && text.contains("the file states 0, as some exporters do"), "{text}");
    let text = sound(&bound(&m, &[("x:0", 0)]).unwrap_err());
    assert!(text.contains("output `y`: it has no elements: its extents are [0, 3]"), "{text}");
    assert_eq!(bound(&m, &[("x:0", 2)]).unwrap().tensors.last().unwrap().dims, [2, 3]);
    let m = model(|m| {
        m.input("x", &[4]);
        m.ints("k", &[0]);
        m.node("TopK", &["x", "k"], &["y"], &[]);
    });
    let text = sound(&import(m.bytes()).unwrap_err());
    assert!(text.contains("takes none of its values") && text.contains("without elements are not supported"), "{text}");
}

/// An input may be declared without any shape.
#[test]
fn an_input_without_a_shape_takes_it_from_what_is_bound() {
    let mut m = Model::new();
    m.node("Relu", &["x"], &["y"], &[]);
    // A type without a shape: a message of a message whose first field is the element type.
    m.inputs.push([bytes(1, b"x"), bytes(2, &bytes(1, &[8, 1]))].concat());
    m.output("y");
    let error = import(m.bytes()).unwrap_err();
    assert!(matches!(&error, ImportError::UnstatedShape { input } if input == "x"), "{error}");
    assert!(sound(&error).contains("`x:0`, `x:1`"), "{error}");
    let graph = bound(&m, &[("x:0", 2), ("x:1", 3), ("x:2", 5)]).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [2, 3, 5]);
    // An axis is missing between them.
    assert!(matches!(bound(&m, &[("x:0", 2), ("x:2", 5)]), Err(ImportError::NoSuchDim { names }) if names == ["x:2"]));
}

/// SAME requires strides times extents, but a window smaller than its stride computes fewer. The result has the
/// computed extents, as in ONNX Runtime.
#[test]
fn transposed_convolutions_with_strides_beyond_the_window_are_bounded() {
    let m = model(|m| {
        m.input("x", &[1, 1, 2, 3]);
        m.floats("w", &[1, 1, 1, 1], &[2.0]);
        let attributes = [("auto_pad", Attr::Text("SAME_UPPER")), ("strides", Attr::Ints(vec![2, 2]))];
        m.node("ConvTranspose", &["x", "w"], &["y"], &attributes);
    });
    let (dims, values) = super::support::run(&m).remove(0);
    assert_eq!(dims, [1, 1, 3, 5]);
    assert_eq!(values[..5], [2.0, 0.0, 4.0, 0.0, 6.0]);
    assert_eq!(values[5..10], [0.0; 5]);
    assert_eq!(values[10..], [8.0, 0.0, 10.0, 0.0, 12.0]);
}
