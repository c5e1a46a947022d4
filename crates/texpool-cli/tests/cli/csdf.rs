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
    assert_eq!(code(&["no such model"]), Some(1));
    assert_eq!(code(&["tests/data/tiny.tflite", "-o", "no/such/folder/x.xml"]), Some(1));
}
