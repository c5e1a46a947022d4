//! Writing: files that are replaced, paths that are written through, refused paths, and that nothing else is touched.

use rustix::{
    fs::{CWD, FileType, Mode, makedev, mknodat},
    process::geteuid,
};
use std::{
    fs::{self, File, Permissions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use texpool_cli::io::{
    IoError, check_folder, check_picture_name, check_target, output_file_name, read_npy, read_picture, read_text,
    write_atomic, write_npy, write_outputs, write_png,
};

use super::floats;

/// Far above any time limit of the library, on any machine.
const NOT_A_HANG: Duration = Duration::from_secs(60);

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    write_atomic(path, |out| out.write_all(text.as_bytes()))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs as a user without root's rights: a thread of root switches to the user nobody; other users stay as they are.
fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let ran = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            run()
        });
        ran.join().unwrap()
    })
}

/// Guards links: the file at their end is replaced, through any number of links.
#[test]
fn a_link_stays_and_what_it_points_to_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("elsewhere")).unwrap();
    fs::write(at("elsewhere/file"), "old").unwrap();
    symlink("elsewhere/file", at("near")).unwrap();
    symlink(at("near"), at("far")).unwrap();
    symlink("elsewhere/new", at("dangling")).unwrap();
    write(&at("far"), "new").unwrap();
    write(&at("dangling"), "made").unwrap();
    for link in ["near", "far", "dangling"] {
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
    }
    assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), "new");
    assert_eq!(fs::read_to_string(at("elsewhere/new")).unwrap(), "made");
    assert_eq!(names(dir.path()), ["dangling", "elsewhere", "far", "near"]);
    assert_eq!(names(&at("elsewhere")), ["file", "new"]);
    symlink("round", at("round")).unwrap();
    assert!(write(&at("round"), "x").is_err());
    symlink("nowhere/file", at("astray")).unwrap();
    assert_eq!(write(&at("astray"), "x").unwrap_err().kind(), ErrorKind::NotFound);
}

/// Guards pipes, and links to them: they are written, and are pipes afterwards.
#[test]
fn a_pipe_is_written_through_and_stays_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("pipe"), dir.path().join("link"));
    pipe(&path);
    symlink("pipe", &link).unwrap();
    // More than a pipe holds, so that the writer has to wait for the reader.
    let text = "0123456789".repeat(100_000);
    for to in [&path, &link] {
        let from = path.clone();
        let reader = thread::spawn(move || {
            // Starts later than the writer, which must wait.
            thread::sleep(Duration::from_millis(100));
            let mut read = String::new();
            File::open(from).unwrap().read_to_string(&mut read).unwrap();
            read
        });
        write(to, &text).unwrap();
        assert!(reader.join().unwrap() == text);
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    }
    assert_eq!(names(dir.path()), ["link", "pipe"]);
}

/// Guards against waiting forever.
#[test]
fn a_pipe_that_nobody_reads_is_an_error_in_bounded_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    pipe(&path);
    let begun = Instant::now();
    let error = write(&path, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("nobody has read"), "{error}");
    assert!(begun.elapsed() < NOT_A_HANG);
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
}

/// A device that is always full: created by the test, or, without permission for that, a link to the system's, which
/// such a user cannot replace.
fn full_device(folder: &Path) -> PathBuf {
    let path = folder.join("full");
    let outcome = mknodat(CWD, &path, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, makedev(1, 7));
    if outcome.is_err() || File::options().write(true).open(&path).is_err() {
        let _ = fs::remove_file(&path);
        symlink("/dev/full", &path).unwrap();
    }
    path
}

/// Guards devices: as root, a new file once replaced them.
#[test]
fn a_device_is_written_through_and_stays_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let path = full_device(dir.path());
    let error = write_npy(&path, &[2], &[1.0, 2.0]).unwrap_err();
    assert!(matches!(error, IoError::DiskFull { .. }), "{error}");
    assert!(fs::metadata(&path).unwrap().file_type().is_char_device());
    assert_eq!(names(dir.path()), ["full"]);
}

/// Guards the permissions and owner of a replaced file.
#[test]
fn permissions_and_owner_of_a_replaced_file_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "old").unwrap();
    if geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
    }
    for mode in [0o640, 0o755, 0o600] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let before = fs::metadata(&path).unwrap();
        write(&path, "new").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.mode() & 0o7777, mode);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino(), "it is replaced whole, not written over");
    }
}

