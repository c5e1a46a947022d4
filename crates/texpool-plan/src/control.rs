//! Stopping a search: a deadline, and a progress callback that may cancel.
//!
//! Every search of the library takes a [`SearchControl`]. A search that is stopped returns its best result so far and
//! the reason ([`StopReason`]), and claims no more than it has proven. Otherwise effort is counted in steps of the
//! algorithms, so that without a deadline the same input gives the same plan on every machine.

use std::{
    fmt,
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicU8, AtomicU32, Ordering},
    },
    time::Duration,
};

// The standard library's itself, except in WebAssembly, where that one panics: there it is the browser's.
use web_time::Instant;

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The stage, such as `exact search`.
    pub stage: &'static str,
    /// Units of work done in this stage.
    pub done: u64,
    /// Units of work that the stage takes at most; 0 if unknown.
    pub total: u64,
    /// Cost of the best plan so far, in the records' unit, if there is one.
    pub best: Option<u64>,
}

impl Progress {
    /// Progress of a stage that has no plan yet.
    pub const fn new(stage: &'static str, done: u64, total: u64) -> Self {
        Self { stage, done, total, best: None }
    }
}

/// Why a search ended before it had done all its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// The deadline passed.
    Deadline,
    /// The progress callback answered [`ControlFlow::Break`].
    Cancelled,
    /// More tensors depend on each other than the search takes, so only the greedy strategies were tried.
    TooManyTensors,
}

impl StopReason {
    /// Every reason; saved plans name a reason by its index, so new ones are added at the end.
    #[doc(hidden)]
    pub const ALL: [Self; 3] = [Self::Deadline, Self::Cancelled, Self::TooManyTensors];
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "the deadline passed",
            Self::Cancelled => "it was cancelled",
            Self::TooManyTensors => "there are more tensors than the search takes",
        })
    }
}

/// A callback that is called with the progress of a search and returns whether it continues.
///
/// ```
/// use std::ops::ControlFlow;
/// use texpool_plan::{Progress, ProgressFn, SearchControl};
///
/// let mut print = |Progress { stage, done, total, .. }: Progress| {
///     println!("{stage}: {done} of {total}");
///     ControlFlow::Continue(())
/// };
/// let callback: &mut ProgressFn<'_> = &mut print;
/// SearchControl::new().progress(callback).report(Progress::new("counting", 1, 3));
/// ```
pub type ProgressFn<'a> = dyn FnMut(Progress) -> ControlFlow<()> + Send + 'a;

const RUNNING: u8 = 0;
const DEADLINE: u8 = 1;
const CANCELLED: u8 = 2;

/// When a search stops, and the callback for its progress. The threads of a search share it.
///
/// ```
/// use std::{ops::ControlFlow, time::Duration};
/// use texpool_plan::{Progress, SearchControl, StopReason};
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
///
/// Parts of a search have controls of their own:
///
/// ```
/// use std::time::{Duration, Instant};
/// use texpool_plan::{Progress, SearchControl};
///
/// let control = SearchControl::new().deadline(Instant::now() + Duration::from_secs(10));
/// // A part of the search that ends after half of the time, and one of many that report as one.
/// assert!(control.share(1, 2).remaining() <= Some(Duration::from_secs(5)));
/// assert_eq!(control.stage(Progress::new("all networks", 2, 7)).stopped(), None);
/// ```
#[derive(Default)]
pub struct SearchControl<'a> {
    deadline: Option<Instant>,
    progress: Option<Mutex<Listener<'a>>>,
    /// Calls of [`should_stop`](Self::should_stop) so far.
    checks: AtomicU32,
    /// The control that this one is a share or a stage of.
    parent: Option<&'a (dyn ParentControl + Sync + 'a)>,
    /// If set, what is reported to the parent in place of every report; and this control stops only when the parent
    /// does.
    stage: Option<Progress>,
    state: AtomicU8,
}

/// The callback, and the progress it was called with last.
struct Listener<'a> {
    callback: &'a mut ProgressFn<'a>,
    last: Progress,
}

/// Checks after which the callback is called again with the last progress, so that it can cancel a stage that reports
/// seldom. Searches check about every millisecond or more often, so a user who cancels waits for some hundredths of a
/// second.
const CHECKS_PER_CALLBACK: u32 = 32;

/// What a control asks of its parent. A trait object, because `&'a SearchControl<'a>` would borrow the parent for as
/// long as its callback lives: the `Mutex` makes the lifetime invariant.
trait ParentControl {
    /// Why the parent was stopped. Does not read the clock: the deadline of a share is never after that of its parent.
    fn parent_stopped(&self) -> Option<StopReason>;

