//! Work without the interpreter's lock: signals are still handled, and a panic is an error.

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

/// How often Python is asked for signals. It takes the interpreter's lock, for which a busy thread may have to be waited
/// for 5 ms.
const BETWEEN: Duration = Duration::from_millis(100);

thread_local! {
    /// When this thread last asked.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
    /// What a handler raised, on its way to the caller.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Ends waits for the device where a signal's handler raises, as that of Ctrl-C does.
pub(crate) fn interrupt() -> Interrupt {
    Interrupt::new(ask)
}

/// Has Python handle signals, which it does on the main thread alone; whether to go on.
pub(crate) fn ask() -> ControlFlow<()> {
    let now = Instant::now();
    if ASKED.get().is_some_and(|asked| now.duration_since(asked) < BETWEEN) {
        return ControlFlow::Continue(());
    }
    ASKED.set(Some(now));
    match Python::try_attach(|py| py.check_signals()) {
        Some(Err(raised)) => {
            RAISED.set(Some(raised));
            ControlFlow::Break(())
        }
        // Nothing was raised, or the interpreter is on its way out and handles no signals.
        Some(Ok(())) | None => ControlFlow::Continue(()),
    }
}

/// What a handler raised on this thread.
pub(crate) fn taken() -> Option<PyErr> {
    RAISED.take()
}

/// Works without the interpreter's lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Before it was called, Python has looked for signals itself.
    ASKED.set(Some(Instant::now()));
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| internal(&*panic))
}

/// The error of a panic, which is a defect. `PanicException`, which PyO3 would raise, is none that `except Exception`
/// catches, and would end a worker.
pub(crate) fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    InternalError::new_err(format!("a defect of texpool: {}", said.unwrap_or("a panic without a text")))
}

/// Panics, so that the tests see what becomes of it.
#[pyfunction]
#[pyo3(name = "_panic_for_tests")]
#[expect(clippy::panic, reason = "that is what it is for")]
pub(crate) fn panic_for_tests(py: Python<'_>) -> PyResult<()> {
    detached(py, || panic!("asked for by a test"))
}
