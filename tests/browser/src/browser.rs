//! The browser.

use std::{
    io,
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Debian's package of it, and the program.
const PROGRAM: &str = "chromium-headless-shell";

/// A browser, which ends with its handle.
pub(crate) struct Browser(Child);

impl Browser {
    /// Starts it, with a profile of its own.
    pub(crate) fn start(page: SocketAddr, profile: &Path) -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command
            // WebGPU on SwiftShader, which it carries.
            .args(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"])
            // Its sandbox is none that a container's administrator may have.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{page}/"))
            // It is not told how to be quiet about a desktop that is not there.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The program is a script that starts the browser, and that starts others: all end together.
            .process_group(0);
        let child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{PROGRAM}: {error}; `apt-get install {PROGRAM}` installs it"))
        })?;
        Ok(Self(child))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}
