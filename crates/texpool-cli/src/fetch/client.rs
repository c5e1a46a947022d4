//! Runs the package clients `npm` and `pip`.

use super::{
    FetchError, Progress, Registry, STALL, Source,
    job::{Job, LOCAL_STALL},
    pip,
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use texpool_models::{MAKE, MAKE_REQUIREMENTS};

/// Total bytes of the packages that the script for models needs, used only for the progress bar.
const MAKE_NEEDS_BYTES: u64 = 42_000_000;
const PIP: &str = "apt-get install python3-pip (or see pip.pypa.io)";

/// The programs that fetch.
#[derive(Clone, Debug)]
pub struct Clients {
    /// npm's client.
    pub npm: OsString,
    /// Candidates for Python's client; the first one that is installed is used.
    pub pip: Vec<OsString>,
    /// Candidates for Python itself; the first one that is installed is used. It writes models that are in no
    /// package.
    pub python: Vec<OsString>,
    /// Longest time without progress before a client is stopped.
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
    /// Downloads the package of `source` into a new folder under `work`. Returns the path of the package.
    pub(super) fn download(
        &self,
        source: &Source,
        work: &Path,
        progress: &dyn Progress,
    ) -> Result<PathBuf, FetchError> {
        let failed = |e| FetchError::folder(work, e);
        // The client runs in this folder, so its path must not depend on where this program runs.
        let work = &std::path::absolute(work).map_err(failed)?;
        let folder = work.join("package");
        fs::create_dir(&folder).map_err(failed)?;
        let Source { package, version, .. } = source;
        let (programs, hint) = match source.registry {
            Registry::Npm => (std::slice::from_ref(&self.npm), "apt-get install npm (or see nodejs.org)"),
            Registry::Pip { .. } | Registry::Sdist { .. } => (&self.pip[..], PIP),
        };
        if let Registry::Pip { archive_sha256: sha256, .. } | Registry::Sdist { archive_sha256: sha256 } =
            &source.registry
        {
            pip::Download { package, version, sha256, work }.write().map_err(failed)?;
        }
        let job = Job {
            programs,
            hint,
            configure: &|command| configure(command, source, work),
            line: &|program| line(program, source),
            label: source.label(),
            bytes: source.archive_bytes,
            stall: self.stall,
        };
        let line = job.run(work, progress)?;
        let mut packages = files(&folder).map_err(failed)?;
        match (packages.len(), packages.pop()) {
            (1, Some(package)) => Ok(package),
            (found, _) => Err(FetchError::NotOnePackage { command: line, found }),
        }
    }

    /// Writes a model with `models/make.py`. The script's packages are installed into `work` and removed with it.
    pub(super) fn make(
        &self,
        network: &str,
        from: &OsString,
        to: &Path,
        work: &Path,
        progress: &dyn Progress,
    ) -> Result<(), FetchError> {
        let failed = |e| FetchError::folder(work, e);
        let work = &std::path::absolute(work).map_err(failed)?;
        let (site, script, requirements) = (work.join("site"), work.join("make.py"), work.join("requirements.txt"));
        fs::write(&script, MAKE).map_err(failed)?;
        fs::write(&requirements, MAKE_REQUIREMENTS).map_err(failed)?;
        let install = Job {
            programs: &self.pip,
            hint: PIP,
            configure: &|command| pip::install(command, &requirements, &site),
            line: &|program| format!("{} install -r models/requirements.txt", program.to_string_lossy()),
            label: "pip onnx, numpy".into(),
            bytes: MAKE_NEEDS_BYTES,
            stall: self.stall,
        };
        install.run(work, progress)?;
        let write = Job {
            programs: &self.python,
            hint: "apt-get install python3 (or see python.org)",
            configure: &|command| {
                command.arg(&script).arg(network).arg(from).arg(to).env("PYTHONPATH", &site);
            },
            line: &|program| format!("{} models/make.py {network}", program.to_string_lossy()),
            label: format!("writing {network}"),
            bytes: 0,
            stall: LOCAL_STALL,
        };
        write.run(work, progress)?;
        Ok(())
    }
}

/// Returns the command that a user would type to fetch the same package.
fn line(program: &OsString, source: &Source) -> String {
    let program = program.to_string_lossy();
    let Source { package, version, .. } = source;
    match source.registry {
        Registry::Npm => format!("{program} pack {package}@{version}"),
        Registry::Pip { .. } => format!("{program} download --no-deps {package}=={version}"),
        Registry::Sdist { .. } => format!("{program} download --no-deps --no-binary=:all: {package}=={version}"),
    }
}

/// All files that a client writes go under `work`, so that its progress can be measured and nothing is left behind.
fn configure(command: &mut Command, source: &Source, work: &Path) {
    let Source { package, version, .. } = source;
    match &source.registry {
        Registry::Npm => {
            // No script of the package runs. Retries are short and few, because `STALL` limits the waiting time.
            command.args(["pack", &format!("{package}@{version}"), "--ignore-scripts", "--loglevel", "error"]);
            command.args(["--fetch-retries", "1", "--fetch-retry-mintimeout", "1000"]);
            command.arg("--pack-destination").arg(work.join("package"));
            command.arg("--cache").arg(work.join("npm"));
            command.env("NO_UPDATE_NOTIFIER", "1");
        }
        Registry::Pip { python, abi, platform, archive_sha256: sha256 } => {
            pip::Download { package, version, sha256, work }.wheel(command, python, abi, platform);
        }
        Registry::Sdist { archive_sha256: sha256 } => pip::Download { package, version, sha256, work }.source(command),
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}
