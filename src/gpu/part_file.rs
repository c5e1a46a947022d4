//! Files that have their name once they are whole.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How files end that are being written.
const PART: &str = "part";

/// Longer than anybody takes from making such a file to locking it.
const UNLOCKED: Duration = Duration::from_secs(60);

/// A file that is being written under a name of its own, and locked as long as somebody writes it. Dropped, it is gone.
pub(crate) struct PartFile<'p> {
    file: File,
    path: PathBuf,
    target: &'p Path,
}

impl<'p> PartFile<'p> {
    /// A file beside `target`, whose folder is made if need be. What processes left in there that were ended while they
    /// wrote is removed.
    pub(crate) fn create(target: &'p Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = target.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        remove_abandoned(folder);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut path = target.as_os_str().to_owned();
        path.push(format!(".{}-{number}.{PART}", process::id()));
        let path = PathBuf::from(path);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let part = Self { file, path, target };
        part.file.lock()?;
        Ok(part)
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Writes pieces one after another, down to the disk.
    pub(crate) fn write(&self, pieces: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.file);
        for piece in pieces {
            out.write_all(&piece)?;
        }
        out.flush()?;
        drop(out);
        // Before the rename: else a crash could leave the name with half a file behind it.
        self.file.sync_data()
    }

    /// Gives it its name; a file that had it before is replaced.
    pub(crate) fn rename(self) -> io::Result<()> {
        fs::rename(&self.path, self.target)
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        // Once it is renamed there is none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what processes left that were ended while they wrote: nobody holds the lock on it.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|time| time.elapsed().ok());
        if path.extension().is_some_and(|extension| extension == PART)
            && age.is_some_and(|age| age > UNLOCKED)
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // Another process may have done it.
            let _ = fs::remove_file(&path);
        }
    }
}