/// Guards permissions, which hold although a rename would circumvent them.
#[test]
fn forbidden_files_are_typed_errors_and_stay_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(dir.path(), 0o777);
    for (name, bits) in [("constant", 0o444), ("secret.npy", 0o000)] {
        fs::write(at(name), "old").unwrap();
        mode(&at(name), bits);
    }
    fs::create_dir(at("closed")).unwrap();
    mode(&at("closed"), 0o555);
    as_nobody(|| {
        for to in ["constant", "closed/new"] {
            let error = write_npy(&at(to), &[1], &[1.0]).unwrap_err();
            let IoError::Write { source, .. } = &error else { panic!("{error}") };
            assert_eq!(source.kind(), ErrorKind::PermissionDenied, "{error}");
            assert!(error.to_string().contains(to) && !error.to_string().contains(".texpool-"), "{error}");
        }
        assert!(check_target(&at("constant")).is_err());
        for error in [
            read_npy(&at("secret.npy"), &[1]).map(|_| ()),
            read_picture(&at("secret.npy")).map(|_| ()),
            read_text(&at("secret.npy")).map(|_| ()),
        ] {
            assert!(
                matches!(&error, Err(IoError::Read { source, .. }) if source.kind() == ErrorKind::PermissionDenied)
            );
        }
    });
    assert_eq!(fs::read_to_string(at("constant")).unwrap(), "old");
    assert_eq!(names(dir.path()), ["closed", "constant", "secret.npy"]);
    assert!(names(&at("closed")).is_empty());
    mode(&at("closed"), 0o755);
}

/// Guards the error texts, and that an early check gives the same error as the writing.
#[test]
fn a_place_that_cannot_be_written_is_said_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "").unwrap();
    for (to, words) in [
        ("", "is a folder"),
        ("nowhere/file", "does not exist; make that folder first"),
        ("file/below", "ot a directory"),
    ] {
        let error = write_npy(&at(to), &[1], &[1.0]).unwrap_err();
        assert!(matches!(error, IoError::Write { .. }) && error.to_string().contains(words), "{error}");
        assert_eq!(check_target(&at(to)).unwrap_err().to_string(), error.to_string());
    }
    assert!(check_target(Path::new("")).unwrap_err().to_string().contains("empty"));
    check_target(&at("new")).unwrap();
    check_target(&at("file")).unwrap();
    check_folder(&at("a/b/c")).unwrap();
    check_folder(dir.path()).unwrap();
    assert!(check_folder(&at("file")).unwrap_err().to_string().contains("is a file, not a folder"));
    assert!(check_folder(&at("file/below")).is_err());
    assert_eq!(names(dir.path()), ["file"]);
}

/// Guards a folder of outputs: a run that cannot write all of them changes none of an earlier run's.
#[test]
fn outputs_of_an_earlier_run_are_replaced_together_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let run = |value: f32| -> Result<Vec<PathBuf>, IoError> {
        let (a, b) = ([value], [value; 2]);
        write_outputs(folder, [floats("a", &[1], &a), floats("b", &[2], &b)])
    };
    run(1.0).unwrap();
    let files = run(2.0).unwrap();
    assert_eq!(read_npy(&files[0], &[1]).unwrap(), [2.0]);
    fs::remove_file(&files[1]).unwrap();
    fs::create_dir(&files[1]).unwrap();
    assert!(matches!(run(3.0).unwrap_err(), IoError::Write { path, .. } if path == files[1]));
    assert_eq!(read_npy(&files[0], &[1]).unwrap(), [2.0]);
    assert_eq!(names(folder), ["0_a.npy", "1_b.npy"]);
}

/// Guards against names chosen by a model: each output gets a separate file in the folder.
#[test]
fn names_of_outputs_never_meet_and_never_leave_the_folder() {
    let long = "\u{1f600}".repeat(500);
    let tensors = ["", "", "..", "/", "a/../../b", "x", "X", "\u{e9}", "\u{c9}", "a\nb\u{1b}[2J", "con", &long, &long];
    let names: Vec<String> = tensors.iter().enumerate().map(|(i, name)| output_file_name(i, name)).collect();
    let mut folded: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    folded.sort();
    folded.dedup();
    assert_eq!(folded.len(), tensors.len());
    for name in &names {
        assert!(name.len() <= 255 && Path::new(name).components().count() == 1, "{name}");
        assert!(!name.chars().any(|c| c.is_control() || c == '/' || c == '\\'), "{name:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    let value = [1.0];
    let outputs = tensors.iter().map(|&name| floats(name, &[1], &value));
    assert_eq!(write_outputs(&folder, outputs).unwrap().len(), tensors.len());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), tensors.len());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Guards names of pictures: with another extension a path is probably another file, which a picture must not
/// replace.
#[test]
fn a_picture_is_written_under_the_name_of_its_format_alone() {
    let dir = tempfile::tempdir().unwrap();
    let picture = image::RgbImage::new(2, 2);
    for wrong in ["p.jpg", "p.SVG", "p.pdf", "p", "p.tflite", "p.Xa3b9"] {
        let error = write_png(&dir.path().join(wrong), &picture).unwrap_err();
        assert!(matches!(error, IoError::PictureName { .. }) && error.to_string().contains("p.png"), "{error}");
    }
    assert!(names(dir.path()).is_empty());
    for right in ["p.png", "p.PNG"] {
        write_png(&dir.path().join(right), &picture).unwrap();
    }
    assert!(check_picture_name(Path::new("pool.png"), "svg").unwrap_err().to_string().contains("pool.svg"));
    check_picture_name(Path::new("pool.svg"), "svg").unwrap();
    // A path that is written through may have any name.
    check_picture_name(Path::new("/dev/null"), "svg").unwrap();
}
