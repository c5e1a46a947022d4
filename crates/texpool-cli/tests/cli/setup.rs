//! Behaviour on a machine without an adapter. The tests install nothing.

#![cfg(test)]
#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::PathBuf};
use tempfile::TempDir;
use texpool_cli::setup::{Install, SetupError, System};

/// A simulated machine made of stand-in programs.
struct Machine(TempDir);

impl Machine {
    fn new(os_release: &str, uid: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for name in ["apt-get", "sudo", "id"] {
            symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/apt-get"), machine.file(name))
                .unwrap();
        }
        fs::write(machine.file("os-release"), os_release).unwrap();
        fs::write(machine.file("uid"), uid).unwrap();
        machine
    }

    fn debian(uid: &str) -> Self {
        Self::new("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n", uid)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, file: &str) -> Self {
        fs::write(self.file(file), "").unwrap();
        self
    }

    fn system(&self) -> System {
        System {
            os_release: self.file("os-release"),
            apt_get: self.file("apt-get").into(),
            sudo: self.file("sudo").into(),
            id: self.file("id").into(),
            forbidden: false,
        }
    }

    fn ensure(&self) -> Result<(), SetupError> {
        self.ensure_with(Install::Yes, |_| unreachable!())
    }

    fn ensure_with(&self, install: Install, confirmed: impl Fn(&str) -> bool) -> Result<(), SetupError> {
        self.system().ensure(install, confirmed, || self.file("installed").exists())
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(self.file("log")).unwrap_or_default().lines().map(String::from).collect()
    }
}

const INSTALL: &str = "noninteractive apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers";

#[test]
fn nothing_is_done_where_there_is_an_adapter() {
    let machine = Machine::debian("0\n").with("installed");
    machine.ensure().unwrap();
    assert!(machine.log().is_empty());
}

#[test]
fn root_on_debian_installs_by_package_name() {
    let machine = Machine::debian("0\n");
    machine.ensure().unwrap();
    assert_eq!(machine.log(), ["noninteractive apt-get update", INSTALL]);
}

/// A command that only needs a device never installs anything without permission, even as root.
#[test]
fn nothing_is_installed_that_nobody_asked_for() {
    for (install, answer) in [(Install::Never, true), (Install::Ask, false)] {
        let machine = Machine::debian("0\n").with("may");
        let error = machine.ensure_with(install, |_| answer).unwrap_err();
        assert!(matches!(error, SetupError::NotAsked { .. }), "{error}");
        let command = "apt-get update && apt-get install -y libvulkan1 mesa-vulkan-drivers";
        assert!(error.to_string().contains(command), "{error}");
        assert!(machine.log().is_empty());
    }
    assert_eq!(Install::default(), Install::Never);
}

#[test]
fn a_user_who_says_yes_is_asked_once_and_told_what_would_be_installed() {
    let machine = Machine::debian("0\n");
    let questions = std::cell::RefCell::new(Vec::new());
    let confirmed = |question: &str| {
        questions.borrow_mut().push(question.to_owned());
        true
    };
    machine.ensure_with(Install::Ask, confirmed).unwrap();
    assert_eq!(machine.log(), ["noninteractive apt-get update", INSTALL]);
    let questions = questions.into_inner();
    assert!(questions.len() == 1 && questions[0].contains("mesa-vulkan-drivers"), "{questions:?}");
}

#[test]
fn a_user_with_passwordless_sudo_installs_through_it() {
    let machine = Machine::new("ID=ubuntu\nID_LIKE=\"something debian\"\n", "1000\n").with("may");
    machine.ensure().unwrap();
    let log = machine.log();
    assert_eq!(log[0], "sudo -n true");
    assert_eq!(log.last().unwrap(), INSTALL);
}

#[test]
fn others_are_told_exactly_what_to_run() {
    let command = "apt-get update && apt-get install -y libvulkan1 mesa-vulkan-drivers";
    let machine = Machine::debian("1000\n");
    let error = machine.ensure().unwrap_err();
    assert!(matches!(error, SetupError::NoAdapter { .. }), "{error}");
    assert!(error.to_string().contains(command) && error.to_string().contains("as root"), "{error}");
    assert_eq!(machine.log(), ["sudo -n true"]);

    let machine = Machine::debian("0\n");
    let error =
        System { forbidden: true, ..machine.system() }.ensure(Install::Yes, |_| unreachable!(), || false).unwrap_err();
    assert!(error.to_string().contains("TEXPOOL_NO_INSTALL") && error.to_string().contains(command), "{error}");
    assert!(machine.log().is_empty());

    let machine = Machine::new("ID=fedora\nID_LIKE=rhel\n", "0\n");
    let error = machine.ensure().unwrap_err();
    assert!(error.to_string().contains("mesa-vulkan-drivers"), "{error}");
    assert!(machine.log().is_empty());
}

#[test]
fn an_installation_that_fails_or_does_not_help_is_an_error() {
    let error = Machine::debian("0\n").with("broken").ensure().unwrap_err();
    assert!(matches!(error, SetupError::Install { .. }), "{error}");
    assert!(error.to_string().contains("apt-get update") && error.to_string().contains("100"), "{error}");
    let error = Machine::debian("0\n").with("useless").ensure().unwrap_err();
    assert!(matches!(error, SetupError::StillNone), "{error}");
    let machine = Machine::debian("0\n");
    let system = System { apt_get: machine.file("none").into(), ..machine.system() };
    assert!(matches!(
        system.ensure(Install::Yes, |_| unreachable!(), || false).unwrap_err(),
        SetupError::Install { .. }
    ));
}
