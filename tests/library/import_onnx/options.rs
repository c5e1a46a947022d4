//! Extents and inputs that the caller binds.

use std::collections::BTreeMap;

use texpool_model::import::{Array, FakeQuant, ImportError, ImportOptions, parse_constant};
use texpool_ops::{graph::Graph, ops::reference};

use super::support::{
    import, import_with,
    onnx::{Attr, Dim, FLOAT, INT64, Model},
};

fn open() -> Model {
    let mut m = Model::new();
    m.open_input("x", FLOAT, &[Dim::Named("batch"), Dim::Is(3), Dim::Open]);
    m.open_input("z", FLOAT, &[Dim::Named("batch"), Dim::Is(1), Dim::Named("length")]);
    m.node("Add", &["x", "z"], &["y"], &[]);
    m.output("y");
    m
}

fn dims(all: &[(&str, usize)]) -> ImportOptions {
    let dims: BTreeMap<String, usize> = all.iter().map(|(name, extent)| (name.to_string(), *extent)).collect();
    ImportOptions { dims, ..ImportOptions::default() }
}

#[test]
fn all_open_extents_are_listed() {
    let error = import(open().bytes()).unwrap_err();
    let ImportError::UnresolvedDim(unbound) = &error else { panic!("{error}") };
    let names: Vec<(&str, usize, &str)> = unbound.iter().map(|u| (&*u.input, u.axis, &*u.name)).collect();
    assert_eq!(names, [("x", 0, "batch"), ("x", 2, "x:2"), ("z", 0, "batch"), ("z", 2, "length")]);
    let text = error.to_string();
    assert!(text.starts_with("4 of the inputs' extents are open"), "{text}");
    for line in ["batch (axis 0 of inputs `x`, `z`)", "x:2 (axis 2 of input `x`)", "length (axis 2 of input `z`)"] {
        assert!(text.contains(&format!("\n  {line}")), "{text}");
    }
    assert_eq!(text.lines().count(), 4, "{text}");
    let one = import_with(open().bytes(), &dims(&[("batch", 2), ("length", 5)])).unwrap_err().to_string();
    assert_eq!(one, "1 extent of the inputs is open:\n  x:2 (axis 2 of input `x`)");
}

#[test]
fn bound_extents_are_those_of_the_graph() {
    let graph = import_with(open().bytes(), &dims(&[("batch", 2), ("x:2", 5), ("length", 5)])).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [2, 3, 5]);
    // The position of an extent may be used instead of its name.
    let graph = import_with(open().bytes(), &dims(&[("x:0", 2), ("z:0", 2), ("x:2", 5), ("z:2", 1)])).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [2, 3, 5]);
}

/// Exporters of decoders name the extent of a mask after those of the tokens that it covers.
#[test]
fn sums_of_names_follow_from_the_names() {
    let mut m = Model::new();
    m.open_input("past", FLOAT, &[Dim::Named("past_length"), Dim::Is(3)]);
    m.open_input("new", FLOAT, &[Dim::Named("length"), Dim::Is(3)]);
    m.open_input("mask", FLOAT, &[Dim::Named("past_length + length"), Dim::Named("past_length + 1")]);
    m.node("Concat", &["past", "new"], &["all"], &[("axis", Attr::Int(0))]);
    m.node("Neg", &["all"], &["y"], &[]);
    m.node("Neg", &["mask"], &["z"], &[]);
    m.output("y");
    m.output("z");
    let graph = import_with(m.bytes(), &dims(&[("past_length", 5), ("length", 2)])).unwrap();
    assert_eq!(graph.tensors[graph.outputs[1]].dims, [7, 6]);
    // A name of its own has priority.
    let options = dims(&[("past_length", 5), ("length", 2), ("past_length + 1", 4)]);
    let graph = import_with(m.bytes(), &options).unwrap();
    assert_eq!(graph.tensors[graph.outputs[1]].dims, [7, 4]);
    let names = |options: &ImportOptions| match import_with(m.bytes(), options).unwrap_err() {
        ImportError::UnresolvedDim(open) => open.into_iter().map(|dim| dim.name).collect::<Vec<_>>(),
        error => panic!("{error}"),
    };
    assert_eq!(names(&ImportOptions::default()), ["past_length", "length"]);
    assert_eq!(names(&dims(&[("length", 2)])), ["past_length"]);
}

/// The error must not advise converting the file again.
#[test]
fn extents_that_do_not_fit_each_other_are_said_to_be_bound() {
    let error = import_with(open().bytes(), &dims(&[("batch", 2), ("x:2", 5), ("length", 4)])).unwrap_err().to_string();
    assert!(error.contains("do not broadcast; the file leaves extents open, and others may fit"), "{error}");
}

