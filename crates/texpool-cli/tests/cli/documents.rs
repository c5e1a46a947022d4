//! The JSON documents: each command's real output fits its published schema, and errors are documents, too.

use std::{collections::BTreeSet, fs, process::Command};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    command::{fetched, stderr, texpool},
    help::subcommands,
};

const SCHEMAS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema");
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite");
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/records/blazeface.csv");

fn schema(name: &str) -> Validator {
    let text = fs::read_to_string(format!("{SCHEMAS}/{name}.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    jsonschema::validator_for(&schema).unwrap()
}

/// Runs the command with `--json`, expects this exit code, and checks the document against the schema.
fn fits(name: &str, args: &[&str], code: i32) -> Value {
    let output = texpool(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("{\n  \"schema\": 1,\n"), "{args:?}: the version is not the first field: {text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    fits_schema(name, &document);
    let mut next = document.clone();
    next["schema"] = json!(2);
    assert!(!schema(name).is_valid(&next), "{name} takes documents of another version");
    document
}

/// Checks a document against the schema.
pub(crate) fn fits_schema(name: &str, document: &Value) {
    let schema = schema(name);
    let faults: Vec<String> = schema.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

#[test]
fn every_command_has_a_schema_that_refuses_other_documents() {
    let names: BTreeSet<String> =
        fs::read_dir(SCHEMAS).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let expected: BTreeSet<String> =
        subcommands().iter().map(String::as_str).chain(["error"]).map(|name| format!("{name}.json")).collect();
    assert_eq!(names, expected);
    for name in names {
        let schema = schema(name.strip_suffix(".json").unwrap());
        for other in [json!({}), json!([]), json!({ "schema": 1 }), json!({ "schema": 1, "error": "text" })] {
            assert!(!schema.is_valid(&other), "{name} takes {other}");
        }
    }
}

#[test]
fn documents_of_plans_fit_their_schemas() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("arena.csv");
    fs::write(&csv, "id,lower,upper,size,alignment\na,0,2,8,16\nb,1,3,8,16\n").unwrap();
    let csv = csv.to_str().unwrap();
    for args in [
        &["plan", TINY][..],
        &["plan", TINY, "--objective", "smallest"],
        &["plan", TINY, "--strategy", "all"],
        &["plan", TINY, "--front"],
        &["plan", TINY, "--profile"],
        &["plan", TINY, "--strategies", "naive,best"],
        &["plan", "--records", RECORDS, "--profile"],
        &["plan", "--records", RECORDS, "--deadline", "1"],
        &["plan", "--records", RECORDS, "--strategy", "greedy_by_size"],
        &["plan", "--records", RECORDS, "--capacity", "1GiB"],
        &["plan", "--records", RECORDS, "--memory", "sram=64KiB", "--memory", "dram", "--deadline", "1"],
        &["plan", "--records", csv],
        &["plan", "--published"],
        &["plan", TINY, "--arena"],
    ] {
        fits("plan", args, 0);
    }
    fits("plan", &["plan", "--records", csv, "--capacity", "1"], 3);
    fits("fits", &["fits", "64MiB", TINY], 0);
    fits("fits", &["fits", "1", TINY], 3);
    let page = dir.path().join("page.html");
    fits("report", &["report", TINY, "-o", page.to_str().unwrap()], 0);
    fits("explain", &["explain", TINY, "--host", "tflite"], 0);
    fits("csdf", &["csdf", TINY], 0);
    fits("csdf", &["csdf", TINY, "--order"], 0);
    fits("csdf", &["csdf", "--order"], 0);
    fits("csdf", &["csdf", "--published", "--deadline", "0"], 0);
    fits("table", &["table", "--plan-only", TINY], 0);
    let failed = fits("table", &["table", "--plan-only", TINY, "no-such-model"], 1);
    assert!(failed["failed"][0][1].as_str().unwrap().contains("no-such-model"), "{failed}");
}

#[test]
fn documents_of_runs_fit_their_schemas() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (plan, results, blazeface) = (at("tiny.plan"), at("results"), fetched("blazeface"));
    fits("compile", &["compile", TINY, "--objective", "smallest", "--no-cache", "-o", &plan], 0);
    fits("run", &["run", TINY, "--random", "--plan", &plan, "--output", &results], 0);
    fits("run", &["run", &blazeface, "--input", &fetched("astronaut"), "--precision", "f16"], 0);
    fits("run", &["run", TINY, "--random", "--objective", "smallest", "--measure"], 0);
    let before = fits("bench", &["bench", TINY, "--seconds", "0.1"], 0);
    fs::write(at("before.json"), before.to_string()).unwrap();
    fits(
        "bench",
        &["bench", TINY, "--seconds", "0.1", "--against", &at("before.json"), "--trace", &at("trace.json")],
        0,
    );
    fits("bench", &["bench", TINY, "--plans", "fastest,smallest", "--seconds", "0.1"], 0);
    fits("bench", &["bench", TINY, "--storage", "buffer", "--seconds", "0.1"], 0);
    fits("compare", &["compare", TINY, "--random", "--against", "cpu"], 0);
    fits("compare", &["compare", TINY, "--random", "--against", "cpu", "--tolerance", "0", "--precision", "f16"], 1);
    fits("devices", &["devices"], 0);
}

#[test]
fn documents_of_the_setup_fit_their_schemas() {
    let dir = tempfile::tempdir().unwrap();
    fetched("blazeface");
    fits("models", &["models", "list"], 0);
    fits("models", &["models", "fetch", "blazeface"], 0);
    fits("cache", &["cache", "list"], 0);
    fits("completions", &["completions", "fish"], 0);
    fits("man", &["man", dir.path().to_str().unwrap()], 0);
    // Removes something, in a folder of its own.
    fs::create_dir(dir.path().join("plans")).unwrap();
    fs::write(dir.path().join("plans/net-0123456789abcdef.plan"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
    let output = command.args(["cache", "clear", "--all", "--json"]).env("TEXPOOL_CACHE", dir.path()).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["removed"].as_array().unwrap().len(), 1);
    assert!(schema("cache").is_valid(&document), "{document}");
}

#[test]
fn a_profile_of_a_device_fits_its_schema() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
    let output = command.args(["devices", "--measure", "--json"]).env("TEXPOOL_CACHE", dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    fits_schema("devices", &document);
}

/// Errors keep their exit codes and their text on standard error, and are the document on standard output.
#[test]
fn errors_are_documents_on_standard_output() {
    for (args, code, kind, words, hint) in [
        (&["plna"][..], 2, "usage", "unrecognized subcommand 'plna'", Some("'plan'")),
        (&["run"], 2, "usage", "required arguments were not provided", None),
        (&["plan", "x", "--strategy", "luck"], 2, "usage", "no strategy is called `luck`", None),
        (&["csdf"], 2, "usage", "<MODEL>", None),
        (&["plan"], 2, "usage", "<MODEL>", None),
        (&["plan", "no-such-model"], 1, "not_found", "no-such-model", None),
        (&["models", "fetch", "chelsae"], 1, "not_found", "did you mean `chelsea`?", None),
        (&["plan", RECORDS], 1, "model", "neither a TensorFlow Lite nor an ONNX model", None),
        (&["plan", TINY, "--budget", "1"], 1, "plan", "no plan keeps", None),
        (&["run", TINY, "--input", "no/such.npy"], 1, "not_found", "no/such.npy", None),
        (&["run", TINY, "--random", "--plan", TINY], 1, "saved_plan", "no saved plan", None),
        (&["run", TINY, "--random", "--timeout", "0"], 1, "device", "", Some("--timeout SECONDS")),
        (
            &["compare", TINY, "--random", "--against", "no/such.npy", "--against", "y.npy"],
            2,
            "not_found",
            "no/such.npy",
            None,
        ),
    ] {
        let document = fits("error", args, code);
        let error = &document["error"];
        assert_eq!(error["kind"], kind, "{args:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{args:?}: {error}");
        if let Some(hint) = hint {
            assert!(error["hint"].as_str().is_some_and(|text| text.contains(hint)), "{args:?}: {error}");
        }
        let plain = texpool(args);
        assert_eq!(plain.status.code(), Some(code), "{args:?}");
        assert!(plain.stdout.is_empty(), "{args:?}: an error without --json has no document");
        let with_json = texpool(&[args, &["--json"]].concat());
        assert!(stderr(&with_json).starts_with("error: "), "{args:?}: {}", stderr(&with_json));
    }
    // After `--`, it is a name and no flag.
    let output = texpool(&["plan", "--nonsense", "--", "--json"]);
    assert!(output.status.code() == Some(2) && output.stdout.is_empty());
}

/// Standard output has one document, whatever comes after it.
#[test]
fn an_answer_that_is_printed_is_the_only_document() {
    let output =
        texpool(&["compare", TINY, "--random", "--against", "cpu", "--tolerance", "0", "--precision", "f16", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["agrees"], false);
    assert!(document.get("error").is_none() && stderr(&output).contains("is the first that diverges"));
}
