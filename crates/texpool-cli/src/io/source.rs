//! Reads plain files and pipes, with limits on size and waiting time.

use super::IoError;
use std::{
    fs::{self, File, FileType},
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Timeout for the first writer of a pipe. Chosen: shells start both ends at once, and a person who starts the other
/// end by hand does so within seconds or has forgotten it.
const WRITER_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for a silent writer. Chosen for programs that compute their output and take a while to begin.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between checks of a pipe.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A plain file or a pipe, open for reading.
#[derive(Debug)]
pub(super) struct FileOrPipe {
    path: PathBuf,
    file: File,
    pipe: bool,
}

impl FileOrPipe {
    /// Opens a file or a pipe. Refuses folders, devices and sockets without opening them.
    pub(super) fn open(path: &Path) -> Result<Self, IoError> {
        let unreadable = |e| IoError::read(path, e);
        let readable = |kind: FileType| match other_than_data(kind) {
            Some(what) => Err(IoError::NotAFile { path: path.into(), what }),
            None => Ok(!kind.is_file()),
        };
        readable(fs::metadata(path).map_err(unreadable)?.file_type())?;
        let file = open_nonblocking(path).map_err(unreadable)?;
        // Checks the opened file again, because the path may lead to another one by now.
        let pipe = readable(file.metadata().map_err(unreadable)?.file_type())?;
        Ok(Self { path: path.into(), file, pipe })
    }

    /// Reads the rest of the file into `bytes`. Together they may have at most `most` bytes.
    pub(super) fn fill_whole(&mut self, bytes: &mut Vec<u8>, most: usize) -> Result<(), IoError> {
        // Checked first, to avoid reading in vain.
        let long = !self.pipe && self.file.metadata().is_ok_and(|metadata| metadata.len() > most as u64);
        if !long {
            // An extra byte shows that the file is too long.
            self.fill(bytes, most + 1)?;
        }
        if long || bytes.len() > most { Err(IoError::TooLarge { path: self.path.clone(), most }) } else { Ok(()) }
    }

    /// Appends bytes up to a total of `most`, or up to the end of the file.
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
                // A pipe also reads as ended before its first writer opens it.
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

/// Returns an error if `patience` has passed.
pub(super) fn check_timeout(since: Instant, patience: Duration, why: &str) -> io::Result<()> {
    if since.elapsed() < patience {
        return Ok(());
    }
    let seconds = patience.as_secs();
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("{why} for {seconds} s; start the other program first")))
}

/// Limit for a file that is read completely: 256 MiB, about ten million usage records.
const MAX_BYTES: usize = 256 << 20;

/// Reads a complete file, or everything from a pipe.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::TooLarge`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    FileOrPipe::open(path)?.fill_whole(&mut bytes, MAX_BYTES)?;
    Ok(bytes)
}

/// Reads a complete text file, or all text from a pipe.
///
/// # Errors
/// [`IoError::Read`], [`IoError::NotAFile`], [`IoError::TooLarge`], [`IoError::NotText`].
pub fn read_text(path: &Path) -> Result<String, IoError> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|e| IoError::NotText { path: path.into(), at: e.utf8_error().valid_up_to() })
}

/// Opens without waiting for a pipe's writer or for the carrier of a serial line.
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

/// Describes a path that is neither a plain file nor a pipe.
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
