//! Arguments for `pip`: one package by version and hash, without running any of its code.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Arguments common to all calls. pip's retries are limited to one, because [`super::STALL`] limits the waiting time.
const QUIET: [&str; 7] =
    ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "1"];

/// Downloads one package. pip compares its hash before it opens the package.
pub(super) struct Download<'a> {
    pub(super) package: &'a str,
    pub(super) version: &'a str,
    pub(super) sha256: &'a str,
    /// Locations of the files: requirements, the substitute for a build, and the download below `package`.
    pub(super) work: &'a Path,
}

impl Download<'_> {
    /// Writes the files that pip reads.
    pub(super) fn write(&self) -> io::Result<()> {
        let Self { package, version, sha256, .. } = self;
        fs::write(self.requirements(), format!("{package}=={version} --hash=sha256:{sha256}\n"))?;
        let setuptools = self.work.join("build").join("setuptools");
        fs::create_dir_all(&setuptools)?;
        fs::write(setuptools.join("__init__.py"), "")?;
        fs::write(setuptools.join("build_meta.py"), self.stub_build_backend())
    }

    /// To learn the name and version of a source package, pip runs the package's own build. That would run arbitrary
    /// code and install unpinned requirements. This substitute for the build states the requested name and version.
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

    /// Downloads a wheel, which needs no build.
    pub(super) fn wheel(&self, command: &mut Command, python: &str, abi: &str, platform: &str) {
        self.configure(command);
        command.arg("--only-binary=:all:");
        command.args(["--python-version", python, "--abi", abi, "--platform", platform, "--implementation", "cp"]);
    }

    /// Downloads a source package.
    pub(super) fn source(&self, command: &mut Command) {
        self.configure(command);
        // With build isolation, pip would install the build's requirements and not use the substitute for the build.
        command.args(["--no-binary=:all:", "--use-pep517", "--no-build-isolation"]);
        command.env("PYTHONPATH", self.work.join("build"));
    }
}

/// Installs the wheels of a requirements file, all pinned by hash, into a folder.
pub(super) fn install(command: &mut Command, requirements: &Path, into: &Path) {
    command.args(["install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]).args(QUIET);
    command.arg("--target").arg(into).arg("--requirement").arg(requirements);
}
