//! What is made of a model once and kept in the cache folder.

#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::onnx_model::{Model, bytes, number};

/// A model in a folder, and a cache folder beside it.
struct Place {
    folder: tempfile::TempDir,
    model: String,
}

impl Place {
    /// Of a network of some windows one after another.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut model = Model::new();
        model.input("x0", &[1, 4, 24, 16]);
        let pads = bytes(5, &[bytes(1, b"pads"), [1; 4].map(|pad| number(8, pad)).concat()].concat());
        for layer in 0..6 {
            let [from, to, name] = [format!("x{layer}"), format!("x{}", layer + 1), format!("w{layer}")];
            let weights: Vec<f32> = (0..144).map(|i| ((i * (layer + 3)) % 17) as f32 / 40.0 - 0.2).collect();
            model.floats(&name, &[4, 4, 3, 3], &weights);
            model.raw_node("Conv", &[&from, &name], &[&to], std::slice::from_ref(&pads));
        }
        model.output("x6");
        let path = folder.path().join("windows.onnx");
        fs::write(&path, model.bytes()).unwrap();
        Self { model: path.to_str().unwrap().to_owned(), folder }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
        command.args(["run", &self.model, "--json"]).args(args).env("TEXPOOL_CACHE", self.cache());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The answer of a run, of which nothing was to be said beside.
    fn run(&self, args: &[&str]) -> Value {
        answer(self.command(args).spawn().unwrap())
    }

    /// The files of a folder of the cache, also those under temporary names.
    fn kept(&self, kind: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.cache().join(kind)) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

fn answer(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    // That random numbers are the input.
    assert!(said.lines().all(|line| line.starts_with("note: no --input")), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Puts every kind of damage in the place of a file, one after another.
fn damaged(path: &Path, mut check: impl FnMut(&str)) {
    let whole = fs::read(path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let (half, end) = (whole.len() / 2, whole.len() - 1);
    let kinds = [
        ("empty", Vec::new()),
        ("cut", whole[..half].to_vec()),
        ("cut by a byte", whole[..end].to_vec()),
        ("longer", [&whole[..], &[0]].concat()),
        ("first byte", flipped(0)),
        ("something else", vec![7; whole.len()]),
    ];
    for (kind, bytes) in kinds {
        fs::write(path, bytes).unwrap();
        check(kind);
        assert_eq!(fs::read(path).unwrap(), whole, "{kind}: the file is not made again");
    }
}

const MIN: [&str; 2] = ["--phases", "min"];

/// The second run searches nothing, and is the same run; other options are another plan.
#[test]
fn a_plan_is_searched_for_once() {
    let place = Place::new();
    let first = place.run(&MIN);
    assert_eq!(first["plan_source"], "search");
    let second = place.run(&MIN);
    assert_eq!(second["plan_source"], "cache");
    for key in ["plan", "phases", "outputs", "device_memory"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    // What is asked of the plan, and how it is found, tells plans apart.
    for other in [&["--precision", "f16"][..], &["--rules", "none"], &["--strategy", "banks"], &["--stream-weights"]] {
        let args = [&MIN[..], other].concat();
        assert_eq!(place.run(&args)["plan_source"], "search", "{other:?}");
        assert_eq!(place.run(&args)["plan_source"], "cache", "{other:?}");
    }
    assert_eq!(place.run(&MIN)["plan_source"], "cache");
    // Without phases nothing takes long, and all that was tried is told.
    let whole = || place.run(&[]);
    assert_eq!([&whole()["plan_source"], &whole()["plan_source"]], ["search", "search"]);
}

/// Whoever wants nothing kept gets nothing kept and takes nothing.
#[test]
fn nothing_is_kept_or_taken_without_the_cache() {
    let place = Place::new();
    let args = [&MIN[..], &["--stream-weights", "--no-cache"]].concat();
    assert_eq!(place.run(&args)["plan_source"], "search");
    assert!(!place.cache().exists());
    place.run(&args[..3]);
    assert_eq!(place.run(&args[..3])["plan_source"], "cache");
    assert_eq!(place.run(&args)["plan_source"], "search");
}

/// Half of a search is not kept: the next one may have the time.
#[test]
fn a_plan_whose_search_was_stopped_is_not_kept() {
    let place = Place::new();
    let stopped = place.run(&[&MIN[..], &["--deadline", "0"]].concat());
    assert_eq!((&stopped["stopped"], &stopped["plan_source"]), (&"deadline".into(), &"search".into()));
    assert_eq!(place.kept("plans"), [PathBuf::new(); 0]);
    assert_eq!(place.run(&MIN)["plan_source"], "search");
    // What was found with time is taken where there is none.
    assert_eq!(place.run(&[&MIN[..], &["--deadline", "0"]].concat())["plan_source"], "cache");
}

#[test]
fn a_damaged_plan_is_searched_for_again() {
    let place = Place::new();
    let first = place.run(&MIN);
    let [path] = &place.kept("plans")[..] else { panic!("{:?}", place.kept("plans")) };
    damaged(path, |kind| {
        let again = place.run(&MIN);
        assert_eq!((&again["plan_source"], &again["outputs"]), (&"search".into(), &first["outputs"]), "{kind}");
    });
    // A sound plan of the same model that is not the one that was asked for.
    let whole = fs::read(path).unwrap();
    place.run(&[&MIN[..], &["--precision", "f16"]].concat());
    let other = place.kept("plans").into_iter().find(|other| other != path).unwrap();
    fs::copy(other, path).unwrap();
    assert_eq!(place.run(&MIN)["plan_source"], "search");
    assert_eq!(fs::read(path).unwrap(), whole);
}

/// Where nothing can be kept, runs go on without it.
#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let place = Place::new();
    fs::write(place.cache(), "no folder").unwrap();
    let args = [&MIN[..], &["--stream-weights"]].concat();
    assert_eq!([&place.run(&args)["plan_source"], &place.run(&args)["plan_source"]], ["search", "search"]);
}

#[test]
fn processes_that_keep_the_same_at_once_do_no_harm() {
    let place = Place::new();
    let args = [&MIN[..], &["--stream-weights"]].concat();
    let children: Vec<Child> = (0..4).map(|_| place.command(&args).spawn().unwrap()).collect();
    let outputs: Vec<Value> = children.into_iter().map(|child| answer(child)["outputs"].take()).collect();
    assert!(outputs.iter().all(|other| *other == outputs[0]));
    let last = place.run(&args);
    assert_eq!((&last["plan_source"], &last["outputs"]), (&"cache".into(), &outputs[0]));
    assert_eq!(place.kept("plans").len(), 1, "{:?}", place.kept("plans"));
}
