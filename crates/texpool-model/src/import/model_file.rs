//! Loads the bytes of a model file. One of the two places of the project with `unsafe`; the other is
//! `gpu/pipelines.rs`.
//!
//! Files are read into memory, so that later changes to a file can neither alter a model nor crash the process. Files
//! that are too large for that are copied to a file without a name, which is mapped: its pages can be evicted from
//! memory, and no other process can change or truncate it. Where the file system shares blocks between files, the copy
//! takes no time and no room.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use memmap2::Mmap;

use super::{
    own_copy::own_copy,
    plain_file::{Links, open_plain_file},
};

/// Largest file that is read into memory: 1 GiB. Chosen above all models of the catalogue (VGG-19 has 575 MB) and
/// most models that run on one device, but small enough for most machines.
const MAX_READ: u64 = 1 << 30;

/// A file's bytes, shared with every constant borrowed from them.
pub(super) type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The bytes of a file, in memory or mapped.
#[derive(Debug)]
pub(super) enum FileBytes {
    Memory(Vec<u8>),
    Mapped(Mmap),
}

impl FileBytes {
    /// Loads the regular file at `path`. An empty file yields an empty slice.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        Self::read_or_map(path, MAX_READ)
    }

    /// Reads a file of at most `most` bytes into memory, and maps a larger one.
    fn read_or_map(path: &Path, most: u64) -> io::Result<Self> {
        let (file, metadata) = open_plain_file(path, Links::Followed).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => io::Error::new(error.kind(), format!("{error}; save the model as one")),
            _ => error,
        })?;
        if metadata.len() <= most {
            return read_whole(&file, &metadata).map(Self::Memory);
        }
        let own = own_copy(path, &file, metadata.len())?;
        check_unchanged(&file, &metadata, own.metadata()?.len())?;
        map(&own).map(Self::Mapped)
    }
}

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

/// Reads all bytes of an open file whose `metadata` was read before.
fn read_whole(file: &File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Allocation may fail: a sparse file can state any length.
    let length = usize::try_from(metadata.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    file.take(metadata.len()).read_to_end(&mut bytes)?;
    check_unchanged(file, metadata, bytes.len() as u64)?;
    Ok(bytes)
}

/// Refuses a file that has changed since its `metadata` was read and `read` bytes of it were read, because a mixture
/// of old and new contents would be a corrupt model.
fn check_unchanged(file: &File, metadata: &Metadata, read: u64) -> io::Result<()> {
    let now = file.metadata()?;
    if read < metadata.len() || now.len() != metadata.len() || now.modified().ok() != metadata.modified().ok() {
        let (was, is) = (metadata.len(), now.len());
        return Err(io::Error::other(format!(
            "it changed while it was read ({was} bytes before, {is} now); read it again when it is written to its end"
        )));
    }
    Ok(())
}

/// Maps the bytes of an open file of our own.
#[expect(unsafe_code, reason = "a map is only as constant as its file, which no type can promise")]
fn map(own: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only. The file has no name (`own_copy`), so no other process can open it, and this one
    // does not write to it any more. Where systems have no such files, the file is the user's own; there the system
    // refuses to truncate a file while it is mapped, and values that another process changes are plain bytes, which
    // are checked where it matters.
    unsafe { Mmap::map(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_changes_of_a_file_do_not_change_its_loaded_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        std::fs::write(&path, [7; 100_000]).unwrap();
        let bytes = FileBytes::read(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        assert_eq!(bytes.as_ref(), [7; 100_000]);
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        std::fs::write(&path, [7; 1000]).unwrap();
        for length in [0, 999, 1001] {
            let (file, metadata) = open_plain_file(&path, Links::Followed).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            let error = read_whole(&file, &metadata).unwrap_err().to_string();
            assert!(error.contains(&format!("1000 bytes before, {length} now")), "{error}");
            std::fs::write(&path, [7; 1000]).unwrap();
        }
        // Different contents of the same length.
        let (file, metadata) = open_plain_file(&path, Links::Followed).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(read_whole(&file, &metadata).unwrap_err().to_string().contains("it changed while it was read"));
    }

    /// Cutting a mapped file would end this process.
    #[test]
    fn a_file_too_large_for_memory_is_mapped_and_may_be_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let whole: Vec<u8> = (0..1_000_000).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &whole).unwrap();
        let bytes = FileBytes::read_or_map(&path, 1000).unwrap();
        assert!(matches!(bytes, FileBytes::Mapped(_)));
        if cfg!(unix) {
            File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        }
        assert!(bytes.as_ref() == whole, "cutting the file changed what was read");
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["model"]);
    }

    /// A file that is cut again and again is read as it was, or refused.
    #[cfg(unix)]
    #[test]
    fn a_large_file_that_is_cut_while_it_is_copied_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let whole = vec![7; 8 << 20];
        std::fs::write(&path, &whole).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = File::options().write(true).open(&path).unwrap();
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    file.set_len(5000).unwrap();
                    file.set_len(whole.len() as u64).unwrap();
                }
            });
            for _ in 0..50 {
                match FileBytes::read_or_map(&path, 1000) {
                    // Every byte can be read, whatever has become of the file.
                    Ok(bytes) => assert!(bytes.as_ref().iter().all(|&byte| byte == 0 || byte == 7)),
                    Err(error) => assert!(error.to_string().contains("it changed while it was read"), "{error}"),
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
