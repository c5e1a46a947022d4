//! Sets up a machine without a GPU adapter: where the user asks for it, installs the software Vulkan driver by package
//! name. Knows package managers, and of the executor only whether it finds an adapter.

mod device_ceiling;
mod device_profile;
mod kept_measurement;
mod tuned_blocks;

pub use device_ceiling::{device_ceiling, kept_device_ceiling};
pub use device_profile::{clock_of, clock_time, device_profile, kept_device_profile};
pub use tuned_blocks::{device_blocks, keep_device_blocks, tuned_blocks};

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};
use texpool::Context;
use texpool_gpu::{self, Gpu, GpuError, GpuOptions};

/// Debian's and Ubuntu's packages for a Vulkan device on any machine.
const PACKAGES: [&str; 2] = ["libvulkan1", "mesa-vulkan-drivers"];

/// Errors of setting up a machine: no adapter exists and none could be installed, or the device failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No adapter exists, and only the user can install one.
    #[error("no GPU adapter was found, and {why}; {hint}")]
    NoAdapter {
        /// Why nothing was installed.
        why: &'static str,
        /// Instructions.
        hint: String,
    },
    /// No adapter exists, and the installation was not requested.
    #[error("no GPU adapter was found, and installing one was not asked for; as root, {by_hand}")]
    NotAsked {
        /// Command to run.
        by_hand: String,
    },
    /// The package manager could not be started.
    #[error("no GPU adapter was found, and `{command}` could not be started: {source}")]
    Start {
        /// The command line.
        command: String,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The package manager failed.
    #[error("no GPU adapter was found, and `{command}` failed ({status}); what it printed stands above")]
    Install {
        /// The command line.
        command: String,
        /// Exit status.
        status: ExitStatus,
    },
    /// The driver was installed, but there is still no adapter.
    #[error(
        "no GPU adapter was found although the software Vulkan driver is installed; check VK_DRIVER_FILES, \
         VK_ICD_FILENAMES, WGPU_BACKEND and what `vulkaninfo --summary` (package vulkan-tools) says"
    )]
    StillNone,
    /// An adapter exists but cannot be opened.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Properties of the machine that matter for the installation.
#[derive(Clone, Debug)]
pub struct System {
    /// The file that names the distribution. Tests replace it and the fields below.
    pub os_release: PathBuf,
    /// The package manager.
    pub apt_get: OsString,
    /// The program that runs a command as root, if it asks for no password.
    pub sudo: OsString,
    /// Command that prints the user's ID.
    pub id: OsString,
    /// True if the user forbids the installation (`TEXPOOL_NO_INSTALL` is set).
    pub forbidden: bool,
}

impl Default for System {
    fn default() -> Self {
        Self {
            os_release: "/etc/os-release".into(),
            apt_get: "apt-get".into(),
            sudo: "sudo".into(),
            id: "id".into(),
            forbidden: std::env::var_os("TEXPOOL_NO_INSTALL").is_some_and(|v| !v.is_empty()),
        }
    }
}

/// Permission to install the software Vulkan driver on a machine without an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Install {
    /// No; the error says what to run.
    #[default]
    Never,
    /// Ask the user on the terminal. If standard input or standard error is not a terminal, nothing is installed.
    Ask,
    /// Yes, the user asked for it.
    Yes,
}

/// Opens an adapter. If none exists and `install` permits it, installs the software Vulkan driver first (`apt-get`,
/// as root or through a `sudo` without password) and reports this on standard error. The user's `TEXPOOL_NO_INSTALL`
/// forbids the installation whatever `install` says.
///
/// # Errors
/// Every [`SetupError`].
pub fn open_gpu(options: &GpuOptions, install: Install) -> Result<Gpu, SetupError> {
    match Gpu::open(options) {
        Err(GpuError::NoAdapter { .. }) => {
            System::default().ensure(install, confirmed, || !texpool_gpu::adapters().is_empty())?;
            Ok(Gpu::open(options)?)
        }
        opened => Ok(opened?),
    }
}

