//! Copies a file to one that no other process can open.

use std::{fs::File, io, path::Path};

/// Returns an open copy of the first `length` bytes of `file`, which was opened at `path`. The copy has no name and
/// disappears when the last use of it ends. It lies in the folder of the file if possible, because there it may share
/// the file's blocks, and memory holds temporary files on some systems.
///
/// # Errors
/// Fails if the file cannot be read, or if none of the folders can hold the copy.
#[cfg(unix)]
pub(super) fn own_copy(path: &Path, file: &File, length: u64) -> io::Result<File> {
    use super::plain_file::folder_of;
    use std::path::PathBuf;

    // A link may lead to another file system.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folders: [PathBuf; 3] = [folder_of(&path).to_owned(), "/var/tmp".into(), std::env::temp_dir()];
    let mut failed = Vec::new();
    for folder in &folders {
        match nameless(folder).and_then(|own| fill(own, file, length)) {
            Ok(own) => return Ok(own),
            Err(error) => failed.push(format!("in {}: {error}", folder.display())),
        }
    }
    Err(io::Error::other(format!(
        "a file of {length} bytes is copied before it is used, so that nobody can cut it short, and no folder can hold \
         the copy ({}); make room in one, or name another by TMPDIR",
        failed.join("; ")
    )))
}

/// Where a mapped file cannot be truncated, the file itself does.
#[cfg(not(unix))]
pub(super) fn own_copy(_: &Path, file: &File, _: u64) -> io::Result<File> {
    file.try_clone()
}

/// Copies with the system's call for that, which may share the blocks of the two files.
#[cfg(unix)]
fn fill(mut own: File, mut file: &File, length: u64) -> io::Result<File> {
    use std::io::{Read as _, Seek as _};

    // Another folder may have failed half-way.
    file.rewind()?;
    io::copy(&mut file.take(length), &mut own)?;
    Ok(own)
}

/// Creates a file without a name in a folder.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};

    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::EXCL;
    match open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(own) => Ok(own.into()),
        // The file system has none.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => unlinked(folder),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn nameless(folder: &Path) -> io::Result<File> {
    unlinked(folder)
}

/// Creates a file in a folder and removes its name at once.
#[cfg(unix)]
fn unlinked(folder: &Path) -> io::Result<File> {
    use super::part_name::part_path;
    use std::os::unix::fs::OpenOptionsExt as _;

    let path = part_path(folder);
    let own = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(own)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::{nameless, own_copy, unlinked};
    use std::{
        fs::{self, File},
        os::unix::fs::FileExt as _,
    };

    #[test]
    fn a_file_without_a_name_holds_what_is_written_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for make in [nameless, unlinked] {
            let own = make(folder.path()).unwrap();
            own.write_all_at(b"kept", 0).unwrap();
            let mut bytes = [0; 4];
            own.read_exact_at(&mut bytes, 0).unwrap();
            assert_eq!((&bytes, fs::read_dir(folder.path()).unwrap().count()), (b"kept", 0));
        }
    }

    #[test]
    fn the_copy_lies_elsewhere_if_the_folder_takes_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, [7; 1000]).unwrap();
        let file = File::open(&path).unwrap();
        // The name stands for a folder that is not there.
        let own = own_copy(&folder.path().join("absent/model"), &file, 600).unwrap();
        let mut bytes = [0; 600];
        own.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!((bytes, own.metadata().unwrap().len()), ([7; 600], 600));
    }
}
