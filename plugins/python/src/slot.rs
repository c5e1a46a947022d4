//! What one thread uses at a time.

use std::{
    mem,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::interrupt;

/// How long one wait for another thread takes, between which signals are looked for.
const SLICE: Duration = Duration::from_millis(50);

/// Something that threads use in turns, until it is closed. Not a mutex, since a wait for it has to end at Ctrl-C.
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

/// Why something cannot be used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unusable {
    Closed,
    /// A signal's handler raised while another thread used it.
    Interrupted,
}

impl<T> Slot<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { state: Mutex::new(State::Free(Box::new(value))), freed: Condvar::new() }
    }

    /// Waits for those who use it, and uses it. Called without the interpreter's lock, which they may need.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Result<R, Unusable> {
        let mut value = self.take(State::Busy)?;
        match catch_unwind(AssertUnwindSafe(|| work(&mut value))) {
            Ok(result) => {
                self.leave(State::Free(value));
                Ok(result)
            }
            // Nobody knows in which state it is left.
            Err(panic) => {
                self.leave(State::Closed);
                resume_unwind(panic)
            }
        }
    }

    /// Waits for those who use it, and takes it away for good; nothing where that was done before.
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

    /// Takes it, once it is free, and leaves `behind` in its place.
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
                // Not under the lock: a handler may use the session.
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
