//! Files that have their name once they are whole.

use std::{
    fs::{self, File, Metadata},
    hash::{BuildHasher, RandomState},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::kept_file::{check_replaceable, open_kept};

/// How names of files that are being written begin and end. Between them stand so many hexadecimal digits at random, so
/// that nobody else makes such a name.
const BEGINNING: &str = ".texpool-";
const DIGITS: usize = 16;
const ENDING: &str = ".part";

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
        let folder = target.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        check_replaceable(target)?;
        remove_abandoned(folder);
        // A hasher of the standard library begins with a random number of the system's.
        let path = folder.join(format!("{BEGINNING}{:016x}{ENDING}", RandomState::new().hash_one(())));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let part = Self { file, path, target };
        part.file.lock()?;
        Ok(part)
    }

    /// Writes what `fill` writes, down to the disk.
    pub(crate) fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.file);
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        // Before the rename: else a crash could leave the name with half a file behind it.
        self.file.sync_data()
    }

    /// Gives it its name, and answers the open file. A plain file that had the name before is replaced.
    pub(crate) fn rename(self) -> io::Result<File> {
        let file = self.file.try_clone()?;
        check_replaceable(self.target)?;
        fs::rename(&self.path, self.target)?;
        // The lock would last as long as the file is open.
        file.unlock()?;
        Ok(file)
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        // Once it is renamed there is none.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what processes left that were ended while they wrote: plain files of the names made here that are old, that
/// belong to the user, and that nobody has locked. Everything else is somebody else's.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_str().is_some_and(is_part)
            && let Ok(Some((file, found))) = open_kept(&path)
            && found.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > UNLOCKED)
            && is_own(&found)
            && file.try_lock().is_ok()
        {
            // Another process may have done it.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a name is one that [`PartFile::create`] makes.
fn is_part(name: &str) -> bool {
    let digits = name.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix(ENDING));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether a file belongs to the user of this process.
#[cfg(unix)]
fn is_own(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}
