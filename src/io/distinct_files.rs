//! The files of one call: none that is written may be another one of them.

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

/// The files that one call reads and writes, so that no output takes the place of a model, an input or another output.
///
/// Files are told apart by device and number where the system has these, so that links of either kind and other
/// spellings of a path hide nothing. Pipes and devices are written through and replace nothing; they may be given twice.
#[derive(Debug, Default)]
pub struct DistinctFiles {
    read: Vec<CallFile>,
    written: Vec<CallFile>,
}

/// A file of a call.
#[derive(Debug)]
struct CallFile {
    /// What it is to the call, with its article: "the model".
    what: String,
    path: PathBuf,
    identity: Option<FileIdentity>,
}

/// What tells files apart.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    /// Of a file that is there, where files have numbers.
    #[cfg(unix)]
    Number { device: u64, file: u64 },
    /// Where a file would be made, or is where files have no numbers: without links.
    Path(PathBuf),
}

impl DistinctFiles {
    /// Notes a file that the call reads.
    ///
    /// # Errors
    /// [`IoError::SameFile`] where an output that was noted is the same file.
    pub fn reads(&mut self, what: &str, path: &Path) -> Result<(), IoError> {
        let read = CallFile::new(what, path);
        self.written.iter().try_for_each(|written| written.check_apart(&read))?;
        self.read.push(read);
        Ok(())
    }

    /// Notes a file that the call will write, in a folder that is there.
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

    /// Looks once more whether all are different files: links may have been made since they were noted.
    ///
    /// # Errors
    /// [`IoError::SameFile`].
    pub fn check(&self) -> Result<(), IoError> {
        // All anew: a file that is gone may have left its number to another.
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

    /// Refuses to write this file where it is the same as another one.
    fn check_apart(&self, other: &Self) -> Result<(), IoError> {
        if self.identity.is_none() || self.identity != other.identity {
            return Ok(());
        }
        let (path, what) = (self.path.clone(), self.what.clone());
        Err(IoError::SameFile { path, what, other: other.what.clone(), other_path: other.path.clone() })
    }
}

impl FileIdentity {
    /// That of the file that `path` leads to, or would make; none for what is no plain file.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            #[cfg(unix)]
            Ok(found) if found.is_file() => {
                use std::os::unix::fs::MetadataExt;
                Some(Self::Number { device: found.dev(), file: found.ino() })
            }
            #[cfg(not(unix))]
            Ok(found) if found.is_file() => path.canonicalize().ok().map(Self::Path),
            Ok(_) => None,
            Err(_) => final_path(path).map(Self::Path),
        }
    }
}
