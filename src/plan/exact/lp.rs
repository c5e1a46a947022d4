//! One linear program, solved so that it can be stopped at any time.
//!
//! `microlp` looks at the clock every thousand pivots, and a pivot of a large program takes milliseconds. So a large
//! one is solved by a thread of its own, which is left behind when the search is stopped and ends at the next look.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use microlp::{Error, Solution, SolveOutcome};

use crate::plan::control::SearchControl;

/// What came of a program.
pub(super) enum Solved {
    /// It has this solution.
    Solution(Box<Solution>),
    /// It has none, or the solver cannot find it.
    Nothing,
    /// The search was stopped.
    Stopped,
}

/// Entries of the matrix up to which a program is solved at once, without a thread: the largest root relaxation of so
/// many among the networks of the tests takes 10 ms on a busy 2 GHz core, at 4,000 entries up to 300 ms.
const SMALL: usize = 1 << 10;

/// How often a search that waits for the solver looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(10);

/// What a thread may go on for after a search that has no deadline was cancelled.
const LONGEST: Duration = Duration::from_secs(300);

/// The time a program may take: the solver keeps it for all programs that come of this one.
pub(super) fn time_limit(control: &SearchControl<'_>) -> Option<Duration> {
    control.is_watched().then(|| control.remaining().unwrap_or(LONGEST).min(LONGEST))
}

/// Solves a program with so many entries; `waits` is called again and again while it takes long.
pub(super) fn solve(
    entries: usize,
    control: &SearchControl<'_>,
    waits: &mut dyn FnMut(),
    program: impl FnOnce() -> Result<SolveOutcome, Error> + Send + 'static,
) -> Solved {
    if control.should_stop() {
        return Solved::Stopped;
    }
    if entries <= SMALL || !control.is_watched() {
        return solved(program());
    }
    let (answer, answered) = channel();
    // The receiver is gone where the search was stopped.
    let work = move || drop(answer.send(solved(program())));
    // A target without threads has no large programs.
    if thread::Builder::new().name("linear program".to_owned()).spawn(work).is_err() {
        return Solved::Nothing;
    }
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(solved) => return solved,
            Err(RecvTimeoutError::Disconnected) => return Solved::Nothing,
            Err(RecvTimeoutError::Timeout) => {
                waits();
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
        Err(_) => Solved::Nothing,
    }
}
