//! Messages of `run`, `bench` and `compare` on values outside the 16-bit range and on indices outside their axis.

use std::{fs, path::Path};

use texpool_cli::io::write_npy;

use crate::{
    command::{json, stderr, texpool},
    onnx_model::{Model, number},
};

fn model(folder: &Path, model: &Model) -> String {
    let path = folder.join("model.onnx");
    fs::write(&path, model.bytes()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes a model that takes two rows of a table of five.
fn gather(folder: &Path) -> String {
    let mut network = Model::new();
    network.floats("table", &[5, 3], &[0.5; 15]);
    network.raw_input("i", 7, &[number(1, 2)]);
    network.raw_node("Gather", &["table", "i"], &["y"], &[]);
    network.output("y");
    model(folder, &network)
}

fn text(args: &[&str]) -> String {
    let output = texpool(args);
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// An array of 64-bit integers.
fn integers(path: &Path, values: &[i64]) {
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let header = format!("{header:<117}\n");
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let length = (header.len() as u16).to_le_bytes();
    fs::write(path, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &bytes].concat()).unwrap();
}

#[test]
fn values_beyond_16_bits_are_counted_in_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = Model::new();
    network.input("x", &[1, 4]);
    network.raw_node("Mul", &["x", "x"], &["square"], &[]);
    network.raw_node("Sqrt", &["square"], &["y"], &[]);
    network.output("y");
    let file = model(folder.path(), &network);
    let input = folder.path().join("x.npy");
    write_npy(&input, &[1, 4], &[300.0, -400.0, 2.0, 255.0]).unwrap();
    // Without the rules, so that the squares are stored.
    let args = ["run", &file, "--input", input.to_str().unwrap(), "--precision", "f16", "--rules", "none"];
    let clamped = &json(&[&args[..], &["--json"]].concat())["clamped"];
    assert!(clamped["saturated"] == 2 && clamped["indices_outside"] == 0, "{clamped}");
    let place = &clamped["places"][0];
    assert!(place["tensor"] == "square" && place["node"] == 0 && place["op"] == "MUL", "{clamped}");
    let stdout = text(&args);
    let words = "2 values are beyond the range of the precision and were stored as the nearest in it, first in node 0 (MUL, `square`)";
    assert!(stdout.contains(words), "{stdout}");
    // With 32-bit floats nothing is clamped, so nothing is reported.
    let plain = ["run", &file, "--input", input.to_str().unwrap()];
    assert!(!text(&plain).contains("beyond"), "{}", text(&plain));
    let clamped = &json(&[&plain[..], &["--json"]].concat())["clamped"];
    assert!(clamped["saturated"] == 0 && clamped["places"].as_array().unwrap().is_empty(), "{clamped}");
}

#[test]
fn constants_beyond_16_bits_are_counted_in_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = Model::new();
    network.input("x", &[1, 2]);
    network.floats("weights", &[2, 3], &[1e5, 1.0, 2.0, 3.0, -7e4, f32::INFINITY]);
    network.raw_node("MatMul", &["x", "weights"], &["y"], &[]);
    network.output("y");
    let file = model(folder.path(), &network);
    let input = folder.path().join("x.npy");
    write_npy(&input, &[1, 2], &[1e-5, 1e-5]).unwrap();
    for options in [["--precision", "f16"], ["--weights", "f16"]] {
        let args = [&["run", &file, "--input", input.to_str().unwrap()][..], &options].concat();
        let clamped = &json(&[&args[..], &["--json"]].concat())["clamped"];
        assert!(clamped["saturated"] == 2 && clamped["indices_outside"] == 0, "{options:?}: {clamped}");
        let place = &clamped["places"][0];
        assert!(place["op"] == "constant" && place["node"].is_null(), "{options:?}: {clamped}");
        let stdout = text(&args);
        let words =
            "2 values are beyond the range of the precision and were stored as the nearest in it, first in constant `";
        assert!(stdout.contains(words), "{options:?}: {stdout}");
    }
}

#[test]
fn indices_outside_the_axis_are_counted_in_text_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = gather(folder.path());
    let input = folder.path().join("i.npy");
    let args = ["run", &file, "--input", input.to_str().unwrap()];
    for (indices, outside) in [([5, 0], 1), ([-6, 7], 2), ([-5, 4], 0)] {
        integers(&input, &indices);
        let clamped = &json(&[&args[..], &["--json"]].concat())["clamped"];
        assert!(clamped["indices_outside"] == outside, "{indices:?}: {clamped}");
        let stdout = text(&args);
        assert_eq!(stdout.contains("outside the axis"), outside > 0, "{stdout}");
        assert_eq!(stdout.contains("1 index is outside the axis and was replaced by the nearest inside"), outside == 1);
    }
}

/// References clamp indices as the device does, so `compare` agrees and has to say it itself.
#[test]
fn bench_and_compare_say_what_was_clamped() {
    let folder = tempfile::tempdir().unwrap();
    let file = gather(folder.path());
    let input = folder.path().join("i.npy");
    integers(&input, &[-6, 7]);
    let args = ["compare", &file, "--against", "cpu", "--input", input.to_str().unwrap()];
    assert_eq!(json(&[&args[..], &["--json"]].concat())["clamped"]["indices_outside"], 2);
    assert!(text(&args).contains("2 indices are outside the axis"), "{}", text(&args));

    let mut network = Model::new();
    network.input("x", &[1, 64]);
    network.floats("k", &[1], &[60_000.0]);
    network.raw_node("Mul", &["x", "k"], &["large"], &[]);
    network.raw_node("Mul", &["large", "k"], &["larger"], &[]);
    network.raw_node("Sqrt", &["larger"], &["y"], &[]);
    network.output("y");
    let file = model(folder.path(), &network);
    let args = ["bench", &file, "--precision", "f16", "--rules", "none", "--seconds", "0.1"];
    let clamped = &json(&[&args[..], &["--json"]].concat())["clamped"];
    assert!(clamped["saturated"].as_u64().unwrap() > 32 && clamped["places"][0]["tensor"] == "larger", "{clamped}");
    assert!(text(&args).contains("beyond the range of the precision"), "{}", text(&args));
}
