//! Plans, packed weights and device profiles kept in the cache folder.

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
    /// Writes a network of several windowed layers in a row.
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

    /// Runs with a damaged cache and returns the answer and the warnings.
    fn warned(&self, args: &[&str]) -> (Value, String) {
        answer_and_warnings(self.command(args).spawn().unwrap())
    }

    /// Runs without any warning and returns the answer.
    fn run(&self, args: &[&str]) -> Value {
        answer(self.command(args).spawn().unwrap())
    }

    /// Returns the files of a folder of the cache, including those under temporary names.
    fn cached_files(&self, kind: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.cache().join(kind)) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

fn answer(child: Child) -> Value {
    let (answer, warnings) = answer_and_warnings(child);
    assert_eq!(warnings, "");
    answer
}

/// Returns the answer and the text on standard error, without the note on random inputs.
fn answer_and_warnings(child: Child) -> (Value, String) {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    let warnings = stderr.lines().filter(|line| !line.starts_with("note: no --input"));
    let warnings = warnings.map(|line| format!("{line}\n")).collect();
    (serde_json::from_slice(&output.stdout).unwrap(), warnings)
}

/// Replaces a file by damaged copies of every kind, one after another. The second argument of `check` says whether
/// the file's header still matches, so that the damage must be noticed instead of the file being taken for another.
/// Bytes of a plan's header hold the time of its search, which differs from search to search, and a checksum of it.
fn damaged(path: &Path, mut check: impl FnMut(&str, bool)) {
    let whole = fs::read(path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let (half, end) = (whole.len() / 2, whole.len() - 1);
    let kinds = [
        ("empty", Vec::new(), false),
        ("cut", whole[..half].to_vec(), true),
        ("cut by a byte", whole[..end].to_vec(), true),
        ("longer", [&whole[..], &[0]].concat(), true),
        ("first byte", flipped(0), false),
        ("a bit in the middle", flipped(half), true),
        ("a bit at the end", flipped(end), true),
        ("something else", vec![7; whole.len()], false),
    ];
    for (kind, bytes, is_noticed) in kinds {
        fs::write(path, bytes).unwrap();
        check(kind, is_noticed);
        assert_eq!(timeless(path), timeless_of(&whole), "{kind}: the file is not made again");
    }
}

/// Returns the bytes of a file, except those of a plan's header that depend on the time of its search.
fn timeless(path: &Path) -> Vec<u8> {
    timeless_of(&fs::read(path).unwrap())
}

fn timeless_of(bytes: &[u8]) -> Vec<u8> {
    [&bytes[..8], &bytes[16..32], &bytes[40..]].concat()
}

const MIN: [&str; 2] = ["--objective", "smallest"];

/// Measuring a device takes more of its memory than a budget may allow, so that never happens implicitly.
#[test]
fn a_first_run_in_a_budget_measures_no_device() {
    let place = Place::new();
    place.run(&["--budget", "2MiB"]);
    let entries = fs::read_dir(place.cache()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let profiles: Vec<String> = entries.filter(|name| name.starts_with("device_profile")).collect();
    assert_eq!(profiles, [""; 0]);
}

/// The second run searches nothing and is the same run. Other options need another plan.
#[test]
fn a_plan_is_searched_for_once() {
    let place = Place::new();
    let first = place.run(&MIN);
    assert_eq!(first["plan_source"], "search");
    let second = place.run(&MIN);
    assert_eq!(second["plan_source"], "cache");
    for key in ["plan", "tiling", "outputs", "device_memory"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    // Plans with different requests or search options are different cache entries.
    for other in [
        &["--precision", "f16"][..],
        &["--weights", "int8"],
        &["--rules", "none"],
        &["--strategy", "banks"],
        &["--stream=none"],
    ] {
        let args = [&MIN[..], other].concat();
        assert_eq!(place.run(&args)["plan_source"], "search", "{other:?}");
        assert_eq!(place.run(&args)["plan_source"], "cache", "{other:?}");
    }
    assert_eq!(place.run(&MIN)["plan_source"], "cache");
    // With whole tensors the search is quick, so nothing is cached, and every plan tried is reported.
    let whole = || place.run(&[]);
    assert_eq!([&whole()["plan_source"], &whole()["plan_source"]], ["search", "search"]);
}

/// With `--no-cache` nothing is written to the cache and nothing is read from it.
#[test]
fn nothing_is_kept_or_taken_without_the_cache() {
    let place = Place::new();
    let args = [&MIN[..], &["--stream=all", "--no-cache"]].concat();
    assert_eq!(place.run(&args)["plan_source"], "search");
    assert!(!place.cache().exists());
    place.run(&args[..3]);
    assert_eq!(place.run(&args[..3])["plan_source"], "cache");
    assert_eq!(place.run(&args)["plan_source"], "search");
}

/// The result of a stopped search is kept and marked. It is used by a run with no more time; with more time, the
/// search continues from it.
#[test]
fn a_plan_whose_search_was_stopped_is_kept_and_goes_on() {
    let place = Place::new();
    let at_once = [&MIN[..], &["--deadline", "0"]].concat();
    let stopped = place.run(&at_once);
    assert_eq!((&stopped["stopped"], &stopped["plan_source"]), (&"deadline".into(), &"search".into()));
    let again = place.run(&at_once);
    assert_eq!((&again["stopped"], &again["plan_source"]), (&"deadline".into(), &"cache".into()));
    assert_eq!((&again["plan"], &again["outputs"]), (&stopped["plan"], &stopped["outputs"]));
    let done = place.run(&[&MIN[..], &["--deadline", "none"]].concat());
    assert_eq!((&done["stopped"], &done["plan_source"]), (&Value::Null, &"search".into()));
    assert!(device_bytes_of(&done) <= device_bytes_of(&stopped), "{done}");
    // The result of a longer search is used by a run without time.
    let last = place.run(&at_once);
    assert_eq!((&last["stopped"], &last["plan_source"]), (&Value::Null, &"cache".into()));
    assert_eq!(last["plan"], done["plan"]);
    assert_eq!(place.cached_files("plans").len(), 1);
}

/// Runs a budget that is not met, and returns the refusal.
fn refusal(place: &Place, args: &[&str]) -> String {
    let output = place.command(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stderr = stderr.lines().filter(|line| !line.starts_with("note: no --input")).collect::<Vec<_>>().join("\n");
    assert!(!output.status.success() && stderr.contains("the smallest that was found takes"), "{stderr}");
    stderr
}

/// The result of a stopped search that missed its budget is not run. The same command gives the same refusal without a
/// search, and the next search with more time starts from it.
#[test]
fn an_unmet_budget_is_refused_again_until_given_more_time() {
    let place = Place::new();
    let least = device_bytes_of(&place.run(&[&MIN[..], &["--no-cache", "--deadline", "none"]].concat()));
    let args = ["--budget", &least.to_string()];
    let at_once = [&args[..], &["--deadline", "0"]].concat();
    let message = refusal(&place, &at_once);
    assert!(message.contains("the deadline passed") && message.contains("--deadline"), "{message}");
    let [path] = &place.cached_files("plans")[..] else { panic!("{:?}", place.cached_files("plans")) };
    let refusal_file = fs::read(path).unwrap();
    assert_eq!((refusal(&place, &at_once), fs::read(path).unwrap() == refusal_file), (message, true));
    // Without the cache there is a search, which ends in the same way.
    refusal(&place, &[&at_once[..], &["--no-cache"]].concat());
    let document = place.run(&[&args[..], &["--deadline", "none"]].concat());
    assert_eq!(document["plan_source"], "search");
    assert!(device_bytes_of(&document) <= least, "{document}");
    assert_eq!(place.run(&at_once)["plan_source"], "cache");
}

/// A refusal that was kept after a search without a deadline holds for every deadline, and says nothing of a deadline.
/// It holds only for the same values of the model, because equal weights share their memory.
#[test]
fn a_refusal_of_a_whole_search_is_kept_for_the_same_values_alone() {
    let place = Place::new();
    let least = device_bytes_of(&place.run(&[&MIN[..], &["--no-cache", "--deadline", "none"]].concat()));
    // Far less than that, and more than what is refused without a search.
    let budget = (least - (least - 524_592) / 2).to_string();
    let args = ["--budget", &budget, "--deadline", "none"];
    let message = refusal(&place, &args);
    assert!(!message.contains("deadline"), "{message}");
    let [path] = &place.cached_files("plans")[..] else { panic!("{:?}", place.cached_files("plans")) };
    let refusal_file = fs::read(path).unwrap();
    for deadline in ["none", "0", "1000"] {
        assert_eq!(refusal(&place, &["--budget", &budget, "--deadline", deadline]), message);
        assert!(fs::read(path).unwrap() == refusal_file, "--deadline {deadline} searched");
    }
    let model = fs::read(&place.model).unwrap();
    let at = model.windows(4).position(|four| four == (-0.2_f32).to_le_bytes()).unwrap();
    fs::write(&place.model, [&model[..at], &0.75_f32.to_le_bytes()[..], &model[at + 4..]].concat()).unwrap();
    refusal(&place, &args);
    assert!(fs::read(path).unwrap() != refusal_file, "the refusal of another model was used");
    assert_eq!(place.cached_files("plans").len(), 1);
}

/// Every plan that a run prints is found again within the bytes that it prints, in no time.
#[test]
fn a_budget_is_met_by_the_plan_of_another_call() {
    let place = Place::new();
    let least = device_bytes_of(&place.run(&MIN));
    let whole = device_bytes_of(&place.run(&[]));
    let middle = place.run(&["--budget", &usize::midpoint(least as usize, whole as usize).to_string()]);
    for bytes in [least, device_bytes_of(&middle), whole] {
        let document = place.run(&["--budget", &bytes.to_string(), "--deadline", "0"]);
        assert!(device_bytes_of(&document) <= bytes, "{bytes}: {document}");
        let peak = document["device_memory"]["allocated_peak"].as_u64().unwrap();
        assert!(peak <= device_bytes_of(&document), "{bytes}: {document}");
        assert_eq!(document["outputs"], middle["outputs"]);
    }
    // A byte less than the smallest takes a search.
    let message = refusal(&place, &["--budget", &(least - 1).to_string(), "--deadline", "0"]);
    assert!(message.contains("the deadline passed"), "{message}");
}

/// Device memory of a session, from the plan.
fn device_bytes_of(answer: &Value) -> u64 {
    answer["device_bytes"].as_u64().unwrap()
}

#[test]
fn a_damaged_plan_is_searched_for_again() {
    let place = Place::new();
    let first = place.run(&MIN);
    let [path] = &place.cached_files("plans")[..] else { panic!("{:?}", place.cached_files("plans")) };
    damaged(path, |kind, is_noticed| {
        let (again, warnings) = place.warned(&MIN);
        assert_eq!((&again["plan_source"], &again["outputs"]), (&"search".into(), &first["outputs"]), "{kind}");
        assert_eq!(warnings.contains("the plan that is kept does not hold"), is_noticed, "{kind}: {warnings}");
    });
    // The header: its time, the plan's size, whether it was refused, and the checksum.
    let whole = fs::read(path).unwrap();
    for at in [8, 16, 24, 32] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
        let (again, warnings) = place.warned(&MIN);
        assert_eq!((&again["plan_source"], &again["outputs"]), (&"search".into(), &first["outputs"]), "byte {at}");
        assert!(warnings.contains("the header of the plan that is kept is damaged"), "byte {at}: {warnings}");
    }
    // A sound plan of the same model, made for other options.
    let whole = timeless(path);
    place.run(&[&MIN[..], &["--precision", "f16"]].concat());
    let other = place.cached_files("plans").into_iter().find(|other| other != path).unwrap();
    fs::copy(other, path).unwrap();
    assert_eq!(place.run(&MIN)["plan_source"], "search");
    assert_eq!(timeless(path), whole);
}

/// If the cache cannot be written, runs work without it.
#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let place = Place::new();
    fs::write(place.cache(), "no folder").unwrap();
    let args = [&MIN[..], &["--stream=all"]].concat();
    assert_eq!([&place.run(&args)["plan_source"], &place.run(&args)["plan_source"]], ["search", "search"]);
}

#[test]
fn processes_that_keep_the_same_at_once_do_no_harm() {
    let place = Place::new();
    let args = [&MIN[..], &["--stream=all"]].concat();
    let children: Vec<Child> = (0..4).map(|_| place.command(&args).spawn().unwrap()).collect();
    let outputs: Vec<Value> = children.into_iter().map(|child| answer(child)["outputs"].take()).collect();
    assert!(outputs.iter().all(|other| *other == outputs[0]));
    let last = place.run(&args);
    assert_eq!((&last["plan_source"], &last["outputs"]), (&"cache".into(), &outputs[0]));
    for kind in ["plans", "weights"] {
        assert_eq!(place.cached_files(kind).len(), 1, "{:?}", place.cached_files(kind));
    }
}

const STREAMED: [&str; 3] = ["--stream=weights", "--weight-tile=1KiB", "--rules=exact"];

/// Weights are packed once; later runs read them from the file.
#[test]
fn weights_are_packed_once() {
    use std::os::unix::fs::MetadataExt;

    let place = Place::new();
    let first = place.run(&STREAMED);
    let [path] = &place.cached_files("weights")[..] else { panic!("{:?}", place.cached_files("weights")) };
    let number = || fs::metadata(path).unwrap().ino();
    let cache_number = number();
    let second = place.run(&STREAMED);
    assert_eq!((&second["outputs"], number()), (&first["outputs"], cache_number));
    // Neither tiling nor tile sizes change the packing of weights.
    let other = place.run(&["--stream=weights", "--weight-tile=4KiB", "--rules=exact", "--objective", "smallest"]);
    assert_eq!(
        (&other["outputs"], number(), place.cached_files("weights").len()),
        (&first["outputs"], cache_number, 1)
    );
    assert_eq!(place.run(&[&STREAMED[..], &["--no-cache"]].concat())["outputs"], first["outputs"]);
    // Another texel format needs its own packed weights.
    place.run(&[&STREAMED[..], &["--precision", "f16"]].concat());
    assert_eq!(place.cached_files("weights").len(), 2);
}

#[test]
fn a_damaged_file_of_weights_is_made_again() {
    let place = Place::new();
    let first = place.run(&STREAMED);
    let [path] = &place.cached_files("weights")[..] else { panic!("{:?}", place.cached_files("weights")) };
    // A damaged header is noticed too, because the file's own checksum covers it.
    damaged(path, |kind, _| {
        let (again, warnings) = place.warned(&STREAMED);
        assert_eq!(again["outputs"], first["outputs"], "{kind}");
        assert!(warnings.contains("weights"), "{kind}: {warnings}");
    });
    // A model with the same structure and other weights.
    let (whole, model) = (fs::read(path).unwrap(), fs::read(&place.model).unwrap());
    let at = model.windows(4).position(|four| four == (-0.2_f32).to_le_bytes()).unwrap();
    fs::write(&place.model, [&model[..at], &0.75_f32.to_le_bytes()[..], &model[at + 4..]].concat()).unwrap();
    assert_ne!(place.run(&STREAMED)["outputs"], first["outputs"]);
    assert_ne!(fs::read(path).unwrap(), whole);
    fs::write(&place.model, model).unwrap();
    assert_eq!(place.run(&STREAMED)["outputs"], first["outputs"]);
    assert_eq!(fs::read(path).unwrap(), whole);
}

/// Temporary files of a process that was killed while writing are removed by the next process that writes; files
/// still being written are not.
#[test]
fn abandoned_files_are_removed() {
    let place = Place::new();
    let weights = place.cache().join("weights");
    fs::create_dir_all(&weights).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let name = |digit: char| format!(".texpool-{}.part", digit.to_string().repeat(16));
    let file = |name: &str, modified| {
        let file = fs::File::create(weights.join(name)).unwrap();
        file.set_modified(modified).unwrap();
        file
    };
    drop(file(&name('a'), long_ago));
    let locked = file(&name('b'), long_ago);
    locked.lock().unwrap();
    drop(file(&name('c'), std::time::SystemTime::now()));
    // Other programs' files, whatever their names.
    let others =
        ["film.part", ".texpool-aaaaaaaaaaaaaaa.part", ".texpool-AAAAAAAAAAAAAAAA.part", "x.weights.12-0.part"];
    for name in others {
        drop(file(name, long_ago));
    }
    pipe(&weights.join(name('d')));
    fs::create_dir(weights.join(name('e'))).unwrap();
    std::os::unix::fs::symlink("film.part", weights.join(name('f'))).unwrap();
    place.run(&STREAMED);
    let mut names: Vec<String> = place
        .cached_files("weights")
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !name.ends_with(".weights"));
    let mut right: Vec<String> = "bcdef".chars().map(name).chain(others.map(str::to_owned)).collect();
    right.sort();
    assert_eq!(names, right);
}

fn pipe(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Guards against waiting for ever, and against writing through a link, since others may write to a cache folder,
/// too.
#[test]
fn only_plain_files_are_read_or_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};

    let place = Place::new();
    let args = [&MIN[..], &["--stream=all"]].concat();
    let first = place.run(&args);
    let outside = place.folder.path().join("outside");
    for kind in ["plans", "weights"] {
        let [path] = &place.cached_files(kind)[..] else { panic!("{:?}", place.cached_files(kind)) };
        fs::rename(path, &outside).unwrap();
        let whole = fs::read(&outside).unwrap();
        pipe(path);
        let (again, warnings) = place.warned(&args);
        assert_eq!(again["outputs"], first["outputs"], "{kind}");
        assert!(warnings.contains("it is a pipe, not a plain file"), "{kind}: {warnings}");
        assert!(fs::symlink_metadata(path).unwrap().file_type().is_fifo());
        fs::remove_file(path).unwrap();
        symlink(&outside, path).unwrap();
        let (again, warnings) = place.warned(&args);
        assert_eq!(again["outputs"], first["outputs"], "{kind}");
        assert!(warnings.contains("it is a symbolic link, not a plain file"), "{kind}: {warnings}");
        assert!(path.is_symlink() && fs::read(&outside).unwrap() == whole);
        fs::remove_file(path).unwrap();
        fs::rename(&outside, path).unwrap();
        assert_eq!(place.run(&args)["outputs"], first["outputs"], "{kind}");
    }
    // A plan file that is far too long is not read into memory.
    let [path] = &place.cached_files("plans")[..] else { panic!("{:?}", place.cached_files("plans")) };
    fs::File::options().write(true).open(path).unwrap().set_len(1 << 33).unwrap();
    let (again, warnings) = place.warned(&args);
    assert_eq!((&again["outputs"], &again["plan_source"]), (&first["outputs"], &"search".into()), "{warnings}");
    assert!(warnings.contains("bytes") && fs::metadata(path).unwrap().len() < 1 << 20, "{warnings}");
}

/// The cache folder is marked so that backups may leave it out.
#[test]
fn the_cache_folder_is_tagged() {
    for args in [&MIN[..], &STREAMED] {
        let place = Place::new();
        place.run(args);
        let tag = fs::read_to_string(place.cache().join("CACHEDIR.TAG")).unwrap();
        assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{tag}");
        let folders = ["plans", "weights"].map(|kind| place.cache().join(kind).join("CACHEDIR.TAG").exists());
        assert_eq!(folders, [false; 2]);
    }
}
