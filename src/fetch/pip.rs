//! What `pip` is told: one package by version and hash, and nothing of it is to run.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Common to all that pip is asked for. Its own retries are off but for one: [`super::STALL`] is what bounds a wait.
const QUIET: [&str; 7] =
    ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "1"];

/// Downloads one package, whose hash pip compares before it looks into it.
pub(super) struct Download<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    pub(super) sha256: &'a str,
    /// Where its files go: requirements, the stand-in for a build, and below `package` the download.
    pub(super) work: &'a Path,
}

impl Download<'_> {
    /// Writes what pip is to read.
    pub(super) fn write(&self) -> io::Result<()> {
        let Self { package, version, sha256, .. } = self;
        fs::write(self.requirements(), format!("{package}=={version} --hash=sha256:{sha256}\n"))?;
        let setuptools = self.work.join("build").join("setuptools");
        fs::create_dir_all(&setuptools)?;
        fs::write(setuptools.join("__init__.py"), "")?;
        fs::write(setuptools.join("build_meta.py"), self.stub_build_backend())
    }

    /// pip has a source package state its name and version by its own build, which would run whatever lies in it and
    /// install what that asks for, in any version. This stands in for the build: it states what was asked for.
    fn stub_build_backend(&self) -> String {
        let Self { package, version, .. } = self;
        // pip compares the folder's name, too.
        let folder = package.replace(['-', '.'], "_");
        format!(
            r#"import pathlib


class __legacy__:
    @staticmethod
    def get_requires_for_build_wheel(config_settings=None):
        return []

    @staticmethod
    def prepare_metadata_for_build_wheel(folder, config_settings=None):
        made = pathlib.Path(folder) / "{folder}-{version}.dist-info"
        made.mkdir()
        (made / "METADATA").write_text("Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        return made.name
"#
        )
    }

    fn requirements(&self) -> PathBuf {
        self.work.join("requirements.txt")
    }

    fn configure(&self, command: &mut Command) {
        command.args(["download", "--no-deps", "--require-hashes"]).args(QUIET);
        command.arg("--requirement").arg(self.requirements());
        command.arg("--dest").arg(self.work.join("package"));
    }

    /// A wheel: nothing is built.
    pub(super) fn wheel(&self, command: &mut Command, python: &str, abi: &str, platform: &str) {
        self.configure(command);
        command.arg("--only-binary=:all:");
        command.args(["--python-version", python, "--abi", abi, "--platform", platform, "--implementation", "cp"]);
    }

    /// A source package.
    pub(super) fn source(&self, command: &mut Command) {
        self.configure(command);
        // Isolated, pip would install what the build asks for and not see the stand-in for it.
        command.args(["--no-binary=:all:", "--use-pep517", "--no-build-isolation"]);
        command.env("PYTHONPATH", self.work.join("build"));
    }
}

/// Installs the wheels of a file of requirements, all with their hashes, into a folder.
pub(super) fn install(command: &mut Command, requirements: &Path, into: &Path) {
    command.args(["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]).args(QUIET);
    command.arg("--target").arg(into).arg("--requirement").arg(requirements);
}