#[test]
fn names_and_extents_that_make_no_sense_are_refused() {
    let all = [("batch", 2), ("x:2", 5), ("length", 5)];
    let with = |more: (&str, usize)| import_with(open().bytes(), &dims(&[&all[..], &[more]].concat())).unwrap_err();
    assert!(matches!(with(("nothing", 3)), ImportError::NoSuchDim { names } if names == ["nothing"]));
    // The error must not blame the file.
    assert!(matches!(with(("x:1", 4)), ImportError::CannotBind { name, asked: 4, .. } if name == "x:1"));
    let error = import_with(open().bytes(), &dims(&[("batch", usize::MAX), ("x:2", 5), ("length", 5)])).unwrap_err();
    assert!(matches!(error, ImportError::CannotBind { name, asked: usize::MAX, .. } if name == "batch"));
}

#[test]
fn an_input_bound_to_a_value_is_part_of_the_model() {
    let mut options = dims(&[("batch", 2), ("x:2", 5)]);
    options.constants.insert("z".into(), Array::floats(&[2, 1, 5], &[1.5; 10]).unwrap());
    let graph = import_with(open().bytes(), &options).unwrap();
    assert_eq!(graph.inputs.len(), 1);
    options.constants.insert("w".into(), Array::ints(&[1], &[1]).unwrap());
    let error = import_with(open().bytes(), &options).unwrap_err();
    assert!(matches!(error, ImportError::NoSuchInput { names } if names == ["w"]));
}

/// A number given on the command line has neither the type nor the extents of the file.
#[test]
fn numbers_bound_to_an_input_get_the_type_and_extents_of_the_file() {
    let bound = |options: &ImportOptions, array: Array| {
        let mut options = options.clone();
        options.constants.insert("z".into(), array);
        import_with(open().bytes(), &options)
    };
    let extents = dims(&[("batch", 2), ("x:2", 5), ("length", 5)]);
    let added = |graph: &Graph| reference::outputs(graph, &[vec![1.0; 30]]).unwrap().remove(0);
    let one = added(&bound(&extents, Array::ints(&[1], &[3]).unwrap()).unwrap());
    assert_eq!(one, [4.0; 30]);
    let ten: Vec<i64> = (0..10).collect();
    let each = added(&bound(&extents, Array::ints(&[10], &ten).unwrap()).unwrap());
    assert_eq!((each[0], each[4], each[14], each[15], each[29]), (1.0, 5.0, 5.0, 6.0, 10.0));
    let error = bound(&extents, Array::ints(&[3], &[1, 2, 3]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("3 numbers are bound to it, and it has 10: its extents are [2, 1, 5]"), "{error}");
    // An array of the right rank states open extents itself.
    let graph = bound(&dims(&[("batch", 2), ("x:2", 5)]), Array::ints(&[2, 1, 1], &[7, 8]).unwrap()).unwrap();
    assert_eq!(added(&graph)[14..16], [8.0, 9.0]);
    let error = bound(&extents, Array::ints(&[4, 1, 1], &[1; 4]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("4 numbers are bound to it"), "{error}");
}

/// The command and the delegates read numbers from texts.
#[test]
fn a_constant_is_written_as_numbers() {
    let [whole, real] = ["sr=16000", "a=b=0.5, -2"].map(|text| parse_constant(text).unwrap());
    assert_eq!((&*whole.0, whole.1.to_i64()), ("sr", Some(&[16_000][..])));
    assert_eq!((&*real.0, &*real.1.to_f32()), ("a=b", &[0.5, -2.0][..]));
    for (text, why) in [("sr", "write INPUT=NUMBER"), ("=1", "no name is before"), ("sr=fast", "`fast` is no number")] {
        assert!(parse_constant(text).unwrap_err().contains(why), "{text}");
    }
    // 1.5 is no integer, and is not rounded to one.
    let mut m = Model::new();
    m.open_input("n", INT64, &[Dim::Is(1)]);
    m.node("Cast", &["n"], &["y"], &[("to", Attr::Int(FLOAT))]);
    m.output("y");
    let mut options = ImportOptions::default();
    options.constants.insert("n".into(), Array::floats(&[1], &[1.5]).unwrap());
    let error = import_with(m.bytes(), &options).unwrap_err().to_string();
    assert!(error.contains("input `n`: some of the numbers bound to it are no"), "{error}");
}

/// Quantisation in an ONNX file rounds like 8-bit values in a TensorFlow Lite file, and the same option disables it.
#[test]
fn quantising_rounds_unless_it_is_switched_off() {
    let mut m = Model::new();
    m.input("x", &[1, 4]);
    m.floats("s", &[], &[0.5]);
    m.node("QuantizeLinear", &["x", "s"], &["q"], &[]);
    m.node("DequantizeLinear", &["q", "s"], &["y"], &[]);
    m.output("y");
    let answer = |fake_quant| {
        let graph = import_with(m.bytes(), &ImportOptions { fake_quant, ..ImportOptions::default() }).unwrap();
        reference::outputs(&graph, &[vec![1.25, 1.3, -7.0, 500.0]]).unwrap().remove(0)
    };
    assert_eq!(answer(FakeQuant::On), [1.0, 1.5, 0.0, 127.5], "halves to the even one");
    assert_eq!(answer(FakeQuant::Off), [1.25, 1.3, 0.0, 127.5]);
}
