//! Long searches: at a deadline the command prints the best result so far and says so; Ctrl-C ends the search, but
//! the result is still printed.

#![cfg(unix)]

use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Seek as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::onnx_model::{Model, bytes, number};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");

/// A network of many windowed layers in a row.
fn long(folder: &Path) -> String {
    let mut model = Model::new();
    model.input("x0", &[1, 4, 128, 128]);
    model.floats("w", &[4, 4, 3, 3], &[0.01; 144]);
    let pads = bytes(5, &[bytes(1, b"pads"), [1; 4].map(|pad| number(8, pad)).concat()].concat());
    for layer in 0..400 {
        let (from, to) = (format!("x{layer}"), format!("x{}", layer + 1));
        model.raw_node("Conv", &[&from, "w"], &[&to], std::slice::from_ref(&pads));
    }
    model.output("x400");
    let path = folder.join("long.onnx");
    fs::write(&path, model.bytes()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(TEXPOOL).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Guards `--deadline` of `plan`: the answer is complete and marked as stopped, and the exit code is 0.
#[test]
fn a_deadline_answers_with_the_best_so_far_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let model = long(folder.path());
    let begun = Instant::now();
    let (code, out, err) = run(&["plan", &model, "--objective", "smallest", "--deadline", "0.5", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["stopped"], "deadline");
    assert!(report["plan"]["bytes"].as_u64().unwrap() > 0);
    let (code, out, err) = run(&["plan", &model, "--objective", "smallest", "--deadline", "0", "--details"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("search stopped: the deadline passed; a smaller pool may exist"), "{out}");
    assert!(out.contains("--deadline SECONDS gives the search more time"), "{out}");
    let (_, out, _) = run(&["plan", &model, "--objective", "smallest", "--deadline", "0", "--no-cache"]);
    assert!(out.contains("search stopped: the deadline passed (objective smallest); smaller or faster"), "{out}");
    let (code, out, _) = run(&["plan", &model, "--front", "--deadline", "0", "--json"]);
    let front: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &front["stopped"]), (Some(0), &Value::from("deadline")));
}

/// Guards commands that have no partial result: they fail at the deadline, and the message says how to allow more
/// time.
#[test]
fn commands_without_partial_results_fail_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let model = long(folder.path());
    for args in [&["plan", &model, "--budget", "600KiB", "--deadline", "0"][..], &["csdf", &model, "--deadline", "0"]] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        assert!(err.contains("the deadline passed") && err.contains("--deadline"), "{args:?}: {err}");
    }
    for wrong in ["-1", "soon", "nan"] {
        assert_eq!(run(&["plan", &model, "--deadline", wrong]).0, Some(2), "{wrong}");
        assert_eq!(run(&["csdf", &model, "--deadline", wrong]).0, Some(2), "{wrong}");
    }
}

/// Usage records whose smallest pool takes minutes to prove, as minimalloc's CSV.
fn endless(folder: &Path) -> String {
    let mut state = 1_u64;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut csv = "id,lower,upper,size\n".to_owned();
    for id in 0..300 {
        let first = below(100);
        writeln!(csv, "{id},{first},{},{}", first + 1 + below(30), 1 + below(10_007)).unwrap();
    }
    let path = folder.join("endless.csv");
    fs::write(&path, csv).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Guards Ctrl-C: the first one ends the search, the result so far is printed and written completely, and the exit
/// code tells that it was interrupted.
#[test]
fn an_interrupt_prints_the_best_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let records = endless(folder.path());
    let [picture, plan] = ["plan.svg", "plan.csv"].map(|name| folder.path().join(name));
    let (svg, csv) = (picture.to_str().unwrap(), plan.to_str().unwrap());
    let args = ["plan", "--records", &records, "--deadline", "none", "--nodes", "1000000000", "--json"];
    let args = [&args[..], &["--picture", svg, "--write", csv]].concat();
    // Until the search has begun, an interrupt ends the command itself: then it comes too early.
    let (message, out) = [2, 6, 18]
        .into_iter()
        .find_map(|seconds| {
            let (code, message, out) = interrupted(&args, Duration::from_secs(seconds));
            assert_eq!(code, Some(130), "{message}");
            message.contains("Ctrl-C again ends").then_some((message, out))
        })
        .unwrap();
    assert!(!message.contains("error") && message.contains("best so far"), "{message}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["stopped"].as_str(), report["optimum"]["proven"].as_bool()), (Some("cancelled"), Some(false)));
    let svg = fs::read_to_string(picture).unwrap();
    assert!(svg.trim_end().ends_with("</svg>"), "a picture is half-written");
    assert_eq!(fs::read_to_string(plan).unwrap().lines().count(), 301, "a plan is half-written");
}

/// Runs the command, interrupts it after `after`, and returns its exit code, standard error and standard output. A
/// shell reports 130 for a process that the signal itself ended.
fn interrupted(args: &[&str], after: Duration) -> (Option<i32>, String, String) {
    // A file, since nobody reads a pipe yet, and a full one would block the command before it is interrupted.
    let mut printed = tempfile::tempfile().unwrap();
    let child =
        Command::new(TEXPOOL).args(args).stdout(printed.try_clone().unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let mut out = String::new();
    printed.rewind().unwrap();
    printed.read_to_string(&mut out).unwrap();
    (output.status.code().or(Some(130)), String::from_utf8(output.stderr).unwrap(), out)
}
