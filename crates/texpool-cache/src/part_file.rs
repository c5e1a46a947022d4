//! Files that get their final name only when they are complete.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::kept_file::{check_replaceable, open_kept};
use texpool_model::import::{folder_of, is_part, part_path};

/// Upper limit on the time between creating such a file and locking it.
const UNLOCKED: Duration = Duration::from_secs(60);

/// An unfinished file under a temporary name, locked while it is being written. Dropping it deletes the file.
pub struct PartFile<'p> {
    file: File,
    path: PathBuf,
    target: &'p Path,
}

impl<'p> PartFile<'p> {
    /// Creates a file next to `target`, and its folder if needed. Also removes unfinished files that killed processes
    /// left in that folder.
    pub fn create(target: &'p Path) -> io::Result<Self> {
        let folder = folder_of(target);
        fs::create_dir_all(folder)?;
        check_replaceable(target)?;
        remove_abandoned(folder);
        let path = part_path(folder);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let part = Self { file, path, target };
        part.file.lock()?;
        Ok(part)
    }

    /// Writes the output of `fill` and flushes it to the disk.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, &self.file);
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        // Must precede the rename: otherwise a crash could leave an incomplete file under the final name.
        self.file.sync_data()
    }

    /// Gives the file its final name and returns it, open. A plain file with that name is replaced.
    pub fn rename(self) -> io::Result<File> {
        let file = self.file.try_clone()?;
        check_replaceable(self.target)?;
        fs::rename(&self.path, self.target)?;
        // Otherwise the lock would last as long as the file is open.
        file.unlock()?;
        Ok(file)
    }
}

impl Drop for PartFile<'_> {
    fn drop(&mut self) {
        // Fails after the rename, because the path no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes unfinished files of processes that were killed. Only deletes plain files that have a name of our pattern,
/// are old enough, belong to the user, and are not locked.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_str().is_some_and(is_part)
            && let Ok(Some((file, found))) = open_kept(&path)
            && found.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > UNLOCKED)
            && is_own(&found)
            && file.try_lock().is_ok()
        {
            // May fail because another process was faster.
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns whether a file belongs to the user of this process.
#[cfg(unix)]
fn is_own(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}
