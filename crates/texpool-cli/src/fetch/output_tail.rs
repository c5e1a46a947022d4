//! Collects a client's output while it runs. The output stays in memory, because the disk may be the cause of the
//! failure.

use std::{
    io::{self, PipeReader, PipeWriter, Read},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// Size of the end that is stored, in bytes, and number of lines that are shown. Both clients print the cause last.
const MAX_BYTES: usize = 1 << 14;
const MAX_LINES: usize = 8;
/// Timeout for the rest of the output after the client has ended. A process that it left behind may hold the pipe
/// open forever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The end of a client's output.
pub(super) struct OutputTail {
    tail: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl OutputTail {
    /// Starts a thread that reads from a pipe until the last copy of the returned writer is dropped.
    pub(super) fn capture() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let (end, ended) = mpsc::channel();
        let tail = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&tail);
        thread::Builder::new().name("client".into()).spawn(move || {
            read_into(reader, &heard);
            // The receiver may have been dropped already.
            let _ = end.send(());
        })?;
        Ok((Self { tail, ended }, writer))
    }

    /// Returns the last lines, once the client has ended.
    pub(super) fn last_lines(&self) -> String {
        // An error here means that the pipe is still open, or was closed long ago. Either way no more output is
        // expected.
        let _ = self.ended.recv_timeout(DRAIN_TIMEOUT);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(MAX_LINES)..].join("\n")
    }
}

fn read_into(mut reader: PipeReader, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&buffer[..read]);
        let excess = tail.len().saturating_sub(MAX_BYTES);
        tail.drain(..excess);
    }
}
