//! Drivers whose devices in a process and in a forked child cannot both work.
//!
//! SwiftShader runs the work of all devices of a process on one set of threads, and creates that set with the first
//! device (`getOrCreateScheduler` in its `libVulkan.cpp`). A forked child inherits the set without its threads, so a
//! device that the child opens accepts work and never does any. Mesa's drivers have threads per device.

use std::sync::OnceLock;

use super::process::Process;

/// The first process that opened a device of SwiftShader: this one, or one that this one was forked from.
static FIRST: OnceLock<Process> = OnceLock::new();

/// Notes that this process opens a device of the adapter. Returns the reason if the device could never work, because a
/// process that this one was forked from has opened one, too.
pub(super) fn refusal(adapter: &wgpu::AdapterInfo) -> Option<String> {
    let shares_threads = adapter.name.contains("SwiftShader") || adapter.driver.contains("SwiftShader");
    (shares_threads && FIRST.get_or_init(Process::current).was_forked()).then(|| {
        "SwiftShader runs all devices on threads that this process has lost, since it was forked after one was opened; \
         start the process with `spawn` instead of `fork`, or use another driver, such as lavapipe"
            .to_owned()
    })
}
