//! Unusual arguments: a newcomer's first attempts, arguments that could hang, names that hide each other, and the
//! destination of each output.
//!
//! Takes BlazeFace from the user's cache folder and fetches it if necessary; needs no device.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};
use texpool_cli::{
    fetch::{Bar, Fetcher},
    io::write_npy,
};

use crate::onnx_model::{FLOAT, Model, bytes, number};

/// Far above any time limit of the command, on any machine.
const NOT_A_HANG: Duration = Duration::from_secs(60);
const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite");

/// The command in a folder, with no device to be found.
pub(crate) fn texpool<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
    command.args(args).current_dir(folder);
    command.envs([
        ("VK_DRIVER_FILES", crate::ABSENT),
        ("VK_ICD_FILENAMES", crate::ABSENT),
        ("TEXPOOL_NO_INSTALL", "1"),
    ]);
    command
}

pub(crate) fn stderr_of(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs, expects this exit code and all these words on standard error, and nothing on standard output.
pub(crate) fn refused<S: AsRef<OsStr>>(folder: &Path, args: &[S], code: i32, words: &[&str]) {
    let output = texpool(folder, args).output().unwrap();
    let stderr = stderr_of(&output);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains("error: ") && !stderr.contains("panicked"), "{stderr}");
    words.iter().for_each(|word| assert!(stderr.contains(word), "`{word}` is missing: {stderr}"));
    assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    assert!(output.stdout.is_empty());
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn blazeface() -> PathBuf {
    let bar = Bar::default();
    Fetcher::new(&bar).unwrap().get("blazeface").unwrap().canonicalize().unwrap()
}

/// An `.onnx` file of one node: `y = Relu(x)`, where `x` is `[batch, 3, ?]`.
pub(crate) fn open_model() -> Vec<u8> {
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, content.len() as u8][..], content].concat()
    }
    let dims = [field(1, &field(2, b"batch")), field(1, &[1 << 3, 3]), field(1, &[])].concat();
    let kind = |dims: &[u8]| field(2, &field(1, &[&[1 << 3, 1][..], &field(2, dims)].concat()));
    let port = |name: &[u8], dims: &[u8]| [field(1, name), kind(dims)].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let ports = [field(11, &port(b"x", &dims)), field(12, &port(b"y", &dims))].concat();
    let graph = [field(1, &node), field(2, b"g"), ports].concat();
    [&[1 << 3, 8][..], &field(7, &graph), &field(8, &[2 << 3, 17])].concat()
}

/// Guards the names of catalogue models: a folder with such a name, as an earlier run leaves behind, does not hide
/// the model, but a file does.
#[test]
fn a_folder_hides_no_model_of_the_list() {
    blazeface();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("blazeface")).unwrap();
    fs::create_dir(dir.path().join("results")).unwrap();
    let output = texpool(dir.path(), &["plan", "blazeface"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
    refused(dir.path(), &["plan", "results"], 1, &["`results` is a folder"]);
    refused(dir.path(), &["run", TINY, "--input", "results"], 1, &["`results` is a folder"]);
    fs::remove_dir(dir.path().join("blazeface")).unwrap();
    fs::write(dir.path().join("blazeface"), "a file of the user's own").unwrap();
    refused(dir.path(), &["plan", "blazeface"], 1, &["blazeface: neither a TensorFlow Lite nor an ONNX model"]);
}

/// Guards `--dim`: an impossible value is reported as a fault of the flag, together with the possible ones.
#[test]
fn a_dim_that_cannot_be_is_the_flags_fault_and_not_the_files() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("open.onnx"), open_model()).unwrap();
    let plan = |dims: &[&str]| -> Vec<String> {
        let flags = dims.iter().flat_map(|dim| ["--dim".to_owned(), dim.to_string()]);
        ["plan".to_owned(), "open.onnx".to_owned()].into_iter().chain(flags).collect()
    };
    assert!(texpool(dir.path(), &plan(&["batch=2", "x:2=5"])).output().unwrap().status.success());
    refused(dir.path(), &plan(&[]), 1, &["open.onnx", "2 of the inputs' extents are open", "--dim NAME=VALUE"]);
    let open = "the model leaves open: batch (axis 0 of input `x`), x:2 (axis 2 of input `x`)";
    for (dims, words) in [
        (&["batch=2", "x:2=5", "length=3"][..], &["--dim", "no extent", "length", open][..]),
        (&["batch=2", "x:2=5", "x:1=4"], &["--dim", "`x:1` cannot be 4", "the file states 3", open]),
        (&["batch=2", "batch=3", "x:2=5"], &["--dim says twice what `batch` is"]),
        (&["batch<=0"], &["`0` is no extent", "a run can have places", "batch=1"]),
        (&["batch=-1"], &["`-1` is no extent"]),
        (&["batch=99999999999999999999"], &["is no extent", "2147483648"]),
        (&["batch=two"], &["`two` is no extent"]),
        (&["batch"], &["write NAME=VALUE"]),
        (&["=2"], &["no name"]),
    ] {
        refused(dir.path(), &plan(dims), 2, words);
    }
    // Each extent alone is possible, both together are too much: the message names the file and the bound extents.
    refused(
        dir.path(),
        &plan(&["batch=2000000000", "x:2=2000000000"]),
        1,
        &["open.onnx with --dim batch=2000000000", "the extents are those of --dim; others may do"],
    );
    refused(dir.path(), &["plan", TINY, "--dim", "batch=2"], 2, &["--dim", "batch", "leaves no extent open"]);
}

