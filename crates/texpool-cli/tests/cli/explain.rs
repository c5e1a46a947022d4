//! `texpool explain`: text, JSON, what is not known beforehand, usage errors. Needs no device.

#![cfg(test)]

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::onnx_model::{FLOAT, Model, bytes, number};

const FACES: &str = "tests/data/models/face_detection_front_2019.tflite";

fn explain(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
    // Small models are enough to show what is said.
    command
        .arg("explain")
        .args(args)
        .args(["--min-operations", "0"])
        .current_dir(crate::ROOT)
        .envs([("VK_DRIVER_FILES", crate::ABSENT), ("TEXPOOL_NO_INSTALL", "1")]);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn answer(args: &[&str]) -> String {
    let (code, out, err) = explain(args);
    assert_eq!(code, Some(0), "{err}");
    out
}

fn data(args: &[&str]) -> Value {
    serde_json::from_str(&answer(&[args, &["--json"]].concat())).unwrap()
}

/// Relu and Neg, and between them and another Relu an operator that nobody knows.
fn model(folder: &Path, name: &str, dims: &[Vec<u8>]) -> String {
    let mut m = Model::new();
    m.raw_input("x", FLOAT, dims);
    m.raw_node("Relu", &["x"], &["a"], &[]);
    m.raw_node("Foo", &["a"], &["b"], &[]);
    m.raw_node("Neg", &["x"], &["c"], &[]);
    m.raw_node("Relu", &["b"], &["d"], &[]);
    ["c", "d"].iter().for_each(|name| m.output(name));
    let path = folder.join(name);
    fs::write(&path, m.bytes()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The text as if its lines had any width.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_model_taken_whole_is_explained_in_one_line() {
    let stdout = answer(&[FACES, "--host", "tflite"]);
    assert_eq!(stdout.lines().filter(|line| !line.starts_with(' ')).count(), 1, "{stdout}");
    let stdout = unbroken(&stdout);
    assert!(
        stdout.contains("all of it runs on texpool, ") && stdout.contains("each run copies in 196,608 bytes"),
        "{stdout}"
    );
    let document = data(&[FACES, "--host", "tflite"]);
    let graph = &document["graphs"][0];
    assert_eq!((&document["host"], &graph["left"], &graph["unknown"]), (&json!("tflite"), &json!(0), &json!(0)));
    let (nodes, parts) = (graph["nodes"].as_array().unwrap(), graph["partitions"].as_array().unwrap());
    assert_eq!((parts.len(), parts[0]["nodes"].as_array().unwrap().len()), (1, nodes.len()));
    assert!(nodes.iter().all(|node| node["verdict"] == "taken" && node["reason"].is_null()));
}

#[test]
fn nodes_left_have_reasons_and_borders_have_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = model(dir.path(), "foo.onnx", &[1, 3, 8, 8].map(|extent| number(1, extent)));
    let stdout = answer(&[&path, "--host", "onnxruntime"]);
    for words in [
        "foo in onnxruntime: 2 of 4 nodes would be taken, in 1 partition; 1 left; 1 not\n  known beforehand\n",
        "partition 0: 2 nodes from `a` to `c`; each run copies in 768 bytes, out 1,536\n  bytes\n",
        "left to onnxruntime:\n  1 Foo: the operator is not supported; express it by supported operators, or\n",
        "    `b`\n",
        "  1 Relu: the file does not state the extents of its operand `b`",
    ] {
        assert!(stdout.contains(words), "`{words}` is missing: {stdout}");
    }
    let graph = &data(&[&path, "--host", "onnxruntime"])["graphs"][0];
    let verdicts: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["verdict"]).collect();
    assert_eq!(verdicts, ["taken", "left", "taken", "unknown"]);
    let part = &graph["partitions"][0];
    assert_eq!(
        (&part["nodes"], &part["input_bytes"], &part["output_bytes"]),
        (&json!([0, 2]), &json!(768), &json!(1536))
    );
    assert_eq!((&part["inputs"][0]["name"], &part["inputs"][0]["dims"]), (&json!("x"), &json!([1, 3, 8, 8])));
}

#[test]
fn unknown_sizes_are_not_printed_as_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = model(dir.path(), "open.onnx", &[bytes(2, b"batch"), number(1, 3)]);
    let args = [&*path, "--host", "onnxruntime"];
    let stdout = unbroken(&answer(&args));
    assert!(stdout.contains("each run copies in a number of bytes not known beforehand, out a number"), "{stdout}");
    assert!(stdout.contains("`x` f32 [?, 3]: a number") && stdout.contains("batch (axis 0 of input `x`)"), "{stdout}");
    assert!(stdout.contains("--dim NAME=VALUE"), "{stdout}");
    let part = &data(&args)["graphs"][0]["partitions"][0];
    assert_eq!((&part["input_bytes"], &part["output_bytes"]), (&Value::Null, &Value::Null));
    assert_eq!((&part["inputs"][0]["bytes"], &part["inputs"][0]["dims"]), (&Value::Null, &json!([null, 3])));
    let bound = &data(&[&args[..], &["--dim", "batch=2"]].concat())["graphs"][0];
    assert_eq!((&bound["partitions"][0]["input_bytes"], &bound["open_extents"]), (&json!(24), &json!([])));
}

#[test]
fn a_file_of_the_other_runtime_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let path = model(dir.path(), "other.onnx", &[number(1, 2)]);
    for (args, words) in [
        ([&*path, "--host", "tflite"], "tflite does not read the format of `other`; say --host onnxruntime"),
        ([FACES, "--host", "onnxruntime"], "say --host tflite"),
    ] {
        let (code, out, err) = explain(&args);
        assert_eq!((code, &*out), (Some(2), ""), "{err}");
        assert!(err.contains(words), "{err}");
    }
    assert_eq!(explain(&[FACES]).0, Some(2));
    assert_eq!(explain(&[&path, "--host", "onnxruntime", "--dim", "batch=2"]).0, Some(2));
    assert_eq!(explain(&["no such model", "--host", "tflite"]).0, Some(1));
    fs::write(&path, "no model").unwrap();
    assert_eq!(explain(&[&path, "--host", "onnxruntime"]).0, Some(1));
}
