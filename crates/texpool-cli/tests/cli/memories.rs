//! `texpool plan --records --memory`: records in several memories.

#![cfg(test)]

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

const RECORDS: &str = "id,lower,upper,size\na,0,2,8\nb,1,3,6\nc,2,4,4\n";
const WITH_COSTS: &str = "id,lower,upper,size,sram,dram\na,0,2,8,8,80\nb,1,3,6,6,600\nc,2,4,4,,40\n";

fn texpool(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let call = Command::new(env!("CARGO_BIN_EXE_texpool")).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (call.status.code(), text(&call.stdout), text(&call.stderr))
}

/// Without costs, as many bytes as possible are in the earlier memory; the plan is printed, drawn and written.
#[test]
fn records_spill_to_the_next_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("r.csv"), RECORDS).unwrap();
    let plan = ["plan", "--records", "r.csv", "--memory", "sram=12", "--memory", "dram"];
    let (code, out, err) = texpool(folder.path(), &[&plan[..], &["--write", "p.csv", "--picture", "p.svg"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["sram", "8", "12", "2"], "{out}");
    assert_eq!(lines[2], ["dram", "6", "any", "1"], "{out}");
    assert!(out.contains("cost 6; no plan costs less, "), "{out}");
    let written = fs::read_to_string(path("p.csv")).unwrap();
    assert!(written.starts_with("id,lower,upper,size,memory,offset\n"), "{written}");
    assert!(written.contains("b,1,3,6,dram,0\n"), "{written}");
    assert!(fs::read_to_string(path("p.svg")).unwrap().starts_with("<svg"));
    // A written plan is planned again.
    let again = [&["plan", "--records", "p.csv", "--json"][..], &plan[3..]].concat();
    let (code, out, err) = texpool(folder.path(), &again);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&document["cost"], &document["bound"]), (&json!(6), &json!(6)));
    let memories = &document["memories"];
    assert_eq!(memories[0], json!({"name": "sram", "capacity": 12, "total": 8, "buffers": 2}));
    assert_eq!(memories[1], json!({"name": "dram", "total": 6, "buffers": 1}));
}

/// A column named like a memory has the costs, and an empty field keeps a record out of that memory.
#[test]
fn costs_decide_which_record_spills() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("r.csv"), WITH_COSTS).unwrap();
    let plan = ["plan", "--records", "r.csv", "--json", "--memory", "dram", "--memory", "sram=12"];
    let (code, out, err) = texpool(folder.path(), &plan);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let memories: Vec<_> = document["places"].as_array().unwrap().iter().map(|place| &place["memory"]).collect();
    assert_eq!((memories, &document["cost"]), (vec![&json!(0), &json!(1), &json!(0)], &json!(80 + 6 + 40)));
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("r.csv"), RECORDS).unwrap();
    fs::write(folder.path().join("costs.csv"), WITH_COSTS).unwrap();
    for (args, code, part) in [
        (&["plan", "--records", "r.csv", "--memory", "sram=4"][..], 1, "r.csv: buffer 0 (a)"),
        (&["plan", "--records", "r.csv", "--memory", "sram=12"], 1, "r.csv: "),
        (&["plan", "--records", "costs.csv", "--memory", "flash"], 1, "costs.csv: line 1, column 21: column `sram`"),
        (&["plan", "--records", "r.csv", "--memory", "a", "--memory", "a=12"], 2, "--memory names `a` twice"),
        (&["plan", "--records", "r.csv", "--memory", "=12"], 2, "NAME=SIZE"),
        (&["plan", "--records", "r.csv", "--memory", "a", "--capacity", "12"], 2, "--capacity"),
        (&["plan", "model.tflite", "--memory", "a"], 2, "--records"),
    ] {
        let (status, out, err) = texpool(folder.path(), args);
        assert!(status == Some(code) && err.contains(part), "{args:?}: {out}{err}");
    }
}
