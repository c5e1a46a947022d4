//! This test binary in a child process.

use std::{ffi::OsStr, process::Command};

use crate::{
    planned::{PROCESS, STARTED_BY},
    tiling::networks,
};

/// A run of this binary's tests in preparation: all except those of the witnesses.
pub(crate) struct Child {
    command: Command,
}

/// Result of the child process.
pub(crate) struct Outcome {
    /// Everything that was printed: by tests, drivers and layers.
    pub(crate) output: String,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

impl Child {
    pub(crate) fn new() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--show-output", "--skip", "witness::"])
            .env_remove("WGPU_ADAPTER_NAME")
            .env("RUST_BACKTRACE", "0")
            .env(STARTED_BY, &*PROCESS);
        Self { command }
    }

    /// Runs only tests whose path contains `name`.
    pub(crate) fn only(mut self, name: &str) -> Self {
        self.command.arg(name);
        self
    }

    /// Leaves out tests whose path contains `name`.
    pub(crate) fn skip(mut self, name: &str) -> Self {
        self.command.args(["--skip", name]);
        self
    }

    /// Leaves out every network that runs in stripes except that of the test `name`.
    pub(crate) fn skip_networks_but(self, name: &str) -> Self {
        let others = networks().map(|network| network.test).filter(|test| *test != name);
        others.fold(self, Self::skip)
    }

    /// Runs one test after another.
    pub(crate) fn one_at_a_time(self) -> Self {
        self.env("RUST_TEST_THREADS", "1")
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Limits the address space, in KiB.
    pub(crate) fn within(self, limit: u32) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {limit}; exec \"$0\" \"$@\"")]);
        command.arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self { command }
    }

    /// Runs the child until it exits, whatever the result.
    pub(crate) fn run(mut self) -> Outcome {
        let printed = self.command.output().unwrap();
        let output =
            [printed.stdout, printed.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let counts = output.lines().find(|line| line.starts_with("test result: "));
        let counts = counts.unwrap_or_else(|| panic!("the tests did not end ({}):\n{output}", printed.status));
        let count = |what: &str| {
            let before = counts.split(what).next().unwrap().trim_end();
            before.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let (passed, failed, ignored) = (count("passed"), count("failed"), count("ignored"));
        Outcome { output, passed, failed, ignored }
    }
}

impl Outcome {
    /// Panics with everything that was printed, unless at least one test ran and all passed.
    pub(crate) fn must_pass(self) -> Self {
        // Indented, so that it is not taken for the output of this process.
        let printed = || self.output.replace('\n', "\n  ");
        assert!(self.failed == 0 && self.ignored == 0 && self.passed > 0, "a child failed:\n  {}", printed());
        self
    }

    /// Returns the rest of every line that begins with `label`.
    pub(crate) fn values(&self, label: &str) -> Vec<String> {
        self.output.lines().filter_map(|line| line.strip_prefix(label)).map(str::to_owned).collect()
    }
}
