//! Extents that a model leaves open: a batch is 1, for others the command shows a line to paste.

use std::{fs, path::Path};

use crate::{
    arguments::{open_model, refused, stderr_of, texpool},
    onnx_model::{FLOAT, Model, bytes, number},
};

/// A model of one node whose input is `[batch, 4]`.
fn open_batch(folder: &Path) {
    let mut model = Model::new();
    model.raw_input("x", FLOAT, &[bytes(2, b"batch"), number(1, 4)]);
    model.raw_node("Relu", &["x"], &["y"], &[]);
    model.output("y");
    fs::write(folder.join("batch.onnx"), model.bytes()).unwrap();
}

#[test]
fn an_open_batch_is_one_and_said_once() {
    let dir = tempfile::tempdir().unwrap();
    open_batch(dir.path());
    let output = texpool(dir.path(), &["plan", "batch.onnx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let note = "note: the model's batch `batch` is open and taken as 1; --dim batch=N sets another\n";
    assert_eq!(stderr_of(&output), note);
    let bound = texpool(dir.path(), &["plan", "batch.onnx", "--dim", "batch=2"]).output().unwrap();
    assert_eq!(stderr_of(&bound), "");
    assert_ne!(output.stdout, bound.stdout, "a batch of two takes more memory");
}

/// Batches of several names have to agree, so the note has the flags of all.
#[test]
fn open_batches_of_several_names_are_said_with_all_flags() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    model.raw_input("x", FLOAT, &[bytes(2, b"m"), number(1, 4)]);
    model.raw_input("y", FLOAT, &[bytes(2, b"n"), number(1, 4)]);
    model.raw_node("Add", &["x", "y"], &["z"], &[]);
    model.output("z");
    fs::write(dir.path().join("two.onnx"), model.bytes()).unwrap();
    let output = texpool(dir.path(), &["plan", "two.onnx"]).output().unwrap();
    let note = "note: the model's batches `m`, `n` are open and taken as 1; --dim m=N --dim n=N sets others\n";
    assert_eq!(stderr_of(&output), note);
}

/// Other extents than those of `--dim` cannot help against a type, so no hint says so.
#[test]
fn refused_types_are_not_blamed_on_extents() {
    const STRING: i64 = 8;
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    model.raw_input("x", STRING, &[bytes(2, b"n"), number(1, 4)]);
    model.raw_node("Identity", &["x"], &["y"], &[]);
    model.output("y");
    fs::write(dir.path().join("text.onnx"), model.bytes()).unwrap();
    let output = texpool(dir.path(), &["plan", "text.onnx", "--dim", "n=2"]).output().unwrap();
    let text = stderr_of(&output);
    assert!(text.contains("of type string") && !text.contains("--dim; others"), "{text}");
}

/// The line has the whole call and every extent, a batch as 1, and works as soon as the rest is filled in.
#[test]
fn other_extents_are_refused_with_a_line_to_paste() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my open.onnx"), open_model()).unwrap();
    let line = "\n  texpool plan 'my open.onnx' --why --dim batch=1 --dim x:2=VALUE\n";
    refused(dir.path(), &["plan", "my open.onnx", "--why"], 1, &["2 of the inputs' extents are open", line]);
    let filled = ["plan", "my open.onnx", "--why", "--dim", "batch=1", "--dim", "x:2=7"];
    assert!(texpool(dir.path(), &filled).output().unwrap().status.success());
    // What is bound already stays, and is not asked for again.
    let bound = ["plan", "my open.onnx", "--dim", "batch=3"];
    refused(dir.path(), &bound, 1, &["\n  texpool plan 'my open.onnx' --dim batch=3 --dim x:2=VALUE\n"]);
}

#[test]
fn extents_of_usual_names_have_usual_values_in_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let named = [&b"N"[..], b"sequence_length", b"image_height", b"depth"].map(|name| bytes(2, name));
    model.raw_input("x", FLOAT, &named);
    model.raw_node("Relu", &["x"], &["y"], &[]);
    model.output("y");
    fs::write(dir.path().join("m.onnx"), model.bytes()).unwrap();
    let line = "texpool plan m.onnx --dim N=1 --dim sequence_length=128 --dim image_height=224 --dim depth=VALUE\n";
    refused(dir.path(), &["plan", "m.onnx"], 1, &[line]);
}

/// A file of the catalogue under another name has the catalogue's values.
#[test]
fn a_file_of_the_catalogue_has_its_values_in_the_line() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(crate::command::fetched("minilm"), dir.path().join("mine.onnx")).unwrap();
    let line = "texpool plan mine.onnx --dim batch_size=1 --dim sequence_length=128\n";
    refused(dir.path(), &["plan", "mine.onnx"], 1, &[line]);
}
