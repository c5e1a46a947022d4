//! Runs a package client under supervision. The client and all its child processes are stopped when no more data
//! arrives or when the user interrupts.

use super::{FetchError, Progress, output_tail::OutputTail};
use std::{
    ffi::OsString,
    fs, io,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Interval between checks of the download. Neither clients nor registries report progress, so the growing files are
/// measured.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time without progress after which the user is notified.
const SILENCE_NOTICE: Duration = Duration::from_secs(3);
/// Processor time that counts as activity of a starting client, in the system's ticks, usually 10 ms each. Chosen,
/// after pip took longer to start than [`STALL`](super::STALL) where ten processes shared two cores.
const BUSY_TICKS: u64 = 10;
/// Longest time without progress for a program that needs no network. Longer than for a registry, because
/// `models/make.py` writes its file at the end.
pub(super) const LOCAL_STALL: Duration = Duration::from_secs(120);

/// A program to be run.
pub(super) struct Job<'a> {
    /// Candidates for the program; the first one that is installed is run.
    pub(super) programs: &'a [OsString],
    /// Command that installs the program.
    pub(super) hint: &'static str,
    /// Adds the arguments.
    pub(super) configure: &'a dyn Fn(&mut Command),
    /// Command that a user would type for the same job.
    pub(super) line: &'a dyn Fn(&OsString) -> String,
    /// Description of the job, for messages.
    pub(super) label: String,
    /// Bytes that will arrive, for the progress bar.
    pub(super) bytes: u64,
    /// Longest time without progress.
    pub(super) stall: Duration,
}

impl Job<'_> {
    /// Runs the first of the programs that is installed and waits for it to succeed. Returns its command line.
    pub(super) fn run(&self, work: &Path, progress: &dyn Progress) -> Result<String, FetchError> {
        // This comes before the client starts, so that no interrupt leaves a client behind.
        progress.start(&self.label, self.bytes);
        let ran = self.run_watched(work, progress);
        progress.end();
        ran
    }

    fn run_watched(&self, work: &Path, progress: &dyn Progress) -> Result<String, FetchError> {
        let (child, line, output) = self.start(work)?;
        let status = self.wait(child, &line, work, progress)?;
        if status.success() { Ok(line) } else { Err(explain(line, status, output.last_lines(), work)) }
    }

    /// Starts the program. Also returns its command line and its output.
    fn start(&self, work: &Path) -> Result<(Child, String, OutputTail), FetchError> {
        for program in self.programs {
            let mut command = Command::new(program);
            (self.configure)(&mut command);
            // Temporary files count as progress too, and are removed with the folder.
            command.current_dir(work).env("TMPDIR", work);
            // A separate process group: npm and pip start child processes, which must end with them.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            let line = (self.line)(program);
            let failed = |e| FetchError::Start { command: line.clone(), source: e };
            let (output, out) = OutputTail::capture().map_err(failed)?;
            let err = out.try_clone().map_err(failed)?;
            // Standard input is empty, so that a client that asks a question does not wait for an answer.
            match command.stdin(Stdio::null()).stdout(out).stderr(err).spawn() {
                Ok(child) => return Ok((child, line, output)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let client = self.programs.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        Err(FetchError::NoClient { client, hint: self.hint })
    }

    /// Waits for the client and reports to `progress` how many bytes of the package it has written.
    fn wait(
        &self,
        mut child: Child,
        line: &str,
        work: &Path,
        progress: &dyn Progress,
    ) -> Result<ExitStatus, FetchError> {
        let failed = |source| FetchError::Start { command: line.into(), source };
        let (mut most, mut notified) = (written(work), false);
        let (mut active, mut worked) = (Instant::now(), 0);
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(status);
            }
            let now = written(work);
            // Compares with the largest size up to now: clients also remove files, which does not count as progress.
            if now.all > most.all {
                (most, notified, active) = (now, false, Instant::now());
                progress.arrived(most.largest);
            }
            // On a busy machine a client may need long before its first request; processor time counts as progress
            // until then. After the first request only bytes count, because a waiting client uses some processor
            // time, too.
            let works = ticks(child.id());
            if works > worked + BUSY_TICKS {
                worked = works;
                if self.bytes == 0 || !has_socket(child.id()) {
                    active = Instant::now();
                }
            }
            let silence = active.elapsed();
            if silence > SILENCE_NOTICE.min(self.stall) && !notified {
                notified = true;
                // A job without a download does not contact a registry.
                if self.bytes > 0 {
                    progress.silent(line, self.stall);
                }
            }
            if progress.stopped() {
                stop(&mut child).map_err(failed)?;
                return Err(FetchError::Interrupted { command: line.into() });
            }
            if silence > self.stall {
                stop(&mut child).map_err(failed)?;
                return Err(FetchError::Stalled { command: line.into(), seconds: self.stall.as_secs() });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Ends the client and all its child processes. The client may have ended meanwhile. Either way the function waits
/// for it, so that no zombie remains.
fn stop(child: &mut Child) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // An error means that nobody is left in the group.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.kill()?;
    child.wait().map(drop)
}

/// Returns the processor time that a process has used, in ticks; 0 on systems without `/proc`.
fn ticks(process: u32) -> u64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return 0 };
    // The program's name, in parentheses, may contain any character. The third and all later fields follow it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace();
    // Fields 14 and 15, the time in user and in kernel mode.
    fields.skip(14 - 3).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// Returns true if a process has a socket open; `false` on systems without `/proc`.
fn has_socket(process: u32) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|to| to.to_string_lossy().starts_with("socket:"))
}

/// Sizes of the files below a folder.
#[derive(Clone, Copy, Default)]
struct Written {
    all: u64,
    /// Size of the largest file, which is the package.
    largest: u64,
}

/// Files appear and disappear while a client works, so files that cannot be read are skipped.
fn written(folder: &Path) -> Written {
    let Ok(entries) = fs::read_dir(folder) else { return Written::default() };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => written(&entry.path()),
        Ok(meta) if meta.is_file() => Written { all: meta.len(), largest: meta.len() },
        _ => Written::default(),
    };
    let add = |a: Written, b: Written| Written { all: a.all + b.all, largest: a.largest.max(b.largest) };
    entries.flatten().map(of).fold(Written::default(), add)
}

/// The exit codes of npm and pip do not distinguish failures, so the common ones are recognised by their output.
fn explain(command: String, status: ExitStatus, output: String, work: &Path) -> FetchError {
    const FULL: [&str; 2] = ["ENOSPC", "No space left on device"];
    const OTHER: &str = "DO NOT MATCH THE HASHES";
    const OFFLINE: [&str; 11] = [
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ETIMEDOUT",
        "ENETUNREACH",
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "NameResolutionError",
        "Temporary failure in name resolution",
        "Network is unreachable",
    ];
    let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
    if says(&FULL) {
        FetchError::DiskFull { path: work.into() }
    } else if says(&[OTHER]) {
        FetchError::WrongPackage { command, output }
    } else if says(&OFFLINE) {
        FetchError::Offline { command, output }
    } else {
        FetchError::Client { command, status: status.to_string(), output }
    }
}
