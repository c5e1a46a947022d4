//! How a search is watched and stopped: a deadline, and a progress callback that may break off.
//!
//! Every search of the library takes a [`SearchControl`]. One that is stopped answers with the best it has so far and
//! says why it stopped ([`StopReason`]); what it did not prove it does not claim. Effort is otherwise counted in steps
//! of the algorithms, so that without a deadline the same input gives the same plan on every machine.

use std::{
    fmt,
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in a few words: `exact search`.
    pub stage: &'static str,
    /// Units of work done in this stage.
    pub done: u64,
    /// Units of work that the stage takes at most; 0 where that is not known.
    pub total: u64,
    /// Cost of the best plan so far, in the records' unit, where there is one.
    pub best: Option<u64>,
}

impl Progress {
    /// So much of a stage, with no plan yet.
    pub const fn new(stage: &'static str, done: u64, total: u64) -> Self {
        Self { stage, done, total, best: None }
    }
}

/// Why a search ended before it had done all its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum StopReason {
    /// The deadline passed.
    Deadline,
    /// The progress callback answered [`ControlFlow::Break`].
    Cancelled,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "the deadline passed",
            Self::Cancelled => "it was cancelled",
        })
    }
}

/// Is told how far a search is, and answers whether it goes on.
pub type ProgressFn<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

const RUNNING: u8 = 0;
const DEADLINE: u8 = 1;
const CANCELLED: u8 = 2;

/// When a search stops, and who is told how far it is. Shared by the threads of a search.
///
/// ```
/// use std::{ops::ControlFlow, time::Duration};
/// use texpool::plan::{Progress, SearchControl, StopReason};
///
/// let mut seen = 0;
/// let mut callback = |progress: Progress| {
///     seen = progress.done;
///     if progress.done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// };
/// let control = SearchControl::new().timeout(Duration::from_secs(60)).progress(&mut callback);
/// for done in 0.. {
///     control.report(Progress::new("counting", done, 0));
///     if control.should_stop() {
///         break;
///     }
/// }
/// assert_eq!(control.stopped(), Some(StopReason::Cancelled));
/// assert_eq!(seen, 2);
/// ```
#[derive(Default)]
pub struct SearchControl<'a> {
    deadline: Option<Instant>,
    progress: Option<Mutex<Listener<'a>>>,
    /// How often it was asked whether to stop.
    asked: AtomicU32,
    /// The control that this one is a part of.
    whole: Option<&'a (dyn Whole + Sync + 'a)>,
    /// What the whole is told, whatever this one is told; then this one stops when the whole does, and never else.
    stage: Option<Progress>,
    state: AtomicU8,
}

/// The callback, and what it was told last.
struct Listener<'a> {
    callback: &'a mut ProgressFn<'a>,
    last: Progress,
}

/// Times a control is asked whether to stop after which the callback is told again what it was told last, so that it
/// can stop a search in the midst of a stage. Searches ask at least every millisecond of work or so.
const ASKED: u32 = 32;

/// A control that others are a part of.
trait Whole {
    /// Why it was stopped; no look at the clock, for a part never ends after the whole.
    fn halted(&self) -> Option<StopReason>;

    /// Tells how far the part is.
    fn told(&self, progress: Progress);

    /// Tells again how far it is.
    fn told_again(&self);

    /// Whether anything can stop it.
    fn may_stop(&self) -> bool;

    /// Whether it ends now, and so its parts.
    fn must_stop(&self) -> bool;
}

impl Whole for SearchControl<'_> {
    fn halted(&self) -> Option<StopReason> {
        self.stopped()
    }

    fn told(&self, progress: Progress) {
        self.report(progress);
    }

    fn told_again(&self) {
        self.tell(None);
    }

    fn may_stop(&self) -> bool {
        self.is_watched()
    }

    fn must_stop(&self) -> bool {
        self.should_stop()
    }
}

impl<'a> SearchControl<'a> {
    /// No deadline, and no callback.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops at `deadline`. The clock is read only where there is a deadline: some targets have none.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Stops so long from now; never, where that is beyond what the clock counts.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.deadline = Instant::now().checked_add(timeout);
        self
    }

    /// Tells `progress` how far the search is, and stops once it answers [`ControlFlow::Break`].
    #[must_use]
    pub fn progress(mut self, progress: &'a mut ProgressFn<'a>) -> Self {
        let last = Progress::new("planning", 0, 0);
        self.progress = Some(Mutex::new(Listener { callback: progress, last }));
        self
    }

    /// A control for one part of a search: it stops when this one does, and, where there is a deadline, after `part` of
    /// `of` parts of the time that is left, so that the parts after it have some. What stops the share alone does not
    /// stop this control.
    #[must_use]
    pub fn share(&self, part: u32, of: u32) -> SearchControl<'_> {
        let time = self.remaining().map(|left| left / of.max(1) * part.min(of));
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        SearchControl { deadline, whole: Some(self), ..SearchControl::new() }
    }

    /// A control for one of many alike parts of a stage: it stops when this one does, and whoever watches this one sees
    /// `progress`, how far the stage is, and not the stages that the part is made of.
    #[must_use]
    pub fn stage(&self, progress: Progress) -> SearchControl<'_> {
        SearchControl { whole: Some(self), stage: Some(progress), ..SearchControl::new() }
    }

    /// The time until the deadline, where there is one.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether anything can stop the search: a deadline, or a callback.
    pub(super) fn is_watched(&self) -> bool {
        self.deadline.is_some() || self.progress.is_some() || self.whole.is_some_and(Whole::may_stop)
    }

    /// Tells how far the search is. Searches call this at least every few milliseconds of work.
    pub fn report(&self, progress: Progress) {
        match self.whole {
            Some(whole) => whole.told(self.stage.unwrap_or(progress)),
            None => self.tell(Some(progress)),
        }
    }

    /// Calls the callback with what is new, or with what it was told last.
    fn tell(&self, new: Option<Progress>) {
        if let Some(whole) = self.whole {
            return whole.told_again();
        }
        let Some(listener) = &self.progress else { return };
        // Who has stopped a search hears no more of it.
        if self.stopped().is_some() {
            return;
        }
        // A callback that panicked in another thread is not called again.
        let Ok(mut listener) = listener.lock() else { return };
        let last = new.unwrap_or(listener.last);
        listener.last = last;
        if (listener.callback)(last).is_break() {
            self.stop(CANCELLED);
        }
    }

    /// Whether the search ends now, with the best it has. Cheap enough for an inner loop: a few loads, and a look at
    /// the clock where there is a deadline. Now and then it calls the callback, with what it was told last.
    pub fn should_stop(&self) -> bool {
        if let (Some(whole), Some(_)) = (self.whole, self.stage) {
            return whole.must_stop();
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) % ASKED == ASKED - 1 {
            self.tell(None);
        }
        if self.stopped().is_some() {
            return true;
        }
        let passed = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if passed {
            self.stop(DEADLINE);
        }
        passed
    }

    /// Why the search was stopped; `None` as long as it was not.
    pub fn stopped(&self) -> Option<StopReason> {
        match self.state.load(Ordering::Relaxed) {
            DEADLINE => Some(StopReason::Deadline),
            CANCELLED => Some(StopReason::Cancelled),
            _ => self.whole.and_then(Whole::halted),
        }
    }

    /// The first reason stays.
    fn stop(&self, reason: u8) {
        let _ = self.state.compare_exchange(RUNNING, reason, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl fmt::Debug for SearchControl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchControl")
            .field("deadline", &self.deadline)
            .field("progress", &self.progress.is_some())
            .field("stopped", &self.stopped())
            .finish()
    }
}
