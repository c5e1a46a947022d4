//! The cache folder: files with their pinned hash, a lock, and a place to work in.

use super::{Entry, FetchError, Progress};
use crate::io::write_atomic;
use sha2::{Digest, Sha256};
use std::{
    env,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The cache folder that the command uses: `TEXPOOL_CACHE`, else [`default_folder`].
///
/// # Errors
/// [`FetchError::NoFolder`] where there is neither.
pub fn cache_folder() -> Result<PathBuf, FetchError> {
    match env::var_os("TEXPOOL_CACHE").filter(|v| !v.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => default_folder(),
    }
}

/// `texpool` in the user's cache folder: `XDG_CACHE_HOME`, else the system's usual place under the home folder.
///
/// # Errors
/// [`FetchError::NoFolder`] where no such folder is known.
pub fn default_folder() -> Result<PathBuf, FetchError> {
    // Where these variables hold relative paths, the XDG specification has them ignored.
    let var = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || {
        if cfg!(windows) {
            var("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            var("HOME").map(|home| home.join("Library/Caches"))
        } else {
            var("HOME").map(|home| home.join(".cache"))
        }
    };
    var("XDG_CACHE_HOME").or_else(usual).map(|folder| folder.join("texpool")).ok_or(FetchError::NoFolder)
}

/// Whether `path` holds the entry's very bytes.
pub(super) fn holds(path: &Path, entry: &Entry) -> bool {
    let right_size = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == entry.bytes);
    // The size comes first, since it takes no reading.
    right_size && File::open(path).and_then(hash_of).is_ok_and(|hash| hash == entry.sha256)
}

fn hash_of(file: File) -> io::Result<String> {
    let mut hashing = HashingWriter::new(io::sink(), u64::MAX);
    io::copy(&mut io::BufReader::with_capacity(1 << 16, file), &mut hashing)?;
    Ok(hashing.finish().0)
}

/// Hashes what is written to it and passes on no more than the first `most` bytes.
pub(super) struct HashingWriter<W> {
    to: W,
    most: u64,
    bytes: u64,
    hash: Sha256,
}

impl<W: Write> HashingWriter<W> {
    pub(super) fn new(to: W, most: u64) -> Self {
        Self { to, most, bytes: 0, hash: Sha256::new() }
    }

    /// The hash in hexadecimal digits, and the number of bytes.
    pub(super) fn finish(self) -> (String, u64) {
        (self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), self.bytes)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes);
        // Room beyond what a `usize` counts is room enough.
        let kept = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        self.to.write_all(&bytes[..kept])?;
        // What is not passed on is hashed and counted too, so that a file which is too long is refused.
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The cache folder.
pub(super) struct Cache<'a> {
    folder: &'a Path,
}

impl<'a> Cache<'a> {
    pub(super) const fn new(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// Where the entry lies once it is there.
    pub(super) fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(&entry.file)
    }

    /// Keeps other processes from fetching until the file returned is dropped; waits for those that do.
    pub(super) fn lock(&self, progress: &dyn Progress) -> Result<File, FetchError> {
        fs::create_dir_all(self.folder).map_err(|e| FetchError::folder(self.folder, e))?;
        let path = self.folder.join(".lock");
        let failed = |e| FetchError::folder(&path, e);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress.waiting();
                file.lock().map_err(failed)?;
            }
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        Ok(file)
    }

    /// A folder to work in, gone when dropped. Under the lock: what is left there belongs to a process that was killed.
    pub(super) fn work_folder(&self) -> Result<tempfile::TempDir, FetchError> {
        let parent = self.folder.join(".work");
        match fs::remove_dir_all(&parent) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(FetchError::folder(&parent, e)),
            _ => fs::create_dir_all(&parent).map_err(|e| FetchError::folder(&parent, e))?,
        }
        tempfile::tempdir_in(&parent).map_err(|e| FetchError::folder(&parent, e))
    }

    /// Puts what `fill` writes into the cache as `entry`, whole or not at all; until it is whole it lies in `work`.
    pub(super) fn store(
        &self,
        entry: &Entry,
        work: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<PathBuf, FetchError> {
        let path = self.path(entry);
        let whole = work.join("whole");
        // The folder to work in lies in the cache, so the rename crosses no file system.
        match write_atomic(&whole, fill).and_then(|()| Ok(fs::rename(&whole, &path)?)) {
            Ok(()) => Ok(path),
            Err(StoreError::Write(source)) => Err(FetchError::folder(path, source)),
            Err(StoreError::Refused(error)) => Err(error),
        }
    }
}

/// Why a file did not get into the cache.
pub(super) enum StoreError {
    /// It could not be written.
    Write(io::Error),
    /// What should have been written is not right.
    Refused(FetchError),
}

impl From<io::Error> for StoreError {
    fn from(source: io::Error) -> Self {
        Self::Write(source)
    }
}
