//! Runs work without the interpreter's lock, while still handling signals, and turns panics into errors.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use texpool::Interrupt;

use crate::errors::classes::InternalError;

/// Interval between checks for signals. A check takes the interpreter's lock, which can take 5 ms if another thread
/// is busy.
const BETWEEN: Duration = Duration::from_millis(100);

thread_local! {
    /// Time of the last check on this thread.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Exception raised by a signal handler, until the caller picks it up.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Returns an interrupt that ends waits for the device when a signal handler raises an exception, as Ctrl-C does.
pub(crate) fn interrupt() -> Interrupt {
    Interrupt::new(ask)
}

/// Lets Python handle pending signals, which it only does on the main thread. Breaks if a handler raised an
/// exception.
pub(crate) fn ask() -> ControlFlow<()> {
    let now = Instant::now();
    if ASKED.get().is_some_and(|last| now.duration_since(last) < BETWEEN) {
        return ControlFlow::Continue(());
    }
    ASKED.set(Some(now));
    match Python::try_attach(|py| py.check_signals()) {
        Some(Err(raised)) => {
            RAISED.set(Some(raised));
            ControlFlow::Break(())
        }
        // Either no handler raised an exception, or the interpreter is shutting down and handles no signals.
        Some(Ok(())) | None => ControlFlow::Continue(()),
    }
}

/// Takes the exception that a signal handler raised on this thread.
pub(crate) fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// Runs work without the interpreter's lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Python has checked for signals just before this call.
    ASKED.set(Some(Instant::now()));
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| internal(&*panic))
}

/// Converts a panic, which is a bug, into an exception. PyO3 would raise `PanicException` instead, which `except
/// Exception` does not catch, so it would end a worker.
pub(crate) fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    InternalError::new_err(format!("a defect of texpool: {}", message.unwrap_or("a panic without a text")))
}

/// Panics, so that the tests can check how panics are handled.
#[pyfunction]
#[pyo3(name = "_panic_for_tests")]
#[expect(clippy::panic, reason = "that is what it is for")]
pub(crate) fn panic_for_tests(py: Python<'_>) -> PyResult<()> {
    detached(py, || panic!("asked for by a test"))
}
