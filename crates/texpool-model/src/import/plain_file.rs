//! Opens regular files, without ever blocking, and refuses everything else.
//!
//! Opening a pipe blocks until its other end is opened, and opening a device can have any effect. The file type is
//! therefore checked before opening, and again on the open file, since the name may refer to another file by then.

use std::{
    fs::{self, File, FileType, Metadata},
    io,
    path::Path,
};

/// Treatment of symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Links are followed: users may name files by links.
    Followed,
    /// Links are refused: texpool creates no links in the folders that it fills.
    #[cfg(not(target_arch = "wasm32"))]
    Refused,
}

impl Links {
    fn metadata(self, path: &Path) -> io::Result<Metadata> {
        match self {
            Self::Followed => fs::metadata(path),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Refused => fs::symlink_metadata(path),
        }
    }
}

/// Returns the folder that holds `path`.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a regular file for reading, and returns it with its metadata.
///
/// # Errors
/// Fails with [`io::ErrorKind::InvalidInput`] if the path is not a regular file, or with the system's error if it
/// cannot be opened.
pub fn open_plain_file(path: &Path, links: Links) -> io::Result<(File, Metadata)> {
    check_plain(&links.metadata(path)?)?;
    let file = open(path, links)?;
    let metadata = file.metadata()?;
    check_plain(&metadata)?;
    Ok((file, metadata))
}

/// Fails for everything except regular files.
pub fn check_plain(metadata: &Metadata) -> io::Result<()> {
    match other_kind(metadata.file_type()) {
        None => Ok(()),
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a plain file"))),
    }
}

#[cfg(unix)]
fn open(path: &Path, links: Links) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;

    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links != Links::Followed {
        flags |= OFlags::NOFOLLOW;
    }
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: Links) -> io::Result<File> {
    File::open(path)
}

/// Describes the type of a file, or returns `None` for a regular file.
fn other_kind(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_symlink() => Some("a symbolic link"),
        _ => Some("a device"),
    }
}
