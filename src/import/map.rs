//! Mapping a file into memory, a model's or one of packed weights: one of the two places of the project with `unsafe`; the other is `gpu/pipelines.rs`.

use std::{fs::File, io, path::Path, sync::Arc};

use memmap2::Mmap;

/// A file's bytes, shared with every constant borrowed from them.
pub(super) type Owner = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The file's bytes, mapped. Empty files and anything but a plain file are errors.
pub(super) fn map(path: &Path) -> io::Result<Mmap> {
    // Asked before opening: opening a pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file; save the model as one"));
    }
    let file = File::open(path)?;
    map_file(&file)
}

/// An open file's bytes, mapped.
#[expect(unsafe_code, reason = "a map is only as constant as its file, which no type can promise")]
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and private to this process. Should another process change the file meanwhile,
    // values change (every read is of plain bytes, checked where it matters at each read); should it cut the file
    // short, the system ends this process at the next read. Both are documented for callers of
    // `open`, and of whoever names a folder for packed weights; texpool itself only ever replaces such files.
    unsafe { Mmap::map(file) }
}
