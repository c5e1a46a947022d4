//! `texpool report` writes one file, whole or not at all, and over nothing of the call.

use std::{fs, process::Command};

use serde_json::Value;

use super::contents::data;

const TINY: &str = "tests/data/tiny.tflite";

fn texpool(folder: &std::path::Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_texpool")).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_report_has_the_models_name_and_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let model = fs::canonicalize(format!("{}/{TINY}", crate::ROOT)).unwrap();
    let (code, out, err) = texpool(folder.path(), &["report", model.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{err}");
    let html = fs::read_to_string(folder.path().join("tiny.html")).unwrap();
    assert!(out.contains("tiny.html") && out.contains("open it in a browser"), "{out}");
    let data = data(&html);
    let plans = data["plans"].as_array().unwrap();
    for name in ["whole tensors", "naive", "greedy_by_size_improved", "banks", "smallest arena"] {
        assert!(plans.iter().any(|plan| plan["name"] == name), "{name} is not on the page");
    }
    assert!(data["solution"]["cases"].as_array().is_some_and(|cases| !cases.is_empty()));
}

#[test]
fn the_summary_of_a_report_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let model = fs::canonicalize(format!("{}/{TINY}", crate::ROOT)).unwrap();
    let to = folder.path().join("page.html");
    let args = [
        "report",
        model.to_str().unwrap(),
        "-o",
        to.to_str().unwrap(),
        "--objective",
        "smallest",
        "--front",
        "--no-cache",
        "--json",
    ];
    let (code, out, err) = texpool(folder.path(), &args);
    assert_eq!(code, Some(0), "{err}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["file_bytes"], fs::metadata(&to).unwrap().len());
    assert_eq!(answer["plans"][0]["name"], "whole tensors");
    assert!(!answer["front"].as_array().unwrap().is_empty());
}

#[test]
fn a_report_replaces_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.tflite");
    fs::copy(format!("{}/{TINY}", crate::ROOT), &model).unwrap();
    let before = fs::read(&model).unwrap();
    let (code, _, err) = texpool(folder.path(), &["report", "model.tflite", "-o", "model.tflite"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("the report") && err.contains("the model"), "{err}");
    assert_eq!(fs::read(&model).unwrap(), before);
    let (code, _, err) = texpool(folder.path(), &["report", "model.tflite", "-o", "nowhere/page.html"]);
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(texpool(folder.path(), &["report", "model.tflite", "--seconds", "1"]).0, Some(2), "without --measure");
}

#[test]
fn a_measured_report_has_the_memory_of_the_device_and_the_time_of_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let model = fs::canonicalize(format!("{}/{TINY}", crate::ROOT)).unwrap();
    let args = ["report", model.to_str().unwrap(), "-o", "page.html", "--measure", "--seconds", "0.1", "--json"];
    let (code, out, err) = texpool(folder.path(), &args);
    assert_eq!(code, Some(0), "{err}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert!(answer["wall_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{out}");
    assert!(answer["device"]["name"] == measured(folder.path())["adapter"], "{out}");
    let measured = measured(folder.path());
    assert!(measured["memory"]["pool"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(measured["adapter"].as_str().is_some_and(|name| !name.is_empty()));
    if measured["profiled_runs"].as_u64().is_some_and(|runs| runs > 0) {
        assert!(super::contents::column(&measured["step_ns"]).iter().any(|&ns| ns > 0));
        // The text has the slowest of the steps.
        let steps = answer["steps"].as_array().unwrap();
        assert!(steps.len() > 2 && steps.iter().all(|step| step["gpu_ms"].is_number()), "{out}");
        let (code, out, err) = texpool(folder.path(), &[&args[..7], &["--top", "2"]].concat());
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(&format!("  {} more steps; --top all lists them", steps.len() - 2)), "{out}");
        assert!(out.contains("  by operator\n"), "{out}");
    }
}

/// Text of the page about the measurement.
fn measured(folder: &std::path::Path) -> Value {
    data(&fs::read_to_string(folder.join("page.html")).unwrap())["measured"].clone()
}
