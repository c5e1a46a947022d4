//! Reading plain files and pipes: never more than was asked for, and never waiting without end.

use super::IoError;
use std::{
    fs::{self, File, FileType},
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long to wait for the first writer of a pipe. Chosen: shells start both ends at once, and a person who starts the
/// other end by hand does so within seconds or has forgotten it.
const WRITER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a writer may be silent. Chosen for programs that compute what they write and take a while to begin.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a pipe is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A plain file or a pipe, open for reading.
#[derive(Debug)]
pub(super) struct FileOrPipe {
    path: PathBuf,
    file: File,
    pipe: bool,
}

impl FileOrPipe {
    /// Opens a file or a pipe; folders, devices and sockets are refused without being opened.
    pub(super) fn open(path: &Path) -> Result<Self, IoError> {
        let unreadable = |e| IoError::read(path, e);
        let readable = |kind: FileType| match other_than_data(kind) {
            Some(what) => Err(IoError::NotAFile { path: path.into(), what }),
            None => Ok(!kind.is_file()),
        };
        readable(fs::metadata(path).map_err(unreadable)?.file_type())?;
        let file = open_nonblocking(path).map_err(unreadable)?;
        // Asked again of what was opened, which may be another thing by now.
        let pipe = readable(file.metadata().map_err(unreadable)?.file_type())?;
        Ok(Self { path: path.into(), file, pipe })
    }

    /// Reads everything that is left behind `bytes`, which must be no more than `most` together.
    pub(super) fn fill_whole(&mut self, bytes: &mut Vec<u8>, most: usize) -> Result<(), IoError> {
        // Asked first, so that nothing is read in vain.
        let long = !self.pipe && self.file.metadata().is_ok_and(|found| found.len() > most as u64);
        if !long {
            // One byte too many shows that there are more.
            self.fill(bytes, most + 1)?;
        }
        if long || bytes.len() > most { Err(IoError::TooLarge { path: self.path.clone(), most }) } else { Ok(()) }
    }

    /// Appends bytes until there are `most` or there are no more.
    pub(super) fn fill(&mut self, bytes: &mut Vec<u8>, most: usize) -> Result<(), IoError> {
        let rest = most.saturating_sub(bytes.len());
        let read = if self.pipe {
            self.fill_from_pipe(bytes, most)
        } else {
            Read::take(&self.file, rest as u64).read_to_end(bytes).map(|_| ())
        };
        read.map_err(|e| IoError::read(&self.path, e))
    }

    fn fill_from_pipe(&mut self, bytes: &mut Vec<u8>, most: usize) -> io::Result<()> {
        let mut received = !bytes.is_empty();
        let mut chunk = [0; 1 << 16];
        let mut since = Instant::now();
        while bytes.len() < most {
            let room = chunk.len().min(most - bytes.len());
            match self.file.read(&mut chunk[..room]) {
                // A pipe reads as ended before its first writer opens it, too.
                Ok(0) if received => return Ok(()),
                Ok(0) => check_timeout(since, WRITER_TIMEOUT, "nobody has written to this pipe")?,
                Ok(read) => {
                    bytes.extend_from_slice(&chunk[..read]);
                    (received, since) = (true, Instant::now());
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    check_timeout(since, SILENCE_TIMEOUT, "the program that writes to this pipe has been silent")?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

/// An error if `patience` has passed.
pub(super) fn check_timeout(since: Instant, patience: Duration, why: &str) -> io::Result<()> {
    if since.elapsed() < patience {
        return Ok(());
    }
    let seconds = patience.as_secs();
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("{why} for {seconds} s; start the other program first")))
}

/// The most bytes of a file that is read whole: 256 MiB, some ten million usage records.
const MAX_BYTES: usize = 256 << 20;

/// Reads a whole file, or what comes out of a pipe.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::TooLarge`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    FileOrPipe::open(path)?.fill_whole(&mut bytes, MAX_BYTES)?;
    Ok(bytes)
}

/// Reads a whole text file, or what comes out of a pipe.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::TooLarge`], [`IoError::NotText`].
pub fn read_text(path: &Path) -> Result<String, IoError> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|e| IoError::NotText { path: path.into(), at: e.utf8_error().valid_up_to() })
}

/// Opens without waiting, neither for a pipe's writer nor for a line's carrier.
#[cfg(unix)]
fn open_nonblocking(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32).open(path)
}

#[cfg(not(unix))]
fn open_nonblocking(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// What it is, if neither a plain file nor a pipe.
#[cfg(unix)]
fn other_than_data(kind: FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_file() || kind.is_fifo() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(not(unix))]
fn other_than_data(kind: FileType) -> Option<&'static str> {
    if kind.is_dir() { Some("a folder") } else { None }
}
