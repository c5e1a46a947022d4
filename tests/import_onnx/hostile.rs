//! Files that are no models, cut models, and models changed byte by byte: an answer or a typed error, never a panic, a
//! hang or a flood of memory; and no file outside the model's folder is read.

use proptest::prelude::*;
use texpool::import::{ImportError, open};

use crate::support::{
    import,
    onnx::{Attr, FLOAT, Model, bytes, number, varint},
};

/// A small model of many parts.
fn small() -> Model {
    let mut m = Model::new();
    m.input("x", &[1, 3, 8, 8]);
    m.floats("w", &[4, 3, 3, 3], &[0.25; 108]);
    m.floats("b", &[4], &[1.0; 4]);
    m.node("Conv", &["x", "w", "b"], &["c"], &[("pads", Attr::Ints(vec![1, 1, 1, 1]))]);
    m.node("Relu", &["c"], &["r"], &[]);
    m.node("MaxPool", &["r"], &["p"], &[("kernel_shape", Attr::Ints(vec![2, 2])), ("strides", Attr::Ints(vec![2, 2]))]);
    m.ints("flat", &[1, -1]);
    m.node("Reshape", &["p", "flat"], &["f"], &[]);
    m.floats("m", &[64, 5], &[0.5; 320]);
    m.node("MatMul", &["f", "m"], &["s"], &[]);
    m.node("Softmax", &["s"], &["y"], &[("axis", Attr::Int(-1))]);
    m.output("y");
    m
}

#[test]
fn the_small_model_is_sound() {
    let graph = import(small().bytes()).unwrap();
    assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, 5]);
}

