//! Sets `XDG_RUNTIME_DIR` if it is missing, as in minimal containers.
//!
//! wgpu enables the extensions of every windowing system there is, whereupon Mesa's layer that sorts devices asks for the
//! Wayland display, and libwayland prints `error: XDG_RUNTIME_DIR is invalid or not set` although no display is needed.

use crate::fetch::default_folder;
use std::{env, os::unix::process::CommandExt, process::Command};

const NAME: &str = "XDG_RUNTIME_DIR";

/// Has this process start over with the variable set. A running one can set it for itself only by `unsafe` code, since
/// other threads may be reading; starting over takes about a millisecond.
pub(super) fn set() {
    if env::var_os(NAME).is_some_and(|folder| !folder.is_empty()) {
        return;
    }
    // Nobody listens in the cache folder, or wherever else: any absolute path will do.
    let folder = default_folder().unwrap_or_else(|_| env::temp_dir());
    let Ok(program) = env::current_exe() else { return };
    let mut args = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = args.next() {
        command.arg0(name);
    }
    // This returns only if it fails, and then this process goes on without the variable.
    let error = command.args(args).env(NAME, folder).exec();
    tracing::debug!(%error, "cannot start over");
}
