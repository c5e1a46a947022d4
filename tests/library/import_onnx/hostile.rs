//! Files that are not models, truncated models, and models with changed bytes. The importer returns a result or a
//! typed error, without a panic, a hang or excessive memory, and reads no file outside the model's folder.

use proptest::prelude::*;
use texpool_model::import::{ImportError, open};

use super::support::{
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
    fn any_bytes_are_an_answer_or_an_error(mut epilogue in proptest::collection::vec(any::<u8>(), 0..256)) {
        let mut file = number(1, 8);
        file.append(&mut epilogue);
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

/// Returns a model whose constant lies in `location`, in a new folder with a file outside.
fn external(location: &str, offset: &str, length: &str) -> Result<texpool_ops::graph::Graph, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("models");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("secret.bin"), [0; 64]).unwrap();
    std::fs::write(inside.join("values.bin"), [0; 16]).unwrap();
    std::fs::create_dir(inside.join("sub")).unwrap();
    std::fs::write(inside.join("sub/values.bin"), [0; 16]).unwrap();
    std::fs::create_dir_all(folder.path().join("other/deep")).unwrap();
    std::fs::write(folder.path().join("other/deep/secret.bin"), [0; 64]).unwrap();
    #[cfg(unix)]
    for (to, link) in [
        ("secret.bin", "link.bin"),
        ("other", "sub/away"),
        ("models/sub/away/deep", "twice"),
        ("models/sub/../../other", "winding"),
        ("models/values.bin", "sub/back.bin"),
        ("nowhere", "dangling.bin"),
    ] {
        std::os::unix::fs::symlink(folder.path().join(to), inside.join(link)).unwrap();
    }
    let place = location.replace("OUTSIDE", &folder.path().to_string_lossy());
    let path = inside.join("model.onnx");
    std::fs::write(&path, naming(&place, offset, length)).unwrap();
    open(&path)
}

/// A model whose constant lies in a part of another file.
fn naming(location: &str, offset: &str, length: &str) -> Vec<u8> {
    let pair = |key: &str, value: &str| bytes(13, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
    let mut m = Model::new();
    m.input("x", &[1, 2]);
    let keys = [pair("location", location), pair("offset", offset), pair("length", length), number(14, 1)].concat();
    m.tensor("c", FLOAT, &[2], &keys);
    m.node("Add", &["x", "c"], &["y"], &[]);
    m.output("y");
    m.bytes()
}

#[test]
fn values_beside_the_model_are_read() {
    for (location, offset) in [("values.bin", "0"), ("./values.bin", "8"), ("sub/values.bin", "4")] {
        assert!(external(location, offset, "8").is_ok(), "{location}");
    }
    #[cfg(unix)]
    assert!(external("sub/back.bin", "0", "8").is_ok(), "a link that stays inside");
}

#[test]
fn values_outside_the_folder_are_never_read() {
    let cases = [
        ("../secret.bin", "outside"),
        ("sub/../../secret.bin", "outside"),
        ("OUTSIDE/secret.bin", "outside"),
        ("", "outside"),
        ("..", "outside"),
        ("./../models/values.bin", "outside"),
        ("//server/share/secret.bin", "outside"),
        ("link.bin", "leads out"),
        ("sub/away/deep/secret.bin", "leads out"),
        ("twice/secret.bin", "leads out"),
        ("winding/deep/secret.bin", "leads out"),
        ("dangling.bin", "cannot read"),
        ("missing.bin", "cannot read"),
        ("sub", "cannot read"),
        (".", "cannot read"),
        ("values.bin/", "cannot read"),
        ("values.bin/../../secret.bin", "outside"),
        ("values.bin\0", "cannot read"),
        ("~/secret.bin", "cannot read"),
        ("%2e%2e/secret.bin", "cannot read"),
        ("file://OUTSIDE/secret.bin", "cannot read"),
    ];
    for (location, reason) in cases {
        let error = external(location, "0", "8").unwrap_err().to_string();
        assert!(error.contains(reason), "{location}: {error}");
    }
    // Roots of another system: outside there, names of files that are not there here.
    for location in
        ["C:\\secret.bin", "C:secret.bin", "\\\\server\\share\\secret.bin", "..\\secret.bin", "\\\\?\\C:\\secret.bin"]
    {
        assert!(external(location, "0", "8").is_err(), "{location}");
    }
}

#[test]
fn parts_of_a_file_that_it_does_not_have_are_refused() {
    let most = u64::MAX.to_string();
    for (offset, length) in [
        ("9", "8"),
        ("0", "17"),
        ("16", "8"),
        ("17", "0"),
        (&most, "8"),
        ("8", &most),
        (&most, &most),
        ("340282366920938463463374607431768211456", "8"),
        ("-1", "8"),
        ("0", "-8"),
        ("0x0", "8"),
        ("", "8"),
        ("0", "4"),
        ("0", "0"),
    ] {
        assert!(external("values.bin", offset, length).is_err(), "{offset} {length}");
    }
}

/// Opening a pipe would wait for a writer. The test does not hang, so nothing outside the folder is opened, and
/// inside it only plain files are.
#[cfg(target_os = "linux")]
#[test]
fn no_pipe_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("models");
    std::fs::create_dir(&inside).unwrap();
    for pipe in [folder.path().join("pipe"), inside.join("pipe")] {
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    std::os::unix::fs::symlink(folder.path().join("pipe"), inside.join("link")).unwrap();
    for location in ["../pipe", "link", "pipe"] {
        let path = inside.join("model.onnx");
        std::fs::write(&path, naming(location, "0", "8")).unwrap();
        assert!(open(&path).is_err(), "{location}");
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
