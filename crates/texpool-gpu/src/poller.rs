//! Polls a native device while tasks wait for it, because wgpu only runs callbacks inside its own calls.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::{Duration, Instant},
};

use super::{driver::Driver, loss::Loss, poll::catch_panic};

/// Pauses between two polls. A blocking wait would hold a lock that the host needs to present a frame, so the thread
/// only polls. The first pause is short because runs of small networks take less than a millisecond.
const PAUSES: [Duration; 2] = [Duration::from_micros(250), Duration::from_millis(1)];
/// Number of rounds with the short pause. Chosen so that a run has taken 10 ms by then, compared to which another
/// millisecond is negligible.
const SHORT_ROUNDS: u32 = 40;
/// Interval, in rounds, at which the device is probed for a loss.
const PROBE_ROUNDS: u32 = 100;
/// Name of the thread, as shown in lists of threads.
const THREAD: &str = "texpool wait";

/// Selects the thread that polls the device while a future waits. Blocking calls always poll it themselves.
///
/// ```no_run
/// # fn example(device: wgpu::Device) -> Result<(), wgpu::PollError> {
/// use texpool::{GpuOptions, Polling};
///
/// let options = GpuOptions { polling: Polling::Host, ..GpuOptions::default() };
/// // In the program's own loop, so that futures on a device with these options advance:
/// device.poll(wgpu::PollType::Poll)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Polling {
    /// A background thread that exists while a future waits.
    #[default]
    Thread,
    /// The host, which calls `wgpu::Device::poll` in its own loop. A future then notices a timeout or a lost device
    /// only when something else polls the future. In a browser, the browser always does this.
    Host,
}

/// Tasks that wait for a device.
#[derive(Debug, Default)]
pub(super) struct Poller {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    next: u64,
    running: bool,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    waker: Waker,
    deadline: Option<Instant>,
}

impl Poller {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls the device until the wait is [forgotten](Self::forget). Wakes the task at its deadline, or if the device
    /// is lost. Returns the number to forget it by, or `None` if no thread could be started.
    pub(super) fn watch(
        self: &Arc<Self>,
        device: &wgpu::Device,
        driver: &Arc<Driver>,
        loss: &Arc<Loss>,
        waker: Waker,
        deadline: Option<Instant>,
    ) -> Option<u64> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        if !state.running {
            let (poller, device) = (Arc::clone(self), device.clone());
            let (driver, loss) = (Arc::clone(driver), Arc::clone(loss));
            // The thread does not look at the state before the lock is released.
            let spawned = thread::Builder::new().name(THREAD.into()).spawn(move || poller.run(&device, &driver, &loss));
            spawned.ok()?;
            state.running = true;
        }
        state.waiting.push(Waiting { number, waker, deadline });
        Some(number)
    }

    /// Replaces the waker of a wait.
    pub(super) fn rewake(&self, number: u64, waker: &Waker) {
        let mut state = self.state();
        let Some(waiting) = state.waiting.iter_mut().find(|waiting| waiting.number == number) else { return };
        let before = (!waiting.waker.will_wake(waker)).then(|| mem::replace(&mut waiting.waker, waker.clone()));
        // Dropping a waker may drop its task and thereby forget another wait, which takes the lock.
        drop(state);
        drop(before);
    }

    /// Ends the wait with that number.
    pub(super) fn forget(&self, number: u64) {
        let mut state = self.state();
        let at = state.waiting.iter().position(|waiting| waiting.number == number);
        let ended = at.map(|at| state.waiting.swap_remove(at));
        // Dropped after the lock, for the same reason.
        drop(state);
        drop(ended);
    }

    fn run(&self, device: &wgpu::Device, driver: &Driver, loss: &Loss) {
        let (mut round, mut newest) = (0u32, 0);
        loop {
            // A thread that keeps the turn for longer polls the device, too. A panic comes from wgpu, because of a
            // lost device, or from a callback of the host, which does not concern us: the waits continue.
            let turn = driver.turn(PAUSES[1]);
            let panicked = turn.is_some() && catch_panic(|| device.poll(wgpu::PollType::Poll)).is_err();
            drop(turn);
            let lost = if panicked || round % PROBE_ROUNDS == 0 { loss.check(device) } else { loss.check_told() };
            let now = Instant::now();
            let mut state = self.state();
            let (due, waiting): (Vec<_>, Vec<_>) = state
                .waiting
                .drain(..)
                .partition(|waiting| lost.is_err() || waiting.deadline.is_some_and(|deadline| now >= deadline));
            state.waiting = waiting;
            state.running = !state.waiting.is_empty();
            let running = state.running;
            // Returns to short pauses when a new wait arrives.
            round = if state.next == newest { round.wrapping_add(1) } else { 0 };
            newest = state.next;
            drop(state);
            for waiting in due {
                // The lock is released, because a waker may run its task at once. A panic in it must not affect the
                // other waits.
                let _ = catch_panic(|| waiting.waker.wake());
            }
            if !running {
                return;
            }
            thread::sleep(PAUSES[usize::from(round >= SHORT_ROUNDS)]);
        }
    }
}
