//! Searches on a thread of their own, while the caller's tells the progress and looks for signals: Python handles those
//! on the main thread alone, and a callback is called by whoever asked.

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

/// How often progress is told and signals are looked for.
const SLICE: Duration = Duration::from_millis(50);

/// What the searching thread and the caller's tell each other.
#[derive(Default)]
struct Shared {
    news: Mutex<News>,
    done: Condvar,
    cancelled: AtomicBool,
}

#[derive(Default)]
struct News {
    latest: Option<Progress>,
    is_done: bool,
}

impl Shared {
    /// Waits for the end or a slice of time; whether it is the end, and what is new.
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

/// What `search` finds. `progress` is called with stage, done, total and best; where it returns `False`, the search ends
/// with the best so far. What it or the handler of a signal raises ends the search, too, and is raised.
pub(crate) fn search<T: Send, E: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    search: impl FnOnce(&mut ProgressFn<'_>) -> Result<T, E> + Send,
) -> PyResult<Result<T, E>> {
    let shared = Shared::default();
    let run = || {
        let found = catch_unwind(AssertUnwindSafe(|| search(&mut |progress| shared.tell(progress))));
        shared.finish();
        found
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("texpool plan".into()).spawn_scoped(scope, run)?;
        let mut raised = None;
        loop {
            let (is_done, news) = py.detach(|| shared.wait());
            if is_done {
                break;
            }
            // Who has ended the search is not asked again.
            if shared.cancelled.load(Ordering::Relaxed) {
                continue;
            }
            let goes_on = told(py, progress, news).unwrap_or_else(|error| {
                raised = Some(error);
                ControlFlow::Break(())
            });
            shared.cancelled.store(goes_on.is_break(), Ordering::Relaxed);
        }
        let found = thread.join().map_err(|_| PyRuntimeError::new_err("the search ended without an answer"))?;
        match raised {
            Some(error) => Err(error),
            None => found.map_err(|panic| internal(&*panic)),
        }
    })
}

/// Handles signals, and calls the callback with what is new; whether the search goes on.
fn told(py: Python<'_>, callback: Option<&Bound<'_, PyAny>>, news: Option<Progress>) -> PyResult<ControlFlow<()>> {
    py.check_signals()?;
    let (Some(callback), Some(Progress { stage, done, total, best })) = (callback, news) else {
        return Ok(ControlFlow::Continue(()));
    };
    let answer = callback.call1((stage, done, total, best))?;
    let is_false = answer.cast::<PyBool>().is_ok_and(|answer| !answer.is_true());
    Ok(if is_false { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}
