//! `texpool csdf`: the report, the XML file, the published tables, usage errors.

#![cfg(test)]

use std::{fs, process::Command};

use serde_json::Value;

const FACES: &str = "tests/data/models/face_detection_front_2019.tflite";

fn texpool(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_texpool")).args(args).current_dir(crate::ROOT).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_model_is_reported_and_written_for_sdf3() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faces.xml");
    let (code, out, err) = texpool(&["csdf", FACES, "-o", file.to_str().unwrap(), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let channels = report["channels"].as_array().unwrap();
    let sum: u64 = channels.iter().map(|channel| channel["bytes"].as_u64().unwrap()).sum();
    assert_eq!(report["total_bytes"].as_u64(), Some(sum));
    let xml = fs::read_to_string(&file).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let count = |name| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!(count("channel"), channels.len());
    assert_eq!(count("actor"), report["actors"].as_array().unwrap().len());
    let size = |node: roxmltree::Node| node.attribute("sz").unwrap().parse::<u64>().unwrap();
    let tokens: u64 = document.descendants().filter(|node| node.has_tag_name("bufferSize")).map(size).sum();
    assert_eq!(tokens * 4, sum);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no passing file stays");
}

/// The file has an execution time for each phase, in nanoseconds; all firings together take the printed serial time.
#[test]
fn times_of_phases_are_written_and_their_throughput_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faces.xml");
    let (code, out, err) = texpool(&["csdf", FACES, "-o", file.to_str().unwrap(), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let xml = fs::read_to_string(&file).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let times = document.descendants().filter(|node| node.has_tag_name("executionTime"));
    let run = |run: &str| {
        let (count, time) = run.split_once('*').unwrap_or(("1", run));
        count.parse::<u64>().unwrap() * time.parse::<u64>().unwrap()
    };
    let sums: Vec<u64> = times.map(|node| node.attribute("time").unwrap().split(',').map(run).sum()).collect();
    let actors = report["actors"].as_array().unwrap();
    let serial: u64 = sums.iter().zip(actors).map(|(sum, actor)| sum * actor["cycles"].as_u64().unwrap()).sum();
    let ms = |key: &str| report["throughput"][key].as_f64().unwrap();
    assert!((ms("serial_ms") - serial as f64 / 1e6).abs() < 1e-9, "{serial} {}", report["throughput"]);
    assert!(ms("unlimited_ms") <= ms("self_timed_ms") && ms("self_timed_ms") < ms("serial_ms"));
    // The largest load of an actor is a lower bound, and the only one with unlimited buffers.
    let loads = sums.iter().zip(actors).map(|(sum, actor)| sum * actor["cycles"].as_u64().unwrap());
    assert!((ms("unlimited_ms") - loads.max().unwrap() as f64 / 1e6).abs() < 1e-9, "{}", report["throughput"]);
}

/// Table II, column by column: the order of phases, and the buffers between them.
#[test]
fn the_orders_of_the_published_examples_are_found_to_the_letter() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("orders.svg");
    let (code, out, err) = texpool(&["csdf", "--order", "--picture", picture.to_str().unwrap(), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let orders: Value = serde_json::from_str(&out).unwrap();
    let examples = orders["examples"].as_array().unwrap();
    let sizes = [[1024, 1024, 48, 2], [768, 1024, 48, 2], [544, 1024, 48, 2], [544, 384, 48, 2]];
    assert_eq!(examples.len(), sizes.len());
    for (example, sizes) in examples.iter().zip(sizes) {
        let order = &example["order"];
        assert_eq!(order["notation"], example["published_order"]);
        let buffers = order["buffers"].as_array().unwrap();
        let named = buffers.iter().zip(["b12", "b23", "b34", "b45"]).all(|(buffer, name)| buffer["name"] == name);
        assert!(
            named && buffers.iter().map(|buffer| buffer["largest_bytes"].as_u64().unwrap()).eq(sizes),
            "{buffers:?}"
        );
        assert_eq!(order["steps"].as_array().unwrap().last().unwrap()["bytes"], 0);
    }
    let drawn = fs::read_to_string(picture).unwrap();
    assert_eq!(drawn.matches("bytes at most</title>").count(), 16);
    let (_, text, _) = texpool(&["csdf", "--order"]);
    assert_eq!(text.matches(", as published").count(), 4, "{text}");
    assert!(text.contains("n1(1-17), n21, [n1(18-32), n2(2-16)], n31, n41, n51"), "{text}");
}

/// In the order of a model, every phase occurs in turn and no buffer exceeds its capacity.
#[test]
fn the_order_of_a_model_keeps_its_buffers() {
    let (code, out, err) = texpool(&["csdf", FACES, "--phases", "8", "--order", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let order = &report["order"];
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap();
    let mut fired = vec![0; report["actors"].as_array().unwrap().len()];
    for step in order["steps"].as_array().unwrap() {
        let actor = &mut fired[number(step, "actor") as usize];
        *actor += 1;
        assert_eq!(number(step, "phase"), *actor);
    }
    let firings = report["actors"].as_array().unwrap().iter().map(|a| number(a, "phases") * number(a, "cycles"));
    assert!(firings.eq(fired));
    for buffer in order["buffers"].as_array().unwrap() {
        let channels =
            buffer["channels"].as_array().unwrap().iter().map(|c| &report["channels"][c.as_u64().unwrap() as usize]);
        assert!(number(buffer, "largest_bytes") <= channels.map(|channel| number(channel, "bytes")).sum(), "{buffer}");
    }
}

/// `--phases` trades executions for bytes in the direction that help says.
#[test]
fn phases_buy_bytes() {
    let total = |phases: &[&str]| {
        let (code, out, err) = texpool(&[&["csdf", FACES, "--json"], phases].concat());
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str::<Value>(&out).unwrap()["total_bytes"].as_u64().unwrap()
    };
    let (whole, some, rows) = (total(&["--phases", "1"]), total(&["--phases", "8"]), total(&[]));
    assert!(rows < some && some < whole, "{rows} {some} {whole}");
}

#[test]
fn the_text_shows_sequences_and_the_repetition_vector() {
    let (code, out, err) = texpool(&["csdf", "tests/data/tiny.tflite"]);
    assert_eq!(code, Some(0), "{err}");
    for word in ["phases", "cycles", "firings", "[1*", "between actors", "in all"] {
        assert!(out.contains(word), "{word} is missing: {out}");
    }
}

#[test]
fn the_published_tables_are_found() {
    let (code, out, err) = texpool(&["csdf", "--published", "--deadline", "none", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let tables: Value = serde_json::from_str(&out).unwrap();
    let examples = tables["examples"].as_array().unwrap();
    assert!(examples.len() == 4 && examples.iter().all(|example| example["published"] == example["found"]));
    for example in examples {
        assert_eq!(example["published_order"], example["found_order"]);
        let inferred = example["inferred_frames"].as_f64().unwrap();
        assert_eq!(example["published_frames"].as_f64(), Some(inferred.round()), "{example}");
    }
    let networks = tables["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 7);
    for row in networks {
        let pair = |key: &str| [0, 1].map(|column| row[key][column].as_u64().unwrap());
        assert!(pair("pool_bytes")[1] < pair("found_bytes")[1], "{row}");
        assert!(row["predicted_throughput"].as_f64().is_some_and(|part| part > 0.0 && part <= 1.0), "{row}");
    }
}

/// Results that need no search are printed even without time; the rest is marked.
#[test]
fn the_published_tables_have_what_was_found_in_time() {
    let (code, out, err) = texpool(&["csdf", "--published", "--deadline", "0", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let tables: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(tables["stopped"], "deadline");
    assert_eq!(tables["examples"].as_array().unwrap().len(), 4);
    let networks = tables["networks"].as_array().unwrap();
    assert_eq!(networks.len(), 7);
    for row in networks {
        assert!(row["found_bytes"][0].as_u64().unwrap() > 0 && row["pool_bytes"].is_null(), "{row}");
    }
    let (code, out, err) = texpool(&["csdf", "--published", "--deadline", "0"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out.matches("not in time").count(), 8, "{out}");
    assert!(out.contains("search stopped: the deadline passed") && out.contains("--deadline SECONDS"), "{out}");
}

#[test]
fn impossible_requests_are_usage_errors() {
    let code = |args: &[&str]| texpool(&[&["csdf"], args].concat()).0;
    assert_eq!(code(&[]), Some(2));
    assert_eq!(code(&[FACES, "--phases", "0"]), Some(2));
    assert_eq!(code(&[FACES, "--published"]), Some(2));
    assert_eq!(code(&["--published", "--order"]), Some(2));
    assert_eq!(code(&[FACES, "--picture", "x.svg"]), Some(2));
    assert_eq!(code(&["--order", "--measure"]), Some(2));
    assert_eq!(code(&["no such model"]), Some(1));
    assert_eq!(code(&["tests/data/tiny.tflite", "-o", "no/such/folder/x.xml"]), Some(1));
}
