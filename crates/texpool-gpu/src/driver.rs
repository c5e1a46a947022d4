//! Gives threads turns with a device. If one thread's wait times out while another thread polls or submits, wgpu 30
//! may panic: it compares a value read before the other thread finished with one read after (gfx-rs/wgpu#9958). So
//! each poll and each submission has exclusive use of the device, and waits are split into slices of a millisecond.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

/// Gives threads turns with one device. A thread that ends its turn gets the next one only after the threads that
/// waited meanwhile.
#[derive(Debug, Default)]
pub(super) struct Driver {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The thread that has the turn.
    owner: Option<ThreadId>,
    /// Number of threads that wait for a turn.
    waiting: usize,
    /// Number of turns that have ended.
    ended: u64,
    /// True if the next turn is reserved for a thread that waited when the last one ended.
    handed: bool,
}

impl State {
    /// Returns whether a thread that arrived after `came` turns had ended has to wait.
    fn is_closed_to(&self, came: u64) -> bool {
        self.owner.is_some() || self.handed && came == self.ended
    }
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// `None` for a call from a wgpu callback, whose thread already has the turn.
    driver: Option<&'a Driver>,
}

impl Driver {
    /// Waits for a turn, but no longer than `patience`. During a turn, wgpu runs callbacks of the host, and those may
    /// wait for another thread. An unlimited wait for a turn could therefore deadlock.
    pub(super) fn turn(&self, patience: Duration) -> Option<Turn<'_>> {
        let own = thread::current().id();
        let mut state = self.state();
        if state.owner == Some(own) {
            return Some(Turn { driver: None });
        }
        let came = state.ended;
        if state.is_closed_to(came) {
            state.waiting += 1;
            let waited = self.freed.wait_timeout_while(state, patience, |state| state.is_closed_to(came));
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            if state.is_closed_to(came) {
                return None;
            }
        }
        state.handed = false;
        state.owner = Some(own);
        Some(Turn { driver: Some(self) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Returns whether another thread waits for the turn.
    pub(super) fn is_wanted(&self) -> bool {
        self.driver.is_some_and(|driver| driver.state().waiting > 0)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(driver) = self.driver {
            let mut state = driver.state();
            state.owner = None;
            state.ended += 1;
            state.handed = state.waiting > 0;
            drop(state);
            driver.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc,
        thread,
        time::{Duration, Instant},
    };

    use super::Driver;

    /// Timeout that a correct test never reaches, on any machine.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_thread_at_a_time_has_a_turn() {
        let driver = Driver::default();
        let turn = driver.turn(LONG).unwrap();
        assert!(!turn.is_wanted());
        // A nested call, as from a callback during the turn, continues at once and does not end the turn.
        drop(driver.turn(LONG).unwrap());
        thread::scope(|scope| {
            assert!(scope.spawn(|| driver.turn(Duration::from_millis(1)).is_none()).join().unwrap());
            let other = scope.spawn(|| driver.turn(LONG).is_some());
            while !turn.is_wanted() {
                thread::yield_now();
            }
            drop(turn);
            assert!(other.join().unwrap());
        });
        assert!(driver.turn(Duration::ZERO).is_some());
    }

    /// A thread that takes turn after turn still lets waiting threads in.
    #[test]
    fn a_turn_is_handed_to_who_waits() {
        let driver = Driver::default();
        let (tell, told) = mpsc::channel();
        let first = driver.turn(LONG).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let turn = driver.turn(LONG).unwrap();
                tell.send(()).unwrap();
                drop(turn);
            });
            while !first.is_wanted() {
                thread::yield_now();
            }
            drop(first);
            let again = driver.turn(LONG).unwrap();
            told.recv_timeout(Duration::ZERO).unwrap();
            drop(again);
        });
        let begun = Instant::now();
        drop(driver.turn(LONG));
        assert!(begun.elapsed() < LONG);
    }
}
