//! Inspects a path that is to be written: nothing there, a file to replace, or something to write through.

use super::IoError;
use std::{
    fs::{self, File, Metadata},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use texpool_model::import::folder_of;

/// Maximum number of links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Way to write a path.
#[derive(Debug)]
pub(super) enum Target {
    /// A new file replaces an existing one, if any.
    Replaced {
        /// Path behind all links.
        path: PathBuf,
        /// Metadata of the existing file.
        old: Option<Metadata>,
    },
    /// A pipe, a device, or a file that this process has open: opened and written.
    Through,
}

impl Target {
    /// Inspects the path without changing anything.
    pub(super) fn find(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the name is empty"));
        }
        let old = match fs::metadata(path) {
            Ok(old) => Some(old),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        match &old {
            Some(old) if old.is_dir() => {
                return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder; name a file in it"));
            }
            Some(old) if is_socket(old) => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is a socket"));
            }
            Some(old) if !old.is_file() => return Ok(Self::Through),
            _ => {}
        }
        let Some(path) = resolve_links(path)? else { return Ok(Self::Through) };
        match &old {
            // A file without write permission may not be replaced either, although its folder would allow it.
            Some(_) => drop(File::options().write(true).open(&path)?),
            None => check_folder_of(&path)?,
        }
        Ok(Self::Replaced { path, old })
    }
}

fn check_folder_of(path: &Path) -> io::Result<()> {
    let folder = folder_of(path);
    let error = |kind, what| Err(io::Error::new(kind, format!("{} {what}", super::printable(folder))));
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => error(ErrorKind::NotADirectory, "is no folder"),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            error(ErrorKind::NotFound, "does not exist; make that folder first")
        }
        Err(e) => Err(e),
    }
}

/// Follows the links that begin at `path`, even if the target does not exist. Returns `None` if they lead through
/// `/proc`, like `/dev/stdout`: that file is open already, and a new file of the same name would be a different one.
fn resolve_links(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        if !fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(Some(at));
        }
        let folder = folder_of(&at).canonicalize()?;
        if folder.starts_with("/proc") {
            return Ok(None);
        }
        // A link to an absolute path replaces the folder.
        at = folder.join(fs::read_link(&at)?);
    }
    Err(io::Error::other("too many symbolic links follow one another"))
}

/// Checks that `path` can be written, by inspection alone: nothing is created or changed. Call it before long work
/// whose result goes there.
///
/// # Errors
/// [`IoError::Write`].
pub fn check_target(path: &Path) -> Result<(), IoError> {
    Target::find(path).map(|_| ()).map_err(|e| IoError::write(path, e))
}

/// Checks that `path` is a folder or can become one, by inspection alone: nothing is created or changed.
///
/// # Errors
/// [`IoError::Write`].
pub fn check_folder(path: &Path) -> Result<(), IoError> {
    // Elsewhere `-` is standard output.
    if path.as_os_str() == "-" {
        let what =
            "arrays go to files in a folder, not to standard output; name a folder, or `./-` for one of this name";
        return Err(IoError::write(path, io::Error::new(ErrorKind::InvalidInput, what)));
    }
    let mut existing = path.ancestors().filter(|p| !p.as_os_str().is_empty()).map(|p| (p, fs::metadata(p)));
    match existing.find(|(_, metadata)| !matches!(metadata, Err(e) if e.kind() == ErrorKind::NotFound)) {
        Some((_, Ok(metadata))) if metadata.is_dir() => Ok(()),
        Some((at, Ok(_))) => {
            let what = format!("{} is a file, not a folder", super::printable(at));
            Err(IoError::write(path, io::Error::new(ErrorKind::NotADirectory, what)))
        }
        Some((_, Err(e))) => Err(IoError::write(path, e)),
        None => Ok(()),
    }
}

/// Returns the path of a file that does not exist yet: behind all links, from the root on.
pub(super) fn final_path(path: &Path) -> Option<PathBuf> {
    let path = resolve_links(path).ok()??;
    Some(folder_of(&path).canonicalize().ok()?.join(path.file_name()?))
}

/// Checks that the name of a picture has the extension of its format (`svg`, `png`), so that it cannot replace a file
/// of another kind. Pipes and devices may have any name. Paths that cannot be written are reported elsewhere.
///
/// # Errors
/// [`IoError::PictureName`].
pub fn check_picture_name(path: &Path, format: &'static str) -> Result<(), IoError> {
    let ends = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(format));
    match Target::find(path) {
        Ok(Target::Replaced { .. }) if !ends => {
            Err(IoError::PictureName { path: path.into(), format, instead: path.with_extension(format) })
        }
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn is_socket(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_socket(_: &Metadata) -> bool {
    false
}