/// Like [`open_gpu`], but returns a context.
///
/// # Errors
/// The same as for [`open_gpu`].
pub fn open_context(options: &GpuOptions, install: Install) -> Result<Context, SetupError> {
    Ok(Context::from_gpu(open_gpu(options, install)?))
}

/// Asks the question on the terminal. Returns true if the user answers yes.
fn confirmed(question: &str) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stderr().flush().and_then(|()| io::stdin().read_line(&mut answer));
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

impl System {
    /// Ensures that an adapter exists. `present` returns true if one exists now. `confirmed` asks the user a
    /// question, if `install` is [`Install::Ask`].
    ///
    /// # Errors
    /// Every [`SetupError`].
    pub fn ensure(
        &self,
        install: Install,
        confirmed: impl Fn(&str) -> bool,
        present: impl Fn() -> bool,
    ) -> Result<(), SetupError> {
        if present() {
            return Ok(());
        }
        let by_hand = format!("run: apt-get update && apt-get install -y {}", PACKAGES.join(" "));
        let refuse = |why, hint| Err(SetupError::NoAdapter { why, hint });
        if !self.is_debian() {
            let hint = "install a Vulkan driver (Mesa's lavapipe runs on any machine; on Linux its package is called \
                          mesa-vulkan-drivers, vulkan-swrast or mesa-vulkan-swrast)";
            return refuse("this is not Debian or Ubuntu", hint.into());
        }
        if self.forbidden {
            return refuse("TEXPOOL_NO_INSTALL forbids installing one", by_hand);
        }
        let question = format!("no GPU adapter; install the software Vulkan driver ({})?", PACKAGES.join(" "));
        if install == Install::Never || (install == Install::Ask && !confirmed(&question)) {
            return Err(SetupError::NotAsked { by_hand });
        }
        let Some(prefix) = self.root_prefix() else {
            return refuse("installing one takes rights that this user has not", format!("as root, {by_hand}"));
        };
        eprintln!("no GPU adapter; installing the software Vulkan driver: {}", PACKAGES.join(" "));
        // Containers often come without package lists.
        self.apt(&prefix, &["update"])?;
        self.apt(&prefix, &[&["install", "-y", "--no-install-recommends"], &PACKAGES[..]].concat())?;
        if present() { Ok(()) } else { Err(SetupError::StillNone) }
    }

    fn is_debian(&self) -> bool {
        let text = std::fs::read_to_string(&self.os_release).unwrap_or_default();
        // Derived distributions name themselves in ID, and their origin in ID_LIKE.
        let ids = text.lines().filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")));
        ids.flat_map(|ids| ids.trim_matches('"').split(' ')).any(|id| id == "debian" || id == "ubuntu")
    }

    /// Returns the prefix that makes a command run as root: nothing, or `sudo`. Returns `None` if neither is
    /// possible.
    fn root_prefix(&self) -> Option<Vec<OsString>> {
        let root = Command::new(&self.id).arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
        if root {
            return Some(vec![]);
        }
        let mut sudo = Command::new(&self.sudo);
        // `-n` fails where sudo would ask for a password.
        let passwordless =
            sudo.args(["-n", "true"]).stdin(Stdio::null()).output().is_ok_and(|out| out.status.success());
        passwordless.then(|| vec![self.sudo.clone(), "-n".into()])
    }

    /// The output of apt goes to standard error, so that standard output has the result only.
    fn apt(&self, prefix: &[OsString], args: &[&str]) -> Result<(), SetupError> {
        let mut words = prefix.to_vec();
        // Set through `env`, because sudo passes no variables on.
        words.extend(["env".into(), "DEBIAN_FRONTEND=noninteractive".into(), self.apt_get.clone()]);
        words.extend(args.iter().map(OsString::from));
        let line = || words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut command = Command::new(&words[0]);
        let status = command.args(&words[1..]).stdin(Stdio::null()).stdout(io::stderr()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(SetupError::Install { command: line(), status }),
            Err(source) => Err(SetupError::Start { command: line(), source }),
        }
    }
}
