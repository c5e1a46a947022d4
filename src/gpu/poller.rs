//! Who drives a device natively while tasks wait for it: wgpu calls back only out of calls of its own.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::{Duration, Instant},
};

use super::{driver::Driver, loss::Loss, poll::catch_panic};

/// Pauses between two looks at the device. It is polled and never waited for: a wait holds a lock that a host needs to
/// present a frame. The first is short because runs of small networks take less than a millisecond.
const PAUSES: [Duration; 2] = [Duration::from_micros(250), Duration::from_millis(1)];
/// Rounds with the short pause. Chosen: after them a run has taken 10 ms, of which another millisecond is little.
const SHORT_ROUNDS: u32 = 40;
/// Rounds after which the device is asked whether it is there.
const PROBE_ROUNDS: u32 = 100;
/// What the thread is called, in lists of a process's threads.
const THREAD: &str = "texpool wait";

/// Who drives the device while a future waits. Blocking calls always drive it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Polling {
    /// A thread that is there while something is waited for.
    #[default]
    Thread,
    /// The host, which calls `wgpu::Device::poll` in its own loop. That its time is over, or its device lost, a future
    /// then sees where it is polled for another reason. In a browser it is always the browser.
    Host,
}

/// The tasks that wait for a device.
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

    /// Polls the device from now on, until the answer is [forgotten](Self::forget), and wakes the task at its deadline
    /// or where the device is lost. Answers a number to forget it by; none where there is no thread to be had.
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
            // It does not come to look before the lock is released.
            let spawned = thread::Builder::new().name(THREAD.into()).spawn(move || poller.run(&device, &driver, &loss));
            spawned.ok()?;
            state.running = true;
        }
        state.waiting.push(Waiting { number, waker, deadline });
        Some(number)
    }

    /// Puts another waker in the place of one that is waited with.
    pub(super) fn rewake(&self, number: u64, waker: &Waker) {
        let mut state = self.state();
        let Some(waiting) = state.waiting.iter_mut().find(|waiting| waiting.number == number) else { return };
        let before = (!waiting.waker.will_wake(waker)).then(|| mem::replace(&mut waiting.waker, waker.clone()));
        // A waker that is dropped may drop its task, and with it another wait that is to be forgotten.
        drop(state);
        drop(before);
    }

    /// Ends the wait of that number.
    pub(super) fn forget(&self, number: u64) {
        let mut state = self.state();
        let at = state.waiting.iter().position(|waiting| waiting.number == number);
        let ended = at.map(|at| state.waiting.swap_remove(at));
        // As above.
        drop(state);
        drop(ended);
    }

    fn run(&self, device: &wgpu::Device, driver: &Driver, loss: &Loss) {
        let (mut round, mut newest) = (0u32, 0);
        loop {
            // Whoever has the turn for longer polls the device, too. A panic is wgpu's, about a lost device, or comes from a callback of the host's, which is no matter of ours:
            // who waits goes on to wait.
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
            // Short pauses again for who has just come.
            round = if state.next == newest { round.wrapping_add(1) } else { 0 };
            newest = state.next;
            drop(state);
            for waiting in due {
                // With the lock released, since a waker may run its task at once; whatever it does, others are waiting.
                let _ = catch_panic(|| waiting.waker.wake());
            }
            if !running {
                return;
            }
            thread::sleep(PAUSES[usize::from(round >= SHORT_ROUNDS)]);
        }
    }
}
