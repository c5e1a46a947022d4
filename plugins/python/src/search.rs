//! Runs searches on a separate thread, while the calling thread reports progress and checks for signals. Python
//! handles signals only on the main thread, and callbacks should run on the thread that started the search.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyBool};
use texpool::{Progress, plan::ProgressFn};

use crate::interrupt::internal;

/// Interval at which progress is reported and signals are checked.
const SLICE: Duration = Duration::from_millis(50);

/// State shared between the searching thread and the calling thread.
#[derive(Default)]
struct SharedState {
    news: Mutex<News>,
    done: Condvar,
    cancelled: AtomicBool,
}

#[derive(Default)]
struct News {
    latest: Option<Progress>,
    is_done: bool,
}

impl SharedState {
    /// Waits for the end of the search, but at most one slice of time. Returns whether the search is done, and the
    /// latest progress if there is any.
    fn wait(&self) -> (bool, Option<Progress>) {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.done.wait_timeout_while(news, SLICE, |news| !news.is_done);
        let (mut news, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (news.is_done, news.latest.take())
    }

    fn tell(&self, progress: Progress) -> ControlFlow<()> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).latest = Some(progress);
        if self.cancelled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(&self) {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).is_done = true;
        self.done.notify_all();
    }
}

/// Returns the result of `search`. `progress` is called with stage, done, total and best; if it returns `False`, the
/// search ends with the best result found by then. If it or a signal handler raises an exception, the search ends and
/// the exception is raised.
pub(crate) fn search<T: Send, E: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    search: impl FnOnce(&mut ProgressFn<'_>) -> Result<T, E> + Send,
) -> PyResult<Result<T, E>> {
    let shared = SharedState::default();
    let run = || {
        let outcome = catch_unwind(AssertUnwindSafe(|| search(&mut |progress| shared.tell(progress))));
        shared.finish();
        outcome
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("texpool plan".into()).spawn_scoped(scope, run)?;
        let mut raised = None;
        loop {
            let (is_done, news) = py.detach(|| shared.wait());
            if is_done {
                break;
            }
            // Once the search is cancelled, the callback is not called again.
            if shared.cancelled.load(Ordering::Relaxed) {
                continue;
            }
            let goes_on = report_progress(py, progress, news).unwrap_or_else(|error| {
                raised = Some(error);
                ControlFlow::Break(())
            });
            shared.cancelled.store(goes_on.is_break(), Ordering::Relaxed);
        }
        let outcome = thread.join().map_err(|_| PyRuntimeError::new_err("the search ended without an answer"))?;
        match raised {
            Some(error) => Err(error),
            None => outcome.map_err(|panic| internal(&*panic)),
        }
    })
}

/// Handles signals, and passes new progress to the callback. Returns whether the search continues.
fn report_progress(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    news: Option<Progress>,
) -> PyResult<ControlFlow<()>> {
    py.check_signals()?;
    let (Some(callback), Some(Progress { stage, done, total, best })) = (callback, news) else {
        return Ok(ControlFlow::Continue(()));
    };
    let answer = callback.call1((stage, done, total, best))?;
    let is_false = answer.cast::<PyBool>().is_ok_and(|answer| !answer.is_true());
    Ok(if is_false { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}
