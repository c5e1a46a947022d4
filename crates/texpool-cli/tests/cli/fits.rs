//! `texpool fits`: models within a size, with exit codes for each answer.

#![cfg(test)]

use std::{path::Path, process::Command};

use serde_json::Value;

const TINY: &str = "tests/data/tiny.tflite";
const FACE: &str = "tests/data/models/face_detection_front_2019.tflite";

/// Runs the command with an empty cache folder.
fn fits(cache: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
    command.arg("fits").args(args).current_dir(crate::ROOT);
    command.env("TEXPOOL_CACHE", cache).env_remove("TEXPOOL_MODELS").env("VK_DRIVER_FILES", crate::ABSENT);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn models_that_fit_are_listed_with_their_flags() {
    let cache = tempfile::tempdir().unwrap();
    let (code, out, err) = fits(cache.path(), &["2MiB", TINY, FACE]);
    assert_eq!(code, Some(0), "{out}{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[1].contains(TINY) && lines[1].contains(" yes ") && lines[1].ends_with("1.00x"), "{out}");
    assert!(lines[2].contains(" yes ") && lines[2].ends_with("  --budget 2MiB"), "{out}");
    assert!(out.contains("2 of 2 fit within 2.0 MiB") && out.contains(&format!("run {FACE} --budget 2MiB")), "{out}");
    let (_, out, _) = fits(cache.path(), &["2MiB", TINY, FACE, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["size"], 2 << 20);
    let [tiny, face] = [&answer["models"][0], &answer["models"][1]];
    assert!(tiny["fit"] == "fits" && tiny["flags"] == "" && tiny["time_ratio"] == 1.0, "{tiny}");
    assert!(face["device_bytes"].as_u64().unwrap() <= 2 << 20 && face["time_ratio"].as_f64().unwrap() > 0.5, "{face}");
    assert!(cache.path().join("plans").read_dir().unwrap().count() == 1, "the plan within the budget is kept");
}

#[test]
fn each_answer_has_its_exit_code() {
    let cache = tempfile::tempdir().unwrap();
    let (code, out, _) = fits(cache.path(), &["1KiB", TINY, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["models"][0]["fit"]), (Some(3), &Value::from("impossible")), "{out}");
    let (code, out, _) = fits(cache.path(), &["1KiB", TINY]);
    assert!(code == Some(3) && out.contains(" no ") && out.contains("every plan takes at least 512."), "{out}");
    let (code, out, _) = fits(cache.path(), &["700KiB", FACE, "--deadline", "0"]);
    assert!(code == Some(4) && out.contains("undecided") && out.contains("--deadline SECONDS"), "{code:?}: {out}");
    // One that does not fit outweighs one that is undecided, and one that cannot be read is a failure.
    let (code, ..) = fits(cache.path(), &["1KiB", TINY, FACE, "--deadline", "0"]);
    assert_eq!(code, Some(3));
    let (code, out, err) = fits(cache.path(), &["2MiB", TINY, "Cargo.toml"]);
    assert!(code == Some(1) && out.contains("Cargo.toml: ") && err.contains("Cargo.toml"), "{out}{err}");
}

#[test]
fn questions_that_are_none_are_usage_errors() {
    let cache = tempfile::tempdir().unwrap();
    for wrong in
        [&["2MiB", TINY, "--budget", "1MiB"][..], &["2MiB", TINY, "--objective", "smallest"], &["large", TINY], &[]]
    {
        assert_eq!(fits(cache.path(), wrong).0, Some(2), "{wrong:?}");
    }
    let (code, _, err) = fits(cache.path(), &["2MiB"]);
    assert!(code == Some(2) && err.contains("`texpool models fetch NAME`"), "{err}");
}
