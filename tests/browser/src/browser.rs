//! The browser.

use std::{
    io,
    net::SocketAddr,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// The program, and the Debian package that contains it.
const PROGRAM: &str = "chromium-headless-shell";

/// A running browser; dropping it ends the browser.
pub(crate) struct Browser(Child);

impl Browser {
    /// Starts the browser with a fresh profile.
    pub(crate) fn start(page: SocketAddr, profile: &Path) -> io::Result<Self> {
        let mut command = Command::new(PROGRAM);
        command
            // WebGPU on the SwiftShader that comes with the browser.
            .args(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"])
            // The browser's sandbox does not work for root in a container.
            .args(["--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{page}/"))
            // Discards the browser's complaints about a missing desktop, which no option silences.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The program is a script that starts the browser, which starts more processes. A process group lets all
            // of them be ended together.
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
