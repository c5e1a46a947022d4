//! Whole files or none: written under a temporary name in the same folder, flushed to the device, then renamed.

use super::target::{Target, folder_of};
use std::{
    fs::{File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Writes a file so that, whatever happens, `path` holds either what it held before or all that `write` wrote.
///
/// The new file takes the place of the old one, with its permissions and owner; other hard links to the old one keep
/// what they had. Where `path` is a symbolic link, what it points to is replaced and the link stays. What is no plain
/// file (a pipe, a device, `/dev/stdout`) is opened and written as it is, without that promise; a pipe is waited for a
/// few seconds until somebody reads from it.
///
/// # Errors
/// Those of `write`, and of creating, flushing and renaming the file. The temporary file is removed.
pub fn write_atomic<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    Ok(Staged::write(path, write)?.commit()?)
}

/// A file that is written but not yet in its place; dropped, it is as if it had never been.
#[derive(Debug)]
pub(super) enum Staged {
    /// Under a temporary name in the same folder: a rename across file systems would not be atomic.
    Beside { file: NamedTempFile, to: PathBuf },
    /// Nothing is left to do: it went through a pipe or into a device.
    WrittenThrough,
}

impl Staged {
    pub(super) fn write<E: From<io::Error>>(
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (to, old) = match Target::find(path)? {
            Target::Replaced { path, old } => (path, old),
            Target::Through => {
                buffered(&mut open_through(path)?, write)?;
                return Ok(Self::WrittenThrough);
            }
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".texpool-");
        // Temporary files are private by default; this one becomes an ordinary file and follows the user's umask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // The system's own error: that of `tempfile` names the temporary file, which means nothing to the user.
        let system = |e: io::Error| e.raw_os_error().map_or(e.kind().into(), io::Error::from_raw_os_error);
        let mut file = builder.tempfile_in(folder_of(&to)).map_err(system)?;
        buffered(file.as_file_mut(), write)?;
        if let Some(old) = old {
            keep_permissions(file.as_file(), &old)?;
        }
        // Before the rename: else a crash could leave the name with half a file behind it.
        file.as_file().sync_all()?;
        Ok(Self::Beside { file, to })
    }

    /// Puts the file into its place.
    pub(super) fn commit(self) -> io::Result<()> {
        let Self::Beside { file, to } = self else { return Ok(()) };
        file.persist(&to).map_err(|e| e.error)?;
        sync_folder(folder_of(&to))
    }
}

fn buffered<E: From<io::Error>>(file: &mut File, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
    let mut buffered = BufWriter::new(file);
    write(&mut buffered)?;
    Ok(buffered.flush()?)
}

/// The rename itself must reach the device too; where a folder cannot be opened as a file, the system does it alone.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

/// Gives a new file the permissions and the owner of the one whose place it takes.
#[cfg(unix)]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let whose = "it belongs to another user or group, which a new file in its place cannot be given to; remove it \
                     first, or choose another name";
        fchown(file, Some(old.uid()), Some(old.gid())).map_err(|e| io::Error::new(e.kind(), whose))?;
    }
    // After the owner, since the kernel clears the set-user-ID bits when that changes.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// Opens what is no plain file; a pipe that nobody reads from is waited for, but not without end.
#[cfg(unix)]
fn open_through(path: &Path) -> io::Result<File> {
    use super::source::check_timeout;
    use rustix::{fs::OFlags, io::Errno};
    use std::{
        os::unix::fs::OpenOptionsExt,
        thread,
        time::{Duration, Instant},
    };
    /// As long as a writer is waited for when reading.
    const READER_TIMEOUT: Duration = Duration::from_secs(5);

    let since = Instant::now();
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    loop {
        // In append mode: `/dev/stdout` may be a file that something was printed into already.
        match File::options().append(true).custom_flags(flags).open(path) {
            Ok(file) => {
                // Opened without waiting, but written like any file: a slow reader is waited for.
                rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
                return Ok(file);
            }
            Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                check_timeout(since, READER_TIMEOUT, "nobody has read from this pipe")?;
                thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(e),
        }
    }
}

#[cfg(not(unix))]
fn open_through(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}
