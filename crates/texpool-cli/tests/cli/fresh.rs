//! First output that a user sees on a new machine.

use std::{fs, os::unix::fs::symlink, process::Command};

const TEXPOOL: &str = env!("CARGO_BIN_EXE_texpool");

/// Bare containers have no runtime folder for sockets; libwayland complains about that although no window is opened.
#[test]
fn success_prints_no_error_without_a_runtime_folder() {
    for folder in [None, Some("")] {
        let mut command = Command::new(TEXPOOL);
        command.arg("devices").env_remove("XDG_RUNTIME_DIR");
        let output = command.envs(folder.map(|folder| ("XDG_RUNTIME_DIR", folder))).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// The restart with such a folder preserves arguments, standard input and exit codes.
#[test]
fn arguments_and_input_arrive_without_a_runtime_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(TEXPOOL);
    command.args(["plan", "no such file"]).current_dir(folder.path()).env_remove("XDG_RUNTIME_DIR");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such file"));
    let output = Command::new(TEXPOOL).args(["--no-such-flag"]).env_remove("XDG_RUNTIME_DIR").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A command that only needs a device never installs packages, but says how to install a driver.
#[test]
fn no_driver_is_installed_unasked() {
    let place = tempfile::tempdir().unwrap();
    for name in ["apt-get", "sudo", "id"] {
        let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/clients/apt-get");
        symlink(stand_in, place.path().join(name)).unwrap();
    }
    fs::write(place.path().join("uid"), "0\n").unwrap();
    let mut command = Command::new(TEXPOOL);
    command.args(["run", "tests/data/tiny.tflite"]).current_dir(crate::ROOT);
    command
        .envs([("VK_DRIVER_FILES", crate::ABSENT), ("VK_ICD_FILENAMES", crate::ABSENT)])
        .env_remove("TEXPOOL_NO_INSTALL");
    command.env("PATH", format!("{}:/usr/bin:/bin", place.path().display()));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("no GPU adapter") && stderr.contains("mesa-vulkan-drivers"), "{stderr}");
    assert!(stderr.contains("--install-driver") || !fs::read_to_string("/etc/os-release").unwrap().contains("debian"));
    assert!(!place.path().join("log").exists(), "{stderr}");
}