#[test]
fn a_model_cut_at_any_length_is_an_error() {
    let whole = small().bytes();
    for length in 0..whole.len() {
        assert!(import(whole[..length].to_vec()).is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn every_byte_changed_is_an_answer_or_an_error() {
    let whole = small().bytes();
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            let _ = import(changed);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_an_error(mut tail in proptest::collection::vec(any::<u8>(), 0..256)) {
        let mut file = number(1, 8);
        file.append(&mut tail);
        let _ = import(file.clone());
        let _ = import(bytes(7, &file));
    }
}

#[test]
fn nesting_costs_no_stack() {
    let mut nested: Vec<u8> = Vec::new();
    // Attributes of nodes of graphs of attributes, written from the inside, backwards.
    for _ in 0..100_000 {
        for key in [0x32, 0x2a, 0x0a] {
            let length = varint(nested.len() as u64);
            nested.extend(length.iter().rev());
            nested.push(key);
        }
    }
    nested.reverse();
    let error = import([number(1, 8), bytes(7, &nested), bytes(8, &number(2, 18))].concat()).unwrap_err();
    assert!(error.to_string().contains("not supported"), "{error}");
}

#[test]
fn stated_lengths_cost_no_memory() {
    for length in [1u64 << 40, u64::MAX, u64::MAX / 2] {
        let file = [number(1, 8), vec![0x3a], varint(length), vec![0; 16]].concat();
        assert!(import(file).is_err());
    }
}

#[test]
fn values_of_another_size_than_the_extents_are_refused() {
    let with = |dims: &[i64], raw: &[u8]| {
        let mut m = Model::new();
        m.input("x", &[1, 2]);
        m.tensor("c", FLOAT, dims, raw);
        m.node("Add", &["x", "c"], &["y"], &[]);
        m.output("y");
        import(m.bytes()).unwrap_err().to_string()
    };
    assert!(with(&[2], &bytes(9, &[0; 7])).contains("7 bytes"));
    assert!(with(&[2], &[]).contains("0 values"));
    assert!(with(&[-2], &bytes(9, &[0; 8])).contains("-2"));
    assert!(with(&[i64::MAX, i64::MAX], &bytes(9, &[0; 8])).contains("too large"));
    assert!(with(&[1 << 40], &bytes(9, &[0; 8])).contains("too large"));
}

#[test]
fn numbers_of_attributes_out_of_reach_are_errors() {
    for value in [i64::MIN, -1, 0, 1 << 31, 1 << 40, i64::MAX] {
        for name in ["strides", "dilations", "pads", "kernel_shape"] {
            let mut m = Model::new();
            m.input("x", &[1, 1, 8, 8]);
            m.floats("w", &[1, 1, 3, 3], &[1.0; 9]);
            let list = Attr::Ints(vec![value; if name == "pads" { 4 } else { 2 }]);
            m.node("Conv", &["x", "w"], &["y"], &[(name, list.clone())]);
            m.node("MaxPool", &["x"], &["z"], &[("kernel_shape", Attr::Ints(vec![2, 2])), (name, list)]);
            m.output("y");
            m.output("z");
            let fine = name == "pads" && value == 0;
            assert_eq!(import(m.bytes()).is_ok(), fine, "{name} {value}");
        }
        let mut m = Model::new();
        m.input("x", &[1, value, 8]);
        m.node("Relu", &["x"], &["y"], &[]);
        m.output("y");
        assert!(import(m.bytes()).is_err(), "{value}");
    }
}

/// A model whose constant lies in `location`, in a folder of its own with a file outside.
fn external(location: &str, offset: &str, length: &str) -> Result<texpool::graph::Graph, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("models");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("secret.bin"), [0; 64]).unwrap();
    std::fs::write(inside.join("values.bin"), [0; 16]).unwrap();
    std::fs::create_dir(inside.join("sub")).unwrap();
    std::fs::write(inside.join("sub/values.bin"), [0; 16]).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.bin"), inside.join("link.bin")).unwrap();
    let pair = |key: &str, value: &str| bytes(13, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
    let mut m = Model::new();
    m.input("x", &[1, 2]);
    let place = location.replace("OUTSIDE", &folder.path().to_string_lossy());
    let keys = [pair("location", &place), pair("offset", offset), pair("length", length), number(14, 1)].concat();
    m.tensor("c", FLOAT, &[2], &keys);
    m.node("Add", &["x", "c"], &["y"], &[]);
    m.output("y");
    let path = inside.join("model.onnx");
    std::fs::write(&path, m.bytes()).unwrap();
    open(&path)
}

#[test]
fn values_beside_the_model_are_read() {
    for (location, offset) in [("values.bin", "0"), ("./values.bin", "8"), ("sub/values.bin", "4")] {
        assert!(external(location, offset, "8").is_ok(), "{location}");
    }
}

#[test]
fn values_outside_the_folder_are_never_read() {
    let cases = [
        ("../secret.bin", "outside"),
        ("sub/../../secret.bin", "outside"),
        ("OUTSIDE/secret.bin", "outside"),
        ("/etc/hostname", "outside"),
        ("", "outside"),
        ("link.bin", "leads out"),
        ("missing.bin", "cannot read"),
        ("sub", "cannot read"),
    ];
    for (location, reason) in cases {
        let error = external(location, "0", "8").unwrap_err().to_string();
        assert!(error.contains(reason), "{location}: {error}");
    }
    for (offset, length) in [("9", "8"), ("0", "17"), ("18446744073709551615", "8"), ("-1", "8"), ("0", "4")] {
        assert!(external("values.bin", offset, length).is_err(), "{offset} {length}");
    }
}

#[test]
fn values_beside_a_model_that_is_no_file_are_refused() {
    let mut m = Model::new();
    m.input("x", &[1]);
    let keys = [bytes(13, &[bytes(1, b"location"), bytes(2, b"values.bin")].concat()), number(14, 1)].concat();
    m.tensor("c", FLOAT, &[1], &keys);
    m.node("Add", &["x", "c"], &["y"], &[]);
    m.output("y");
    assert!(import(m.bytes()).unwrap_err().to_string().contains("given as bytes"));
}
