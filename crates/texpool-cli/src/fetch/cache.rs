//! The cache folder: files with their pinned hash, a lock, and temporary folders.

use super::{Catalog, Entry, FetchError, Progress};
use crate::io::write_atomic;
use sha2::{Digest, Sha256};
use std::{
    env,
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use texpool_cache::{check_replaceable, make_cache_folder, open_lock};
use texpool_model::import::{Links, open_plain_file};

/// Returns the cache folder that the command uses: `TEXPOOL_CACHE`, else [`default_folder`].
///
/// # Errors
/// [`FetchError::NoFolder`] if neither exists.
pub fn cache_folder() -> Result<PathBuf, FetchError> {
    match env::var_os("TEXPOOL_CACHE").filter(|v| !v.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => default_folder(),
    }
}

/// Returns `texpool` in the user's cache folder: `XDG_CACHE_HOME`, else the system's usual place under the home
/// folder.
///
/// # Errors
/// [`FetchError::NoFolder`] if the system has no such folder.
pub fn default_folder() -> Result<PathBuf, FetchError> {
    // Relative paths in these variables are ignored, as the XDG specification demands.
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

/// Beginning of the names of device profiles in the cache folder.
pub const PROFILE: &str = "device_profile-";
/// Beginning of the names of device ceilings there.
pub const CEILING: &str = "device_ceiling-";
/// Beginning of the names of files with the fastest blocks of devices.
pub const TUNED: &str = "tuned_blocks-";

/// Name of the file that processes lock while they fetch.
const LOCK: &str = ".lock";

/// Creates the cache folder if needed. It is tagged as a cache if everything in it can be made or fetched again.
///
/// # Errors
/// The errors of the file system, and a catalogue that cannot be read.
pub fn make_cache(folder: &Path) -> io::Result<()> {
    make_cache_for(folder, &Catalog::builtin().map_err(io::Error::other)?)
}

fn make_cache_for(folder: &Path, catalog: &Catalog) -> io::Result<()> {
    make_cache_folder(folder, &|name, metadata| match metadata.is_dir() {
        true => is_work_folder(name),
        // A file of another size is the user's, and the fetcher gives it another name.
        false if metadata.is_file() => {
            let mut files = catalog.files.iter();
            name == LOCK || is_profile(name) || files.any(|entry| entry.file == name && entry.bytes == metadata.len())
        }
        false => false,
    })
}

/// Returns true if texpool gives such names to measurements of devices.
pub(super) fn is_profile(name: &str) -> bool {
    [PROFILE, CEILING, TUNED].iter().any(|prefix| name.starts_with(prefix)) && name.ends_with(".json")
}

/// Returns true if `path` holds exactly the entry's bytes.
pub(super) fn holds(path: &Path, entry: &Entry) -> bool {
    // Links are followed, since users may store models elsewhere. The hash check still guarantees the content.
    let Ok((file, metadata)) = open_plain_file(path, Links::Followed) else { return false };
    // The size is compared first, because that needs no reading.
    metadata.len() == entry.bytes && hash_of(file).is_ok_and(|hash| hash == entry.sha256)
}

fn hash_of(file: File) -> io::Result<String> {
    let mut hashing = HashingWriter::new(io::sink(), u64::MAX);
    io::copy(&mut io::BufReader::with_capacity(1 << 16, file), &mut hashing)?;
    Ok(hashing.finish().0)
}

/// Hashes everything written to it, and passes on the first `most` bytes.
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

    /// Returns the hash in hexadecimal digits, and the number of bytes.
    pub(super) fn finish(self) -> (String, u64) {
        (self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), self.bytes)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes);
        // If the remaining room exceeds `usize`, all bytes fit.
        let length = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        self.to.write_all(&bytes[..length])?;
        // Bytes beyond the limit are hashed and counted too, so that a file that is too long is refused.
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Prefix of the names of working folders, and the number of random letters and digits after it, so that nobody else
/// creates such a name.
const WORK: &str = ".texpool-fetch-";
const WORK_LETTERS: usize = 16;

/// Returns true if [`Cache::work_folder`] creates such names.
fn is_work_folder(name: &str) -> bool {
    let letters = name.strip_prefix(WORK);
    letters.is_some_and(|letters| {
        letters.len() == WORK_LETTERS && letters.bytes().all(|letter| letter.is_ascii_alphanumeric())
    })
}

/// Number of files of one name that are renamed before an error. Chosen: nobody has that many by accident.
const MOST_ASIDE: usize = 100;

/// The cache folder.
pub(super) struct Cache<'a> {
    folder: &'a Path,
}

