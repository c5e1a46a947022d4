//! Tracks which process opened a device. A forked child has a copy of its parent's memory, but none of its threads. A
//! wait for the parent's device would never end, and a lock that another thread held during the fork is never
//! released.

use std::sync::OnceLock;

use super::GpuError;

/// A process, identified by its process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// Returns the current process.
    #[cfg(unix)]
    pub(super) fn current() -> Self {
        Self(std::process::id())
    }

    /// Returns a constant, because processes do not fork on this platform.
    #[cfg(not(unix))]
    pub(super) const fn current() -> Self {
        Self(0)
    }

    /// Returns true if the current process is a fork of this one.
    pub(super) fn was_forked(self) -> bool {
        self != Self::current()
    }

    /// # Errors
    /// [`GpuError::Forked`] in a process that was forked from this one.
    pub(super) fn check(self) -> Result<(), GpuError> {
        if self.was_forked() { Err(GpuError::Forked) } else { Ok(()) }
    }
}

/// A value that each process creates separately, for a static in a library that forking programs load. A child does
/// not see its parent's value, whose locks may be held by threads that do not exist in the child.
///
/// ```
/// use std::sync::Mutex;
/// use texpool_gpu::PerProcess;
///
/// static OPEN: PerProcess<Mutex<Vec<String>>> = PerProcess::new();
/// OPEN.get().lock().unwrap().push("a device".into());
/// assert_eq!(OPEN.get().lock().unwrap().len(), 1);
/// ```
#[derive(Debug)]
pub struct PerProcess<T> {
    first: OnceLock<Node<T>>,
}

#[derive(Debug)]
struct Node<T> {
    process: Process,
    value: T,
    /// Value of a child of the process.
    next: OnceLock<Box<Self>>,
}

impl<T: Default> PerProcess<T> {
    /// Creates an empty container; the value is created on first use.
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// Returns the value of the current process, creating it on first use.
    pub fn get(&self) -> &T {
        let process = Process::current();
        let made = || Node { process, value: T::default(), next: OnceLock::new() };
        let mut node = self.first.get_or_init(made);
        while node.process != process {
            node = node.next.get_or_init(|| Box::new(made()));
        }
        &node.value
    }
}

impl<T: Default> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The first process that opened a device of SwiftShader: this one, or one that this one was forked from.
static FIRST: OnceLock<Process> = OnceLock::new();

/// Notes that this process opens a device of the adapter. Returns the reason if the device could never work, because a
/// process that this one was forked from has opened one, too.
///
/// SwiftShader runs the work of all devices of a process on one set of threads, and creates that set with the first
/// device (`getOrCreateScheduler` in its `libVulkan.cpp`). A forked child inherits the set without its threads, so a
/// device that the child opens accepts work and never does any. Mesa's drivers have threads per device.
pub(super) fn refusal(adapter: &wgpu::AdapterInfo) -> Option<String> {
    let shares_threads = adapter.name.contains("SwiftShader") || adapter.driver.contains("SwiftShader");
    (shares_threads && FIRST.get_or_init(Process::current).was_forked()).then(|| {
        "SwiftShader runs all devices on threads that this process has lost, since it was forked after one was opened; \
         start the process with `spawn` instead of `fork`, or use another driver, such as lavapipe"
            .to_owned()
    })
}
