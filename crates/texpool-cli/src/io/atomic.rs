//! Writes files completely or not at all: under a temporary name in the same folder, flushed to the device, then
//! renamed.

use super::target::Target;
use std::{
    fs::{File, Metadata},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;
use texpool_model::import::folder_of;

/// Writes a file so that `path` always holds either its previous contents or everything that `write` wrote.
///
/// The new file replaces the old one and keeps its permissions and owner. Other hard links to the old file keep its
/// contents. If `path` is a symbolic link, its target is replaced and the link stays. A pipe or device, such as
/// `/dev/stdout`, is opened and written directly, without that guarantee. The function waits a few seconds for a
/// reader of a pipe.
///
/// # Errors
/// Those of `write`, and of creating, flushing and renaming the file. The temporary file is removed.
pub fn write_atomic<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    Ok(StagedFile::write(path, write)?.commit()?)
}

/// A file that is written but not yet in place. Dropping it removes it.
#[derive(Debug)]
pub(super) enum StagedFile {
    /// A temporary file in the same folder: a rename across file systems would not be atomic.
    Beside { file: NamedTempFile, to: PathBuf },
    /// The bytes went through a pipe or into a device, so there is no file to rename.
    WrittenThrough,
}

impl StagedFile {
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
        // Temporary files are private by default. This one becomes an ordinary file and follows the user's umask.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // Uses the system's error, because the error of `tempfile` names the temporary file, which means nothing to
        // the user.
        let system = |e: io::Error| e.raw_os_error().map_or(e.kind().into(), io::Error::from_raw_os_error);
        let mut file = builder.tempfile_in(folder_of(&to)).map_err(system)?;
        buffered(file.as_file_mut(), write)?;
        if let Some(old) = old {
            keep_permissions(file.as_file(), &old)?;
        }
        // Before the rename: otherwise a crash could leave half a file under the name.
        file.as_file().sync_all()?;
        Ok(Self::Beside { file, to })
    }

    /// Renames the file into its place.
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

/// Flushes the rename itself to the device. Systems that cannot open a folder as a file do so on their own.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) if cfg!(unix) => folder.sync_all(),
        _ => Ok(()),
    }
}

/// Gives a new file the permissions and the owner of the one that it replaces.
#[cfg(unix)]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        let whose = "it belongs to another user or group, which a new file in its place cannot be given to; remove it \
                     first, or choose another name";
        fchown(file, Some(old.uid()), Some(old.gid())).map_err(|e| io::Error::new(e.kind(), whose))?;
    }
    // After the change of owner, because that makes the kernel clear the set-user-ID bits.
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_permissions(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

/// Opens a pipe or a device. Waits for a reader of a pipe, with a timeout.
#[cfg(unix)]
fn open_through(path: &Path) -> io::Result<File> {
    use super::source::check_timeout;
    use rustix::{fs::OFlags, io::Errno};
    use std::{
        os::unix::fs::OpenOptionsExt,
        thread,
        time::{Duration, Instant},
    };
    /// Equal to the timeout for a writer when reading.
    const READER_TIMEOUT: Duration = Duration::from_secs(5);

    let since = Instant::now();
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    loop {
        // In append mode, because `/dev/stdout` may be a file with earlier output.
        match File::options().append(true).custom_flags(flags).open(path) {
            Ok(file) => {
                // The file was opened without blocking, but is written like any file, so a slow reader is waited for.
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
