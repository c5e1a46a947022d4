//! Files that persist between runs in a folder of the user.
//!
//! Others may write to that folder, too, so its contents are not trusted. Anything but a plain file is ignored and
//! never blocks us, and each reader verifies the contents. Only files under our temporary names are deleted
//! (`part_file.rs`); a kept file is replaced by another of the same name.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::Path,
};

use texpool_model::import::{Links, check_plain, open_plain_file};

/// Opens a kept file and returns its metadata; `None` if it does not exist.
pub fn open_kept(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    match open_plain_file(path, Links::Refused) {
        Ok(found) => Ok(Some(found)),
        // A parent folder that is actually a file also means that the kept file does not exist.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the contents of a kept file, at most `most` bytes; `None` if it does not exist.
pub fn read_kept(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some((file, found)) = open_kept(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    // Reads one byte more than allowed, to detect a file that grows meanwhile.
    if found.len() <= most && file.take(most + 1).read_to_end(&mut bytes)? as u64 <= most {
        return Ok(Some(bytes));
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")))
}

/// Returns an error if the path exists but is not a plain file: texpool did not create it, so it is not replaced.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) => check_plain(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens the file that processes lock, creating it if needed.
pub fn open_lock(path: &Path) -> io::Result<File> {
    check_replaceable(path)?;
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits() as i32);
    }
    let file = options.open(path)?;
    check_plain(&file.metadata()?)?;
    Ok(file)
}

/// Fills `bytes` from offset `at` of a file.
#[cfg(unix)]
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, at) = (&mut bytes[read..], at + read as u64),
        }
    }
    Ok(())
}
