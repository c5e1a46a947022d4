//! `texpool bench` beside an earlier measurement, as a timeline, and below the ceilings of the device.

use std::{fs, process::Command};

use serde_json::Value;

use crate::{
    command::{failed, json, stderr, texpool},
    documents::fits_schema,
};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite");

/// Multiplies every number of the document's times.
fn scale(value: &mut Value, factor: f64) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field.as_f64() {
                    Some(ms) if ["median", "p10", "p90"].contains(&&**key) || key.starts_with("gpu_ms") => {
                        *field = (ms * factor).into();
                    }
                    _ => scale(field, factor),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scale(item, factor)),
        _ => {}
    }
}

#[test]
fn a_bench_says_what_changed_since_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |path: &str, document: &Value| fs::write(path, document.to_string()).unwrap();
    let bench = ["bench", TINY, "--seconds", "0.2", "--json"];
    let before = json(&bench);
    let steps = before["steps"].as_array().unwrap().len();
    let timed = before["gpu_ms"].is_object();
    let against = |path: &str| json(&[&bench[..], &["--against", path]].concat())["against"].clone();
    for (factor, verdict) in [(1e3, "faster"), (1e-3, "slower")] {
        let mut other = before.clone();
        scale(&mut other, factor);
        let path = file("before.json");
        write(&path, &other);
        let changes = against(&path);
        for total in ["wall_ms", "cpu_ms"] {
            assert_eq!(changes[total]["verdict"], verdict, "{total}: {changes}");
        }
        assert_eq!(changes["wall_ms"]["before"], other["wall_ms"]["median"]);
        let changed = changes["steps"].as_array().unwrap();
        assert_eq!(changed.len(), if timed { steps } else { 0 });
        assert!(changed.iter().all(|step| step["verdict"] == verdict), "{changes}");
        assert!(changes["notes"].as_array().unwrap().is_empty() && changes["only_now"].as_array().unwrap().is_empty());
        assert_eq!(changes["runs"], before["runs"]);
    }

    // Ranges that contain every time overlap with any.
    let mut wide = before.clone();
    scale(&mut wide, 1e3);
    for total in ["wall_ms", "cpu_ms"] {
        wide[total]["p10"] = 0.0.into();
    }
    // Another plan, another device, and a step of another name are said.
    wide["dispatches"] = 1000.into();
    wide["device"]["driver"] = "an older driver".into();
    wide["steps"][0]["tensor"] = "renamed".into();
    let path = file("wide.json");
    write(&path, &wide);
    let changes = against(&path);
    assert_eq!(changes["wall_ms"]["verdict"], "within_noise", "{changes}");
    assert_eq!(changes["steps"].as_array().unwrap().len(), if timed { steps - 1 } else { 0 });
    assert_eq!(
        (&changes["only_before"][0]["tensor"], changes["only_now"][0]["tensor"].is_string()),
        (&"renamed".into(), true)
    );
    let notes = changes["notes"].to_string();
    for words in ["another device", "an older driver", "another plan", "dispatches, before 1000"] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    let output = texpool(&["bench", TINY, "--seconds", "0.1", "--against", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for words in ["do not overlap", "an older driver", "another plan", "noise", "; 1 only then; 1 only now\n"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |contents: &str, words: &[&str]| {
        let path = folder.path().join("file.json");
        fs::write(&path, contents).unwrap();
        // It would take an hour.
        let output = texpool(&["bench", TINY, "--seconds", "3600", "--against", path.to_str().unwrap()]);
        failed(&output, &[words, &["file.json"]].concat());
    };
    let mut other = json(&["bench", TINY, "--seconds", "0.1", "--json"]);
    other["model"] = "another model".into();
    refused(&other.to_string(), &["is about `another model`"]);
    other.as_object_mut().unwrap().remove("steps");
    refused(&other.to_string(), &["no answer of `texpool bench --json`", "missing field `steps`"]);
    refused("", &["no answer of `texpool bench --json`"]);
    refused("[1, 2]", &["no answer of `texpool bench --json`"]);
    let both = ["bench", TINY, "--against", "x", "--plans", "fastest,smallest"];
    assert_eq!(texpool(&both).status.code(), Some(2));
    failed(&texpool(&["bench", TINY, "--against", crate::ABSENT]), &[crate::ABSENT]);
}

/// An event's beginning and end in microseconds.
fn times(event: &Value) -> (f64, f64) {
    let [ts, dur] = ["ts", "dur"].map(|key| event[key].as_f64().unwrap());
    assert!(ts.is_finite() && dur >= 0.0, "{event}");
    (ts, ts + dur)
}

#[test]
fn a_trace_has_the_phases_of_the_call_and_each_dispatch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let path = path.to_str().unwrap();
    let bench = json(&["bench", TINY, "--seconds", "0.1", "--no-cache", "--json", "--trace", path]);
    let trace: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let (named, events): (Vec<&Value>, Vec<&Value>) =
        trace["traceEvents"].as_array().unwrap().iter().partition(|event| event["ph"] == "M");
    assert_eq!(bench["trace"], serde_json::json!({ "file": path, "events": events.len() }));
    assert_eq!(named[1]["args"]["name"], bench["device"]["name"]);
    assert!(events.iter().all(|event| event["ph"] == "X"));
    let of = |name: &str| -> Vec<&Value> { events.iter().copied().filter(|event| event["name"] == name).collect() };
    let one = |name: &str| match of(name)[..] {
        [event] => times(event),
        ref several => panic!("{name}: {several:?}"),
    };
    // One after another.
    let phases = ["import", "open the device", "plan", "load", "first run", "second run"].map(one);
    assert!(phases.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{phases:?}");
    let load = phases[3];
    for name in ["pipeline", "weights"] {
        let inside = of(name);
        assert!(!inside.is_empty(), "{name}: {events:?}");
        assert!(inside.iter().map(|event| times(event)).all(|(begin, end)| load.0 <= begin && end <= load.1), "{name}");
    }
    assert_eq!(of("pipeline").len() as u64, bench["pipelines"].as_u64().unwrap());
    assert_eq!(of("run").len() as u64, bench["runs"].as_u64().unwrap());
    if bench["gpu_ms"].is_object() {
        let dispatches: Vec<&&Value> = events.iter().filter(|event| event["pid"] == 2).collect();
        assert_eq!(dispatches.len() as u64, bench["dispatches"].as_u64().unwrap());
        let operators: Vec<&Value> = bench["steps"].as_array().unwrap().iter().map(|step| &step["operator"]).collect();
        assert!(dispatches.iter().all(|event| operators.contains(&&event["name"])), "{dispatches:?}");
        // They end with the last run, in their order.
        let ends: Vec<(f64, f64)> = dispatches.iter().map(|event| times(event)).collect();
        assert!(ends.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{ends:?}");
        let profiled = of("profiled run");
        let (begin, end) = times(profiled[profiled.len() - 1]);
        assert!(ends[0].0 >= begin && (ends[ends.len() - 1].1 - end).abs() < 1e3, "{ends:?}, {begin} to {end}");
    }
    let text = texpool(&["bench", TINY, "--seconds", "0.1", "--trace", path]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("ui.perfetto.dev opens it"));
    failed(&texpool(&["bench", TINY, "--trace", "/no/such/folder/trace.json"]), &["/no/such/folder"]);
    let model = folder.path().join("model.tflite");
    fs::copy(TINY, &model).unwrap();
    let model = model.to_str().unwrap();
    failed(&texpool(&["bench", model, "--trace", model]), &["the model"]);
    assert_eq!(fs::read(model).unwrap(), fs::read(TINY).unwrap());
}

#[test]
fn a_bench_has_the_share_of_the_ceilings_that_were_measured() {
    let cache = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(TEXPOOL).args(args).env("TEXPOOL_CACHE", cache.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let document = |args: &[&str]| serde_json::from_str::<Value>(&run(&[args, &["--json"]].concat())).unwrap();
    let bench = ["bench", TINY, "--seconds", "0.1"];
    let before = document(&bench);
    assert!(before["ceiling"].is_null() && before["steps"][0]["roofline"].is_null(), "{before}");
    assert!(run(&bench).contains("; `texpool ceiling` adds a roofline\n"));

    let ceiling = document(&["ceiling"]);
    fits_schema("ceiling", &ceiling);
    let [flops, dispatch, run_us] = ["gflop_per_s", "dispatch_us", "run_us"]
        .map(|key| ceiling[key].as_f64().unwrap_or_else(|| panic!("{key}: {ceiling}")));
    // Not compared with each other: what else the machine does decides which of two times is longer.
    assert!(flops > 0.1 && dispatch > 0.0 && run_us > 0.0, "{ceiling}");
    for speeds in ["reads", "writes"].map(|key| ceiling[key].as_array().unwrap()) {
        assert!(speeds.len() > 2 && speeds.iter().all(|one| one["gb_per_s"].as_f64().unwrap() > 0.01), "{ceiling}");
        assert!(speeds.windows(2).all(|pair| pair[0]["bytes"].as_u64() < pair[1]["bytes"].as_u64()), "{ceiling}");
    }

    let after = document(&bench);
    fits_schema("bench", &after);
    for key in ["gflop_per_s", "reads", "writes", "dispatch_us", "run_us"] {
        assert_eq!(after["ceiling"][key], ceiling[key], "{key}");
    }
    if after["gpu_ms"].is_object() {
        let steps = after["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["roofline"].as_f64().is_some_and(|share| share > 0.0)), "{after}");
        assert!(run(&bench).contains(" roofline  operator"));
    }
    // They belong to one format, and are listed and removed with the profiles.
    assert!(document(&[&bench[..], &["--precision", "f16"]].concat())["ceiling"].is_null());
    assert!(run(&["cache", "list"]).contains("device_ceiling-"));
    run(&["cache", "clear", "--profiles"]);
    assert!(document(&bench)["ceiling"].is_null());
}

#[test]
fn a_plan_in_buffers_is_compared_with_that_in_textures() {
    let bench = ["bench", TINY, "--storage", "buffer", "--seconds", "0.1"];
    let document = json(&[&bench[..], &["--json"]].concat());
    let storages = document["storages"].as_array().unwrap();
    assert_eq!(storages.iter().map(|one| one["storage"].as_str().unwrap()).collect::<Vec<_>>(), ["texture", "buffer"]);
    assert_eq!(storages[0]["cpu_ratio"], 1.0);
    assert!(storages[1]["wall_ms"]["median"].as_f64().unwrap() > 0.0);
    assert!(document["compared_texels"].as_u64().unwrap() > 0);
    assert_eq!(document["different_texels"], 0);
    let text = String::from_utf8(texpool(&bench).stdout).unwrap();
    assert!(text.contains("the same bits in all"), "{text}");
    assert_eq!(texpool(&["bench", TINY, "--storage", "buffer", "--plans", "fastest"]).status.code(), Some(2));
}
