//! A value that only one thread uses at a time.

use std::{
    mem,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::interrupt;

/// Interval between checks for signals while waiting for another thread.
const SLICE: Duration = Duration::from_millis(50);

/// A value with exclusive access, until it is closed. Not a mutex, because Ctrl-C must be able to interrupt waiting
/// threads.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    state: Mutex<State<T>>,
    freed: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Free(Box<T>),
    Busy,
    Closed,
}

/// Reason why the value cannot be used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    Closed,
    /// A signal handler raised an exception during the wait.
    Interrupted,
}

impl<T> Slot<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { state: Mutex::new(State::Free(Box::new(value))), freed: Condvar::new() }
    }

    /// Waits until no other thread uses the value, then uses it. Call this without the interpreter's lock, which the
    /// other threads may need.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Result<R, Unusable> {
        let mut value = self.take(State::Busy)?;
        match catch_unwind(AssertUnwindSafe(|| work(&mut value))) {
            Ok(result) => {
                self.leave(State::Free(value));
                Ok(result)
            }
            // The panic may have left the value in an inconsistent state, so it is dropped.
            Err(panic) => {
                self.leave(State::Closed);
                resume_unwind(panic)
            }
        }
    }

    /// Waits until no other thread uses the value, then removes it permanently. Returns `None` if it was already
    /// closed.
    pub(crate) fn close(&self) -> Result<Option<T>, Unusable> {
        match self.take(State::Closed) {
            Ok(value) => {
                self.freed.notify_all();
                Ok(Some(*value))
            }
            Err(Unusable::Closed) => Ok(None),
            Err(Unusable::Interrupted) => Err(Unusable::Interrupted),
        }
    }

    /// Waits until the value is free, takes it, and leaves `behind` as the new state.
    fn take(&self, behind: State<T>) -> Result<Box<T>, Unusable> {
        let mut state = self.lock();
        loop {
            match mem::replace(&mut *state, State::Busy) {
                State::Free(value) => {
                    *state = behind;
                    return Ok(value);
                }
                State::Closed => {
                    *state = State::Closed;
                    return Err(Unusable::Closed);
                }
                State::Busy => {}
            }
            state = self.freed.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
            if matches!(*state, State::Busy) {
                // Release the lock first: a signal handler may use the session.
                drop(state);
                if let ControlFlow::Break(()) = interrupt::ask() {
                    return Err(Unusable::Interrupted);
                }
                state = self.lock();
            }
        }
    }

    fn leave(&self, state: State<T>) {
        *self.lock() = state;
        self.freed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
