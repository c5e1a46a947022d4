//! Loads the bytes of a model file. One of the two places of the project with `unsafe`; the other is
//! `gpu/pipelines.rs`.
//!
//! Files are read into memory, so that later changes to a file can neither alter a model nor crash the process. Files
//! that are too large for that are mapped. Their pages can be evicted from memory, but if another process truncates
//! the file, this process crashes.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use memmap2::Mmap;

use super::plain_file::{Links, open_plain_file};

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
        let (file, found) = open_plain_file(path, Links::Followed).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => io::Error::new(error.kind(), format!("{error}; save the model as one")),
            _ => error,
        })?;
        if found.len() > MAX_READ { map(&file).map(Self::Mapped) } else { read_whole(&file, &found).map(Self::Memory) }
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

/// Reads all bytes of an open file whose metadata was `found`. Refuses a file that changes meanwhile, because a
/// mixture of old and new contents would be a corrupt model.
fn read_whole(file: &File, found: &Metadata) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Allocation may fail: a sparse file can state any length.
    let length = usize::try_from(found.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    file.take(found.len()).read_to_end(&mut bytes)?;
    let now = file.metadata()?;
    if bytes.len() < length || now.len() != found.len() || now.modified().ok() != found.modified().ok() {
        let (was, is) = (found.len(), now.len());
        return Err(io::Error::other(format!(
            "it changed while it was read ({was} bytes before, {is} now); read it again when it is written to its end"
        )));
    }
    Ok(bytes)
}

/// Maps the bytes of an open file.
#[expect(unsafe_code, reason = "a map is only as constant as its file, which no type can promise")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. If another process modifies the file, values change,
    // which is harmless because all reads are of plain bytes that are checked where it matters. If another process
    // truncates the file, the system kills this process at the next read. Both are documented for callers of `open`.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_a_file_later_changes_no_bytes() {
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
            let (file, found) = open_plain_file(&path, Links::Followed).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            let error = read_whole(&file, &found).unwrap_err().to_string();
            assert!(error.contains(&format!("1000 bytes before, {length} now")), "{error}");
            std::fs::write(&path, [7; 1000]).unwrap();
        }
        // Different contents of the same length.
        let (file, found) = open_plain_file(&path, Links::Followed).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(read_whole(&file, &found).unwrap_err().to_string().contains("it changed while it was read"));
    }

    #[test]
    fn a_file_too_large_for_memory_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        File::create(&path).unwrap().set_len(MAX_READ + 1).unwrap();
        assert!(matches!(FileBytes::read(&path), Ok(FileBytes::Mapped(map)) if map.len() as u64 == MAX_READ + 1));
    }
}
