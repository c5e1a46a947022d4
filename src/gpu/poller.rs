//! Who drives a device natively while tasks wait for it: wgpu calls back only out of calls of its own.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
    thread,
    time::{Duration, Instant},
};

use super::{loss::Loss, poll::catch_panic};

/// Pauses between two looks at the device. It is polled and never waited for: a wait holds a lock that a host needs to
/// present a frame. The first is short because runs of small networks take less than a millisecond.
const PAUSES: [Duration; 2] = [Duration::from_micros(250), Duration::from_millis(1)];
/// Rounds with the short pause. Chosen: after them a run has taken 10 ms, of which another millisecond is little.
const SHORT_ROUNDS: u32 = 40;
/// Rounds after which the device is asked whether it is there.
const PROBE_ROUNDS: u32 = 100;

/// Who drives the device while a future waits. Blocking calls always drive it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Polling {
    /// A thread that is there while something is waited for.
    #[default]
    Thread,
    /// The host, which calls `wgpu::Device::poll` in its own loop. In a browser it is always the browser.
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
        loss: &Arc<Loss>,
        waker: Waker,
        deadline: Option<Instant>,
    ) -> Option<u64> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.push(Waiting { number, waker, deadline });
        if !state.running {
            let (poller, device, loss) = (Arc::clone(self), device.clone(), Arc::clone(loss));
            let spawned = thread::Builder::new().name("texpool wait".into()).spawn(move || poller.run(&device, &loss));
            if spawned.is_err() {
                state.waiting.pop();
                return None;
            }
            state.running = true;
        }
        Some(number)
    }

    /// Puts another waker in the place of one that is waited with.
    pub(super) fn rewake(&self, number: u64, waker: &Waker) {
        if let Some(waiting) = self.state().waiting.iter_mut().find(|waiting| waiting.number == number) {
            waiting.waker.clone_from(waker);
        }
    }

    /// Ends the wait of that number.
    pub(super) fn forget(&self, number: u64) {
        self.state().waiting.retain(|waiting| waiting.number != number);
    }

    fn run(&self, device: &wgpu::Device, loss: &Loss) {
        for round in 0u32.. {
            if let Err(message) = catch_panic(|| device.poll(wgpu::PollType::Poll)) {
                loss.note(None, message);
            }
            let lost = match round % PROBE_ROUNDS {
                0 => loss.check(device),
                _ => loss.check_told(),
            };
            let now = Instant::now();
            let mut state = self.state();
            // Woken with the lock released: a waker may run the task at once.
            let (due, waiting): (Vec<_>, Vec<_>) = state
                .waiting
                .drain(..)
                .partition(|waiting| lost.is_err() || waiting.deadline.is_some_and(|deadline| now >= deadline));
            state.waiting = waiting;
            let last = state.waiting.is_empty();
            state.running = !last;
            drop(state);
            due.into_iter().for_each(|waiting| waiting.waker.wake());
            if last {
                return;
            }
            thread::sleep(PAUSES[usize::from(round >= SHORT_ROUNDS)]);
        }
    }
}
