//! Turns of threads with a device. Where a wait of one thread times out while another thread polls or submits, wgpu 30 may
//! panic: it compares what it read before the other thread was done with what it finds afterwards (gfx-rs/wgpu#9958).
//! So each poll and each submission has the device for itself, and waits are slices of a millisecond.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

/// Gives threads turns with one device. Who gives a turn back gets the next one after those that waited meanwhile.
#[derive(Debug, Default)]
pub(super) struct Driver {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The thread that has the turn.
    owner: Option<ThreadId>,
    /// Threads that wait for one.
    waiting: usize,
    /// How many turns were given back.
    ended: u64,
    /// The next turn is for one of those that waited when the last one ended.
    handed: bool,
}

impl State {
    /// Whether a thread that came after so many turns had ended has to wait.
    fn is_closed_to(&self, came: u64) -> bool {
        self.owner.is_some() || self.handed && came == self.ended
    }
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    /// None for a call out of a callback of wgpu's: the thread has a turn already.
    driver: Option<&'a Driver>,
}

impl Driver {
    /// Waits for a turn, for no longer than `patience`. wgpu calls callbacks of the host's during a turn, and those may
    /// wait for another thread, so nobody may wait for a turn without an end.
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
    /// Whether another thread waits for it.
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

    /// Long enough for any machine; nothing waits for so long that is as it should be.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn one_thread_at_a_time_has_a_turn() {
        let driver = Driver::default();
        let turn = driver.turn(LONG).unwrap();
        assert!(!turn.is_wanted());
        // A callback that is called during the turn goes on at once, and takes nothing away.
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

    /// Who takes turn after turn lets others in, too: no waiting thread is passed over.
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
