//! Whole files or none: written beside their place under a passing name, flushed to the device, then renamed.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

/// Writes a file so that, whatever happens, `path` holds either what it held before or all that `write` wrote.
///
/// # Errors
/// Those of `write`, and of creating, flushing and renaming the file. The passing file is removed.
pub fn write_whole<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".texpool-");
    // A passing file is private by default; what it becomes should obey the user's mask like any other file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    {
        let mut buffered = BufWriter::new(file.as_file_mut());
        write(&mut buffered)?;
        buffered.flush()?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(sync_folder(folder)?)
}

/// The rename itself must reach the device too; where a folder cannot be opened as a file, the system does it alone.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