/// Guards file names that are not UTF-8, for every kind of file.
#[test]
fn names_that_are_no_utf_8_work_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let name = |rest: &[u8]| OsString::from(OsStr::from_bytes(&[b"\xff\xfe", rest].concat()));
    let arg = |text: &str| OsString::from(text);
    fs::copy(TINY, dir.path().join(name(b".tflite"))).unwrap();
    fs::write(dir.path().join(name(b".csv")), "id,lower,upper,size\na,0,2,8\n").unwrap();
    let runs = |args: &[OsString]| {
        let output = texpool(dir.path(), args).output().unwrap();
        assert!(output.status.success(), "{}", stderr_of(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let plan = runs(&[arg("plan"), name(b".tflite"), arg("--picture"), name(b".svg"), arg("--json")]);
    assert_eq!(plan["model"], "\u{fffd}\u{fffd}");
    runs(&[arg("plan"), arg("--records"), name(b".csv"), arg("--write"), name(b"2.csv"), arg("--json")]);
    runs(&[arg("csdf"), name(b".tflite"), arg("-o"), name(b".xml"), arg("--json")]);
    let table = runs(&[arg("table"), name(b".tflite"), arg("--plan-only"), arg("--json")]);
    assert_eq!(table["networks"][0]["network"], "\\xff\\xfe.tflite");
    for written in [&b".svg"[..], b"2.csv", b".xml"] {
        assert!(dir.path().join(name(written)).is_file());
    }
    write_npy(&dir.path().join(name(b".npy")), &[1, 1], &[1.0]).unwrap();
    for (command, flag) in [("run", "--input"), ("compare", "--input")] {
        let args = [arg(command), name(b".tflite"), arg(flag), name(b".npy"), arg("--against"), name(b".npy")];
        // A comparison that cannot be made exits with 2, like `diff`.
        let (count, code) = if command == "run" { (4, 1) } else { (6, 2) };
        refused(dir.path(), &args[..count], code, &["\\xff\\xfe.npy has shape [1, 1]"]);
    }
    refused(dir.path(), &[arg("plan"), name(b"")], 1, &["no file `\\xff\\xfe`"]);
}

/// Guards the terminal: control characters in a file name are printed escaped.
#[test]
fn names_of_files_do_not_steer_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let evil = "a\u{1b}]0;owned\u{7}\nerror: b";
    let shown = "a\\u{1b}]0;owned\\u{7}\\nerror: b";
    fs::copy(TINY, dir.path().join(format!("{evil}.tflite"))).unwrap();
    fs::create_dir(dir.path().join(evil)).unwrap();
    for args in [
        &["plan", evil][..],
        &["plan", "--records", evil],
        &["plan", TINY, "--picture", evil],
        &["csdf", TINY, "-o", evil],
        &["run", TINY, "--input", evil],
    ] {
        refused(dir.path(), args, 1, &[shown]);
    }
    refused(dir.path(), &["plan", &format!("{evil}.onnx")], 1, &[shown]);
    refused(dir.path(), &["plan", TINY, evil], 2, &[]);
    let output = texpool(dir.path(), &["plan", &format!("{evil}.tflite")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with(&format!("{shown}: ")), "{text:?}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

/// Guards scripts: a reader that closes the pipe causes neither a failure nor a panic, but a full disk behind
/// standard output is a failure.
#[test]
fn a_failed_write_to_standard_output_fails_unless_the_pipe_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["plan", TINY][..], &["plan", TINY, "--json"], &["models", "list"], &["--help"], &["--version"]] {
        let mut child = texpool(dir.path(), args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*stderr_of(&output)), (Some(0), ""), "{args:?}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = texpool(dir.path(), &["plan", TINY]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_of(&output).contains("cannot write to standard output"), "{}", stderr_of(&output));
    // A closed standard error causes no panic, either.
    let mut child = texpool(dir.path(), &["plan", "nothing"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Guards against wasted work: the output's destination is checked before the model is read.
#[test]
fn a_place_for_the_answer_is_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "kept").unwrap();
    let missing = "no-such-model.tflite";
    for wrong in ["pool.png", "pool.JPG", "pool.pdf", "pool", "pool.tflite"] {
        let svg = Path::new(wrong).with_extension("svg");
        refused(dir.path(), &["plan", missing, "--picture", wrong], 2, &[wrong, svg.to_str().unwrap(), "SVG"]);
    }
    for (args, words) in [
        (&["plan", missing, "--picture", "no/pool.svg"][..], &["no does not exist"][..]),
        (&["plan", missing, "--picture", "."], &["is a folder"]),
        (&["plan", "--records", missing, "--write", "no/plan.csv"], &["no does not exist"]),
        (&["csdf", missing, "-o", "file/graph.xml"], &["file/graph.xml"]),
        (&["run", missing, "--output", "file"], &["file is a file, not a folder"]),
        (&["run", missing, "--output", "-"], &["a folder, not to standard output", "`./-`"]),
    ] {
        refused(dir.path(), args, 1, words);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Guards the files of a call: an output never overwrites an input or another output of the call, even under another
/// name.
#[test]
fn no_output_replaces_another_file_of_its_call() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let contents = || {
        let names = ["m.svg", "r.csv", "r.svg", "m.onnx", "values.bin", "out/0_y.npy"];
        names.map(|name| fs::read(at(name)).unwrap())
    };
    fs::copy(TINY, at("m.svg")).unwrap();
    fs::hard_link(at("m.svg"), at("hard.svg")).unwrap();
    symlink("m.svg", at("soft.svg")).unwrap();
    fs::write(at("r.csv"), "id,lower,upper,size\na,0,2,8\n").unwrap();
    fs::hard_link(at("r.csv"), at("r.svg")).unwrap();
    // Values of the model stored in a separate file.
    let mut model = Model::new();
    model.input("x", &[1, 1, 1, 2]);
    let location = [bytes(1, b"location"), bytes(2, b"values.bin")].concat();
    model.tensor("w", FLOAT, &[1, 1, 1, 2], &[bytes(13, &location), number(14, 1)].concat());
    model.raw_node("Add", &["x", "w"], &["y"], &[]);
    model.output("y");
    fs::write(at("m.onnx"), model.bytes()).unwrap();
    fs::write(at("values.bin"), [0; 8]).unwrap();
    fs::create_dir(at("out")).unwrap();
    write_npy(&at("out/0_y.npy"), &[1, 1, 1, 2], &[0.0; 2]).unwrap();
    let before = contents();
    let absolute = at("m.svg");
    let absolute = absolute.to_str().unwrap();
    for (args, words) in [
        (&["plan", "m.svg", "--picture", "m.svg"][..], &["m.svg", "the model", "the same file"][..]),
        (&["plan", "m.svg", "--picture", "hard.svg"], &["hard.svg", "the model"]),
        (&["plan", "soft.svg", "--picture", "m.svg"], &["soft.svg", "the model"]),
        (&["plan", "m.svg", "--picture", absolute], &["the model"]),
        (&["plan", "m.svg", "--front", "--picture", "./out/../m.svg"], &["the model"]),
        (&["compile", "m.svg", "-o", "m.svg"], &["the plan to m.svg", "the model"]),
        (&["compile", "m.svg", "-o", "soft.svg"], &["soft.svg", "the model"]),
        (&["csdf", "m.svg", "-o", "hard.svg"], &["hard.svg", "the model"]),
        (&["plan", "--records", "r.csv", "--write", "r.csv"], &["the records"]),
        (&["plan", "--records", "r.csv", "--picture", "r.svg"], &["the records"]),
        (&["plan", "--records", "r.csv", "--write", "new.svg", "--picture", "./new.svg"], &["the picture"]),
        (&["compile", "m.onnx", "-o", "values.bin"], &["values.bin", "the model's values"]),
        (&["csdf", "m.onnx", "-o", "values.bin"], &["the model's values"]),
        (&["run", "m.onnx", "--input", "out/0_y.npy", "--output", "out"], &["output 0", "an input"]),
        (&["run", "m.onnx", "--random", "--plan", "out/0_y.npy", "--output", "out"], &["output 0", "the plan"]),
    ] {
        refused(dir.path(), args, 1, words);
        assert!(contents() == before, "{args:?}");
    }
    // The model itself has the name of one of the outputs.
    fs::rename(at("m.onnx"), at("out/0_y.npy")).unwrap();
    fs::rename(at("values.bin"), at("out/values.bin")).unwrap();
    refused(dir.path(), &["run", "out/0_y.npy", "--random", "--output", "out"], 1, &["output 0", "the model"]);
    assert!(!at("new.svg").exists());
}

/// Guards special files: a plan is written through a pipe, and to standard output behind the printed text.
#[test]
fn plans_are_written_through_pipes_and_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("records.csv"), "id,lower,upper,size\na,0,2,8\n").unwrap();
    let to = dir.path().join("pipe");
    pipe(&to);
    let plan = ["plan", "--records", "records.csv", "--strategy", "greedy_by_size", "--write"];
    let reader = std::thread::spawn(move || {
        let mut csv = String::new();
        File::open(to).unwrap().read_to_string(&mut csv).unwrap();
        csv
    });
    assert!(texpool(dir.path(), &[&plan[..], &["pipe"]].concat()).status().unwrap().success());
    let csv = reader.join().unwrap();
    assert_eq!(csv, "id,lower,upper,size,offset\na,0,2,8,0\n");
    let both = |output: &str| assert!(output.starts_with("greedy_by_size: 8") && output.ends_with(&csv), "{output}");
    let piped = texpool(dir.path(), &[&plan[..], &["/dev/stdout"]].concat()).output().unwrap();
    both(&String::from_utf8(piped.stdout).unwrap());
    let file = dir.path().join("out.txt");
    let into = File::create(&file).unwrap();
    assert!(texpool(dir.path(), &[&plan[..], &["/dev/stdout"]].concat()).stdout(into).status().unwrap().success());
    both(&fs::read_to_string(file).unwrap());
}

/// Guards against waiting for ever on a pipe, in every place that reads a file.
#[test]
fn a_pipe_that_nobody_writes_to_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    pipe(&dir.path().join("pipe"));
    for (args, words) in [
        (&["run", TINY, "--input", "pipe"][..], "nobody has written to this pipe"),
        (&["plan", "--records", "pipe"], "nobody has written to this pipe"),
        (&["plan", "pipe"], "not a plain file"),
        (&["plan", "/dev/zero"], "not a plain file"),
        (&["run", TINY, "--input", "/dev/zero"], "it is a device"),
        (&["plan", "--records", "/dev/zero"], "it is a device"),
    ] {
        let begun = Instant::now();
        refused(dir.path(), args, 1, &[args[args.len() - 1], words]);
        assert!(begun.elapsed() < NOT_A_HANG, "{args:?}");
    }
}

/// Guards against meaningless results: a run without inputs announces the random numbers, unless the user asked for
/// them.
#[test]
fn random_inputs_are_announced_unless_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let note = "note: no --input, so this runs on random numbers from -1 to 1";
    refused(dir.path(), &["run", TINY], 1, &[note, "[1, 9, 9, 3]", "no GPU adapter"]);
    let output = texpool(dir.path(), &["run", TINY, "--random"]).output().unwrap();
    assert!(
        !stderr_of(&output).contains("random") && stderr_of(&output).contains("no GPU adapter"),
        "{}",
        stderr_of(&output)
    );
    refused(dir.path(), &["run", TINY, "--random", "--input", "x.npy"], 2, &["--random"]);
}

/// Guards the messages for files that are not models or inputs, each with its exit code.
#[test]
fn whatever_is_wrong_is_called_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("text.onnx"), "just a line of text, renamed\n").unwrap();
    fs::write(at("empty.onnx"), "").unwrap();
    fs::write(at("picture.tflite"), b"\x89PNG\r\n\x1a\n....").unwrap();
    fs::write(at("empty.npy"), "").unwrap();
    fs::write(at("binary.csv"), b"\x00\xff\xfe").unwrap();
    fs::write(at("empty.csv"), "").unwrap();
    write_npy(&at("wrong.npy"), &[2, 3], &[0.0; 6]).unwrap();
    for (args, code, words) in [
        (&["plan", "nowhere/model.tflite"][..], 1, &["there is no file `nowhere/model.tflite`"][..]),
        (&["plan", "text.onnx/model.tflite"], 1, &["there is no file `text.onnx/model.tflite`"]),
        (&["plan", "no-such-model"], 1, &["no-such-model", "`texpool models list`"]),
        (&["plan", "text.onnx"], 1, &["text.onnx"]),
        (&["plan", "empty.onnx"], 1, &["empty.onnx: the file is empty"]),
        (&["plan", "picture.tflite"], 1, &["it is a picture; a model comes first"]),
        (&["plan", "wrong.npy"], 1, &["it is a NumPy array"]),
        (&["plan", "--records", "binary.csv"], 1, &["binary.csv is not text"]),
        (&["plan", "--records", "empty.csv"], 1, &["empty.csv"]),
        (&["plan", "--records", "none.csv"], 1, &["cannot read none.csv"]),
        (&["run", TINY, "--input", "empty.npy"], 1, &["empty.npy", "it is empty"]),
        (&["run", TINY, "--input", "wrong.npy"], 1, &["input `", "has shape [2, 3] instead of [1, 9, 9, 3]"]),
        (&["run", TINY, "--input", TINY], 1, &["it is a TensorFlow Lite model"]),
        (&["run", TINY, "--input", "none.png"], 1, &["there is no file `none.png`"]),
        (
            &["compare", TINY, "--against", "cpu", "--input", "wrong.npy", "--input", "wrong.npy"],
            2,
            &["takes 1 inputs", "2 were given"],
        ),
        (&["models", "fetch", "nothing"], 1, &["nothing that can be fetched is called `nothing`"]),
        (&["bench", TINY, "--seconds", "1e30"], 2, &["`1e30` is no time"]),
        (&["bench", TINY, "--seconds", "nan"], 2, &["`nan` is no time"]),
        (&["compare", TINY, "--against", "cpu", "--tolerance", "nan"], 2, &["`nan` is no part"]),
        (&["compare", TINY, "--against", "cpu", "--tolerance", "-1"], 2, &["`-1` is no part"]),
        (&["compare", TINY], 2, &["--against"]),
    ] {
        refused(dir.path(), args, code, words);
    }
    // The rows that succeed are shown; the exit code says that others failed.
    let output = texpool(dir.path(), &["table", "--plan-only", TINY, "text.onnx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("tiny.tflite"));
    assert!(stderr_of(&output).contains("no row of the table could be made for: text.onnx"), "{}", stderr_of(&output));
}
