//! Keeps the files of one call apart: an output must not be another file of the call.

use super::{
    IoError,
    target::{check_target, final_path},
    write_atomic,
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Files that one call reads and writes. Ensures that no output replaces a model, an input or another output.
///
/// Files are identified by device and number if the system has these, so links and other spellings of a path are
/// recognised. Pipes and devices replace nothing, so they may occur twice.
#[derive(Debug, Default)]
pub struct DistinctFiles {
    read: Vec<CallFile>,
    written: Vec<CallFile>,
}

/// A file of the call.
#[derive(Debug)]
struct CallFile {
    /// Role in the call, with an article: "the model".
    what: String,
    path: PathBuf,
    identity: Option<FileIdentity>,
}

/// Identity of a file.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    /// Device and file number of an existing file.
    #[cfg(unix)]
    Number { device: u64, file: u64 },
    /// Path without links, for a file that does not exist yet or on systems without file numbers.
    Path(PathBuf),
}

impl DistinctFiles {
    /// Adds a file that the call reads.
    ///
    /// # Errors
    /// [`IoError::SameFile`] where an output that was noted is the same file.
    pub fn reads(&mut self, what: &str, path: &Path) -> Result<(), IoError> {
        let read = CallFile::new(what, path);
        self.written.iter().try_for_each(|written| written.check_apart(&read))?;
        self.read.push(read);
        Ok(())
    }

    /// Adds a file that the call will write, in an existing folder.
    ///
    /// # Errors
    /// Those of [`check_target`]; [`IoError::SameFile`] where it is a file that was noted.
    pub fn writes(&mut self, what: &str, path: &Path) -> Result<(), IoError> {
        check_target(path)?;
        let written = CallFile::new(what, path);
        self.read.iter().chain(&self.written).try_for_each(|other| written.check_apart(other))?;
        self.written.push(written);
        Ok(())
    }

    /// Checks again that all files are different, because links may have been created since they were added.
    ///
    /// # Errors
    /// [`IoError::SameFile`].
    pub fn check(&self) -> Result<(), IoError> {
        // Looks up all identities again, because a deleted file's number may have been reused.
        let now = |file: &CallFile| CallFile::new(&file.what, &file.path);
        let [read, written] = [&self.read, &self.written].map(|files| files.iter().map(now).collect::<Vec<_>>());
        for (i, file) in written.iter().enumerate() {
            read.iter().chain(&written[..i]).try_for_each(|other| file.check_apart(other))?;
        }
        Ok(())
    }

    /// Writes a file that was noted, whole or not at all.
    ///
    /// # Errors
    /// [`IoError::SameFile`] where it has become one of the others, [`IoError::Write`], [`IoError::DiskFull`].
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
        self.check()?;
        write_atomic(path, |file: &mut dyn Write| -> io::Result<()> { file.write_all(bytes) })
            .map_err(|error| IoError::write(path, error))
    }
}

impl CallFile {
    fn new(what: &str, path: &Path) -> Self {
        Self { what: what.to_owned(), path: path.to_owned(), identity: FileIdentity::of(path) }
    }

    /// Returns an error if this file, which is to be written, is the same as another one.
    fn check_apart(&self, other: &Self) -> Result<(), IoError> {
        if self.identity.is_none() || self.identity != other.identity {
            return Ok(());
        }
        let (path, what) = (self.path.clone(), self.what.clone());
        Err(IoError::SameFile { path, what, other: other.what.clone(), other_path: other.path.clone() })
    }
}

impl FileIdentity {
    /// Returns the identity of the file that `path` leads to or would create; `None` for a pipe or device.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            #[cfg(unix)]
            Ok(metadata) if metadata.is_file() => {
                use std::os::unix::fs::MetadataExt;
                Some(Self::Number { device: metadata.dev(), file: metadata.ino() })
            }
            #[cfg(not(unix))]
            Ok(metadata) if metadata.is_file() => path.canonicalize().ok().map(Self::Path),
            Ok(_) => None,
            Err(_) => final_path(path).map(Self::Path),
        }
    }
}
