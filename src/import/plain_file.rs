//! Opening plain files: never waiting, and never anything else that has the name.
//!
//! Opening a pipe waits for its other end, and opening a device may do anything. So the kind is asked before opening, and
//! again of the open file, since the name may stand for another file by then.

use std::{
    fs::{self, File, FileType, Metadata},
    io,
    path::Path,
};

/// Whether a symbolic link stands for the file that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// It does: users may name files by links.
    Followed,
    /// It is refused: no program links to files in a folder that texpool fills.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    Refused,
}

impl Links {
    fn metadata(self, path: &Path) -> io::Result<Metadata> {
        match self {
            Self::Followed => fs::metadata(path),
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            Self::Refused => fs::symlink_metadata(path),
        }
    }
}

/// A plain file that is open for reading, and what the system says of it.
///
/// # Errors
/// What is there is no plain file, which has the kind [`io::ErrorKind::InvalidInput`], or the system refuses to open it.
pub(crate) fn open_plain_file(path: &Path, links: Links) -> io::Result<(File, Metadata)> {
    check_plain(&links.metadata(path)?)?;
    let file = open(path, links)?;
    let found = file.metadata()?;
    check_plain(&found)?;
    Ok((file, found))
}

/// Refuses what is no plain file.
pub(crate) fn check_plain(found: &Metadata) -> io::Result<()> {
    match other_kind(found.file_type()) {
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

/// The kind of what is no plain file.
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
