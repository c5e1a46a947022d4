//! The committed inputs of the fuzz targets: tests compare them with the code that writes them, and run them again.

#[path = "../../fuzz/src/model.rs"]
mod model;

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use model::drive;

/// Time limit for one small input: far above what any of them takes, far below a hang.
const LONGEST: Duration = Duration::from_secs(20);
/// Memory limit for one small input: twice what any of them takes.
const MOST_MEMORY: u64 = 512 << 20;
/// Limit on the total size of the stored inputs of a target.
const MOST_BYTES: usize = 200_000;

fn folder(kind: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind).join(target)
}

/// Asserts that the committed seeds are exactly the given ones.
pub(crate) fn are_written(target: &str, seeds: &[(String, Vec<u8>)]) {
    let committed = folder("seeds", target);
    let same =
        |(name, bytes): &(String, Vec<u8>)| fs::read(committed.join(name)).is_ok_and(|contents| contents == *bytes);
    let count = fs::read_dir(&committed).map_or(0, Iterator::count);
    if count == seeds.len() && seeds.iter().all(same) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seeds").join(target);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    seeds.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
    panic!("{} differs from {}, as written just now", committed.display(), folder.display());
}

/// Runs a target's committed inputs through everything that needs no device, and asserts that each soon gives an
/// answer or an error.
pub(crate) fn are_answered(target: &str) {
    let mut inputs = Vec::new();
    for kind in ["seeds", "found"] {
        // The folder is missing while the fuzzer has no findings.
        for entry in fs::read_dir(folder(kind, target)).into_iter().flatten() {
            let path = entry.unwrap().path();
            inputs.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    let bytes: usize = inputs.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(inputs.len() > 40, "only {} inputs", inputs.len());
    assert!(bytes < MOST_BYTES, "{bytes} bytes of inputs are too many to keep");
    answered(inputs.into_iter());
}

/// Runs inputs through everything that needs no device, on every core. Reports all inputs that panic or take long, at
/// once.
pub(crate) fn answered(inputs: impl Iterator<Item = (String, Vec<u8>)> + Send) {
    let inputs = Mutex::new(inputs);
    let next = || inputs.lock().unwrap().next();
    let work = || std::iter::from_fn(next).filter_map(fault).collect::<Vec<String>>();
    let faults: Vec<String> = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs one input and returns a description of the fault, if there was one.
fn fault((name, bytes): (String, Vec<u8>)) -> Option<String> {
    let began = Instant::now();
    let fault = match catch_unwind(|| drive(&bytes).1) {
        Err(_) => "panics",
        Ok(_) if began.elapsed() > LONGEST => "takes long",
        Ok(took) if took.importing > LONGEST / 4 => "takes long to import",
        Ok(took) if took.import.max(took.rest) > MOST_MEMORY => "takes much memory",
        Ok(_) => return None,
    };
    Some(format!("{name} {fault}"))
}

/// Returns whether a seed imports, or the error with which it is refused.
pub(crate) fn answer(bytes: &[u8]) -> Result<(), String> {
    drive(bytes).0.map_err(|error| error.to_string())
}
