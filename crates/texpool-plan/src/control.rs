//! Stopping a search: a deadline, and a progress callback that may cancel.
//!
//! Every search of the library takes a [`SearchControl`]. A stopped search returns its best result, with the reason
//! ([`StopReason`]), and claims only the bound that it has proven. Apart from that, effort is counted in steps of the
//! algorithms, so that without a deadline the same input gives the same plan on every machine.

use std::{
    fmt,
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering},
    },
    time::Duration,
};

// This is the standard library's `Instant`, except in WebAssembly, where that one panics and the browser's clock is
// used.
use web_time::Instant;

/// Progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The stage, such as `exact search`.
    pub stage: &'static str,
    /// Units of work done in this stage.
    pub done: u64,
    /// Upper limit on the units of work in this stage; 0 if unknown.
    pub total: u64,
    /// Cost of the current best plan, in the records' unit, if a plan exists.
    pub best: Option<u64>,
}

impl Progress {
    /// Creates the progress of a stage that has no plan yet.
    pub const fn new(stage: &'static str, done: u64, total: u64) -> Self {
        Self { stage, done, total, best: None }
    }
}

/// Reason why a search ended before completing its work.
///
/// ```
/// use std::ops::ControlFlow;
/// use texpool_plan::{Progress, SearchControl, StopReason};
///
/// let mut cancel = |_: Progress| ControlFlow::Break(());
/// let control = SearchControl::new().progress(&mut cancel);
/// control.report(Progress::new("exact search", 1, 100));
/// assert_eq!(control.stopped(), Some(StopReason::Cancelled));
/// assert_eq!(StopReason::Cancelled.to_string(), "it was cancelled");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StopReason {
    /// The deadline passed.
    Deadline,
    /// The progress callback returned [`ControlFlow::Break`].
    Cancelled,
    /// Too many tensors depend on each other for the search that proves a plan, so only greedy strategies, and for an
    /// arena searches without a proof, ran.
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
            Self::TooManyTensors => "there are more tensors than the exact search takes",
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

/// Decides when a search stops, and holds the callback for its progress. The threads of a search share it.
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
/// Parts of a search get separate controls:
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
    /// Number of calls of [`should_stop`](Self::should_stop).
    checks: AtomicU32,
    /// The control that this one is a share or a stage of, if any.
    parent: Option<&'a (dyn ParentControl + Sync + 'a)>,
    /// If set, this progress is reported to the parent instead of every report, and this control stops only when the
    /// parent does.
    stage: Option<Progress>,
    state: AtomicU8,
}

/// The callback, and the last progress passed to it.
struct Listener<'a> {
    callback: &'a mut ProgressFn<'a>,
    last: Progress,
}

/// Number of checks after which the callback is called again with the last progress, so that it can cancel a stage
/// that rarely reports. Searches check about every millisecond or more often, so cancelling takes effect within some
/// hundredths of a second.
const CHECKS_PER_CALLBACK: u32 = 32;

/// The parent operations that a control needs. A trait object, because `&'a SearchControl<'a>` would borrow the
/// parent for as long as its callback lives: the `Mutex` makes the lifetime invariant.
trait ParentControl {
    /// Returns why the parent was stopped. Does not read the clock: the deadline of a share is never after that of
    /// its parent.
    fn parent_stopped(&self) -> Option<StopReason>;

    /// Reports the progress of a share.
    fn report_to_parent(&self, progress: Progress);

    /// Calls the callback with the last progress.
    fn repeat_report(&self);

    /// Returns whether anything can stop the parent.
    #[cfg(feature = "proofs")]
    fn parent_can_stop(&self) -> bool;

    /// Returns whether the parent has to stop now, and its stages with it.
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

    #[cfg(feature = "proofs")]
    fn parent_can_stop(&self) -> bool {
        self.can_stop()
    }

    fn parent_should_stop(&self) -> bool {
        self.should_stop()
    }
}

impl<'a> SearchControl<'a> {
    /// Creates a control without a deadline or a callback.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops at `deadline`. In WebAssembly its type is that of the `web-time` crate. The clock is read only if a
    /// deadline is set, because some targets have no clock.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Stops after `timeout`, counted from now. Never stops if that is beyond the range of the clock.
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

    /// Creates a control for one part of a search. It stops when this one does. If there is a deadline, it also stops
    /// after `part / of` of the remaining time, so that later parts have time, too. The end of a share does not stop
    /// this control.
    #[must_use]
    pub fn share(&self, part: u32, of: u32) -> SearchControl<'_> {
        let time = self.remaining().map(|remaining| remaining / of.max(1) * part.min(of));
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        SearchControl { deadline, parent: Some(self), ..SearchControl::new() }
    }

    /// Creates a control for one of many similar parts of a stage. It stops when this one does. The callback gets
    /// `progress`, the progress of the whole stage, instead of the progress of the part.
    #[must_use]
    pub fn stage(&self, progress: Progress) -> SearchControl<'_> {
        SearchControl { parent: Some(self), stage: Some(progress), ..SearchControl::new() }
    }

    /// Returns the time until the deadline, if there is one.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns whether a deadline or a callback can stop the search.
    #[cfg(feature = "proofs")]
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
        // A callback that has panicked in another thread is not called again either.
        let Ok(mut listener) = listener.lock() else { return };
        let last = new.unwrap_or(listener.last);
        listener.last = last;
        if (listener.callback)(last).is_break() {
            self.stop(CANCELLED);
        }
    }

    /// Returns whether the search has to stop. Cheap enough for an inner loop: a few loads, plus the clock if there
    /// is a deadline. From time to time it calls the callback with the last progress.
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

    /// Returns why the search was stopped; `None` if it was not.
    pub fn stopped(&self) -> Option<StopReason> {
        match self.state.load(Ordering::Relaxed) {
            DEADLINE => Some(StopReason::Deadline),
            CANCELLED => Some(StopReason::Cancelled),
            _ => self.parent.and_then(ParentControl::parent_stopped),
        }
    }

    /// Sets the reason, unless one is already set.
    fn stop(&self, reason: u8) {
        let _ = self.state.compare_exchange(RUNNING, reason, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Calls a search with a control that stops it after a time and when a flag is set.
pub(crate) fn limited<T>(
    deadline: Option<Duration>,
    cancel: Option<&AtomicBool>,
    search: impl FnOnce(&SearchControl<'_>) -> T,
) -> T {
    let mut callback = |_: Progress| match cancel {
        Some(flag) if flag.load(Ordering::Relaxed) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let mut control = SearchControl::new();
    if cancel.is_some() {
        control = control.progress(&mut callback);
    }
    if let Some(after) = deadline {
        control = control.timeout(after);
    }
    search(&control)
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
