//! Solves a linear program so that the search can be stopped at any time.
//!
//! `microlp` checks its time limit every thousand pivots, and a pivot of a large program takes milliseconds. So a
//! large program is solved in a separate thread. When the search is stopped, the thread is abandoned, and it ends at
//! its next check.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use microlp::{Error, Solution, SolveOutcome};

use crate::control::SearchControl;

/// The result of a linear program.
pub(super) enum Solved {
    /// The optimal solution.
    Solution(Box<Solution>),
    /// The program has no solution, or the solver failed.
    None,
    /// The search was stopped.
    Stopped,
}

/// Largest number of matrix entries for which a program is solved without a thread. Among the networks of the tests,
/// the slowest root relaxation of this size takes 10 ms on a busy 2 GHz core; with 4,000 entries they take up to 300
/// ms.
const MAX_ENTRIES_WITHOUT_THREAD: usize = 1 << 10;

/// Time between two checks of the control while the solver's thread works.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Time limit of the solver if no deadline is set. An abandoned thread may work on until then.
const MAX_TIME: Duration = Duration::from_secs(300);

/// Returns the time limit for a program. The solver also applies it to the programs derived from it.
pub(super) fn time_limit(control: &SearchControl<'_>) -> Option<Duration> {
    control.can_stop().then(|| control.remaining().unwrap_or(MAX_TIME).min(MAX_TIME))
}

/// Solves a program whose matrix has `entries` entries. `on_wait` is called repeatedly while a thread works on it.
pub(super) fn solve(
    entries: usize,
    control: &SearchControl<'_>,
    on_wait: &mut dyn FnMut(),
    program: impl FnOnce() -> Result<SolveOutcome, Error> + Send + 'static,
) -> Solved {
    if control.should_stop() {
        return Solved::Stopped;
    }
    if entries <= MAX_ENTRIES_WITHOUT_THREAD || !control.can_stop() {
        return solved(program());
    }
    let (answer, answered) = channel();
    // Sending fails if the search was stopped and the receiver is gone.
    let work = move || drop(answer.send(solved(program())));
    // Targets without threads cannot solve large programs.
    if thread::Builder::new().name("linear program".to_owned()).spawn(work).is_err() {
        return Solved::None;
    }
    loop {
        match answered.recv_timeout(POLL_INTERVAL) {
            Ok(solved) => return solved,
            Err(RecvTimeoutError::Disconnected) => return Solved::None,
            Err(RecvTimeoutError::Timeout) => {
                on_wait();
                if control.should_stop() {
                    return Solved::Stopped;
                }
            }
        }
    }
}

fn solved(outcome: Result<SolveOutcome, Error>) -> Solved {
    match outcome.map(SolveOutcome::into_solution) {
        Ok(Ok(solution)) => Solved::Solution(Box::new(solution)),
        Ok(Err(_)) => Solved::Stopped,
        Err(_) => Solved::None,
    }
}