impl<'a> Cache<'a> {
    pub(super) const fn new(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// Returns the path of the entry in the cache.
    pub(super) fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(&entry.file)
    }

    /// Keeps other processes from fetching until the returned file is dropped. Waits while another process holds the
    /// lock.
    pub(super) fn lock(&self, catalog: &Catalog, progress: &dyn Progress) -> Result<File, FetchError> {
        make_cache_for(self.folder, catalog).map_err(|e| FetchError::folder(self.folder, e))?;
        let path = self.folder.join(LOCK);
        let failed = |e| FetchError::folder(&path, e);
        let file = open_lock(&path).map_err(failed)?;
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

    /// Creates a temporary folder, which is removed when dropped. Also removes the folders of processes that were
    /// killed: while this process has the lock, no other process uses one.
    pub(super) fn work_folder(&self) -> Result<TempDir, FetchError> {
        for entry in fs::read_dir(self.folder).into_iter().flatten().flatten() {
            // The type of the entry itself, so a link to a folder does not count as a folder.
            if entry.file_name().to_str().is_some_and(is_work_folder)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::debug!(path = %entry.path().display(), %error, "what a killed process left stays");
            }
        }
        let folder = tempfile::Builder::new().prefix(WORK).rand_bytes(WORK_LETTERS).tempdir_in(self.folder);
        folder.map_err(|e| FetchError::folder(self.folder, e))
    }

    /// Stores the output of `fill` in the cache as `entry`, completely or not at all. Until it is complete it is in
    /// `work`.
    pub(super) fn store(
        &self,
        entry: &Entry,
        work: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<PathBuf, FetchError> {
        let path = self.path(entry);
        let whole = work.join("whole");
        let placed = || {
            check_replaceable(&path)?;
            set_aside(&path)?;
            // The temporary folder is inside the cache, so the rename stays within one file system.
            fs::rename(&whole, &path)
        };
        match write_atomic(&whole, fill).and_then(|()| Ok(placed()?)) {
            Ok(()) => Ok(path),
            Err(StoreError::Write(source)) => Err(FetchError::folder(path, source)),
            Err(StoreError::Refused(error)) => Err(error),
        }
    }
}

/// Renames a file of another content that has the name of a catalogue file, because it may be the user's. Says the new
/// name.
fn set_aside(path: &Path) -> io::Result<()> {
    if !path.try_exists()? {
        return Ok(());
    }
    let aside = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".replaced-{number}"));
        PathBuf::from(name)
    };
    let free = (1..=MOST_ASIDE).map(aside).find(|aside| fs::symlink_metadata(aside).is_err());
    let to = free.ok_or_else(|| {
        io::Error::other(format!(
            "it has other contents than the catalogue states, as have {MOST_ASIDE} beside it: move them"
        ))
    })?;
    fs::rename(path, &to)?;
    tracing::warn!(path = %path.display(), to = %to.display(), "a file of other contents had this name and was renamed");
    Ok(())
}

/// Why a file did not get into the cache.
pub(super) enum StoreError {
    /// It could not be written.
    Write(io::Error),
    /// The written bytes are not the expected ones.
    Refused(FetchError),
}

impl From<io::Error> for StoreError {
    fn from(source: io::Error) -> Self {
        Self::Write(source)
    }
}