    /// Reports the progress of a share.
    fn report_to_parent(&self, progress: Progress);

    /// Calls the callback with the last progress.
    fn repeat_report(&self);

    /// Whether anything can stop the parent.
    fn parent_can_stop(&self) -> bool;

    /// Whether the parent stops now, and its stages with it.
    fn parent_should_stop(&self) -> bool;
}

impl ParentControl for SearchControl<'_> {
    fn parent_stopped(&self) -> Option<StopReason> {
        self.stopped()
    }

    fn report_to_parent(&self, progress: Progress) {
        self.report(progress);
    }

    fn repeat_report(&self) {
        self.call_back(None);
    }

    fn parent_can_stop(&self) -> bool {
        self.can_stop()
    }

    fn parent_should_stop(&self) -> bool {
        self.should_stop()
    }
}

impl<'a> SearchControl<'a> {
    /// No deadline, and no callback.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops at `deadline`, which in WebAssembly is one of the `web-time` crate's. The clock is read only if there is a
    /// deadline: some targets have no clock.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Stops after `timeout`, counted from now. Never, if that is beyond what the clock can represent.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.deadline = Instant::now().checked_add(timeout);
        self
    }

    /// Calls `progress` during the search, and stops once it returns [`ControlFlow::Break`].
    #[must_use]
    pub fn progress(mut self, progress: &'a mut ProgressFn<'a>) -> Self {
        let last = Progress::new("planning", 0, 0);
        self.progress = Some(Mutex::new(Listener { callback: progress, last }));
        self
    }

    /// A control for one part of a search. It stops when this one does and, if there is a deadline, after `part / of`
    /// of the time that is left, so that later parts have time, too. The end of a share does not stop this control.
    #[must_use]
    pub fn share(&self, part: u32, of: u32) -> SearchControl<'_> {
        let time = self.remaining().map(|left| left / of.max(1) * part.min(of));
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        SearchControl { deadline, parent: Some(self), ..SearchControl::new() }
    }

    /// A control for one of many similar parts of a stage. It stops when this one does, and the callback gets
    /// `progress`, the progress of the whole stage, in place of that of the part.
    #[must_use]
    pub fn stage(&self, progress: Progress) -> SearchControl<'_> {
        SearchControl { parent: Some(self), stage: Some(progress), ..SearchControl::new() }
    }

    /// The time until the deadline, if there is one.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether anything can stop the search: a deadline, or a callback.
    pub(super) fn can_stop(&self) -> bool {
        self.deadline.is_some() || self.progress.is_some() || self.parent.is_some_and(ParentControl::parent_can_stop)
    }

    /// Reports progress. Searches call this every few milliseconds or more often.
    pub fn report(&self, progress: Progress) {
        match self.parent {
            Some(parent) => parent.report_to_parent(self.stage.unwrap_or(progress)),
            None => self.call_back(Some(progress)),
        }
    }

    /// Calls the callback with new progress, or with the last.
    fn call_back(&self, new: Option<Progress>) {
        if let Some(parent) = self.parent {
            return parent.repeat_report();
        }
        let Some(listener) = &self.progress else { return };
        // A callback that has cancelled the search is not called again.
        if self.stopped().is_some() {
            return;
        }
        // Nor is one that has panicked in another thread.
        let Ok(mut listener) = listener.lock() else { return };
        let last = new.unwrap_or(listener.last);
        listener.last = last;
        if (listener.callback)(last).is_break() {
            self.stop(CANCELLED);
        }
    }

    /// Whether the search has to stop. Cheap enough for an inner loop: a few loads, and the clock if there is a
    /// deadline. Now and then it calls the callback with the last progress.
    pub fn should_stop(&self) -> bool {
        if let (Some(parent), Some(_)) = (self.parent, self.stage) {
            return parent.parent_should_stop();
        }
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_PER_CALLBACK == CHECKS_PER_CALLBACK - 1 {
            self.call_back(None);
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

    /// Why the search was stopped; `None` if it was not.
    pub fn stopped(&self) -> Option<StopReason> {
        match self.state.load(Ordering::Relaxed) {
            DEADLINE => Some(StopReason::Deadline),
            CANCELLED => Some(StopReason::Cancelled),
            _ => self.parent.and_then(ParentControl::parent_stopped),
        }
    }

    /// Sets the reason, unless there is one already.
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
