//! `texpool cache`: what it lists and removes, and that files of others stay.

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, Output},
};
use tempfile::TempDir;

use crate::command::{fetched, stderr};

const PLAN: &str = "plans/net-0123456789abcdef.plan";
const WEIGHTS: &str = "weights/net-fedcba9876543210.weights";
const PROFILE: &str = "device_profile-llvmpipe-rgba32float.json";

/// Files that lie in the cache folder and are not texpool's.
const FOREIGN: [&str; 8] = [
    "notes.txt",
    "plans/mine.plan",
    "plans/net-0123456789ABCDEF.plan",
    "plans/net-0123456789abcdef.weights",
    "weights/net-0123456789abcdef.plan",
    "weights/sub/net-0123456789abcdef.weights",
    "profile.json",
    "pascal_voc_labels_21.txt.replaced-1",
];

struct Cache(TempDir);

impl Cache {
    fn new() -> Self {
        let cache = Self(tempfile::tempdir().unwrap());
        for name in [PLAN, WEIGHTS, PROFILE].iter().chain(&FOREIGN) {
            let path = cache.at(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        fs::copy(fetched("pascal_voc_labels"), cache.at("pascal_voc_labels_21.txt")).unwrap();
        cache
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
        command.arg("cache").args(args).env("TEXPOOL_CACHE", self.0.path()).env_remove("TEXPOOL_MODELS");
        command.output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn check_foreign(&self) {
        for name in FOREIGN {
            assert_eq!(fs::read_to_string(self.at(name)).unwrap(), name);
        }
    }
}

/// The names of the files, without their folders.
fn names(files: &Value) -> Vec<String> {
    let name = |file: &Value| file["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    files.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn files_are_listed_with_sizes_and_totals() {
    let cache = Cache::new();
    let listed = cache.json(&["list"]);
    assert_eq!(
        names(&listed["files"]),
        ["pascal_voc_labels_21.txt", "net-0123456789abcdef.plan", "net-fedcba9876543210.weights", PROFILE]
    );
    let bytes = |name: &str| fs::metadata(cache.at(name)).unwrap().len();
    assert_eq!(listed["totals"]["plan"]["bytes"], bytes(PLAN));
    assert_eq!(listed["totals"]["weights"]["files"], 1);
    let all: u64 = [PLAN, WEIGHTS, PROFILE, "pascal_voc_labels_21.txt"].iter().map(|name| bytes(name)).sum();
    assert_eq!(listed["total_bytes"], all);
    let text = String::from_utf8(cache.run(&["list"]).stdout).unwrap();
    assert!(text.contains("pascal_voc_labels\n") && text.contains("bytes in 4 files"), "{text}");
    let empty = Command::new(env!("CARGO_BIN_EXE_texpool"))
        .args(["cache", "list"])
        .env("TEXPOOL_CACHE", cache.at("nowhere"))
        .output()
        .unwrap();
    assert!(empty.status.success() && String::from_utf8_lossy(&empty.stdout).contains("bytes in 0 files"));
    assert!(!cache.at("nowhere").exists(), "a list creates no folder");
}

#[test]
fn only_the_kinds_that_are_named_are_removed() {
    let cache = Cache::new();
    let removed = cache.json(&["clear", "--plans", "--weights"]);
    assert_eq!(names(&removed["removed"]), ["net-0123456789abcdef.plan", "net-fedcba9876543210.weights"]);
    assert_eq!(removed["removed_bytes"], (PLAN.len() + WEIGHTS.len()) as u64);
    assert!(!cache.at(PLAN).exists() && !cache.at(WEIGHTS).exists());
    assert!(cache.at(PROFILE).exists() && cache.at("pascal_voc_labels_21.txt").exists());
    let rest = cache.json(&["clear", "--all"]);
    assert_eq!(names(&rest["removed"]), ["pascal_voc_labels_21.txt", PROFILE]);
    cache.check_foreign();
    for usage in [&["clear"][..], &["clear", "--all", "--plans"], &[]] {
        assert_eq!(cache.run(usage).status.code(), Some(2), "{usage:?}");
    }
}

/// Guards the user's own files: those of a model's name and size but other contents, links, and folders.
#[test]
fn nothing_of_others_is_removed() {
    let cache = Cache::new();
    let labels = cache.at("pascal_voc_labels_21.txt");
    let size = fs::metadata(&labels).unwrap().len() as usize;
    fs::write(&labels, vec![b'x'; size]).unwrap();
    fs::remove_file(cache.at(PLAN)).unwrap();
    fs::create_dir(cache.at(PLAN)).unwrap();
    let target = cache.at("notes.txt");
    symlink(&target, cache.at("weights/link-0123456789abcdef.weights")).unwrap();
    let cleared = cache.json(&["clear", "--all"]);
    assert_eq!(names(&cleared["removed"]), ["net-fedcba9876543210.weights", PROFILE]);
    assert_eq!(names(&cleared["left"]), ["pascal_voc_labels_21.txt"]);
    assert!(labels.exists() && cache.at(PLAN).is_dir());
    assert!(fs::symlink_metadata(cache.at("weights/link-0123456789abcdef.weights")).is_ok());
    cache.check_foreign();
    let text = String::from_utf8(cache.run(&["clear", "--models"]).stdout).unwrap();
    assert!(text.starts_with("removed 0 files") && text.contains("it is not what texpool fetches"), "{text}");
}
