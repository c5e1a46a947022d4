//! Which process a device belongs to. A forked child has a copy of its parent's memory, but none of its threads: a wait
//! for the parent's device would never end, and a lock that another thread held during the fork is never released.

use std::sync::OnceLock;

use super::GpuError;

/// A process, by the number that the system gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// The process that runs.
    #[cfg(unix)]
    pub(super) fn current() -> Self {
        Self(std::process::id())
    }

    /// The process that runs: elsewhere none is forked.
    #[cfg(not(unix))]
    pub(super) const fn current() -> Self {
        Self(0)
    }

    /// Whether another process runs: one that was forked from this one.
    pub(super) fn was_forked(self) -> bool {
        self != Self::current()
    }

    /// # Errors
    /// [`GpuError::Forked`] in a process that was forked from this one.
    pub(super) fn check(self) -> Result<(), GpuError> {
        if self.was_forked() { Err(GpuError::Forked) } else { Ok(()) }
    }
}

/// A value that each process makes for itself: a static of a library that is loaded by programs which fork. A child does
/// not see its parent's value, whose locks may be held by threads that the child does not have.
///
/// ```
/// use std::sync::Mutex;
/// use texpool::gpu::PerProcess;
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
    /// That of a child of the process.
    next: OnceLock<Box<Self>>,
}

impl<T: Default> PerProcess<T> {
    /// Makes nothing yet.
    pub const fn new() -> Self {
        Self { first: OnceLock::new() }
    }

    /// The value of the process that runs, made at its first use.
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
