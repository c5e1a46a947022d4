//! Sets `XDG_RUNTIME_DIR` if it is missing, as in minimal containers.
//!
//! wgpu enables the extensions of all windowing systems. Mesa's layer that sorts devices then opens the Wayland
//! display, and libwayland prints `error: XDG_RUNTIME_DIR is invalid or not set`, although no display is needed.

use crate::fetch::default_folder;
use std::{env, os::unix::process::CommandExt, process::Command};

const NAME: &str = "XDG_RUNTIME_DIR";

/// Restarts this process with the variable set. Setting it in the running process would need `unsafe` code, because
/// other threads may read the environment. The restart takes about a millisecond.
pub(super) fn set() {
    if env::var_os(NAME).is_some_and(|folder| !folder.is_empty()) {
        return;
    }
    // Any absolute path without a Wayland socket works, such as the cache folder.
    let folder = default_folder().unwrap_or_else(|_| env::temp_dir());
    let Ok(program) = env::current_exe() else { return };
    let mut args = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    // `exec` returns only if it fails; the process then continues without the variable.
    let error = command.args(args).env(NAME, folder).exec();
    tracing::debug!(%error, "cannot start over");
}
