//! How far a search is, told to the caller, who may end it.

use std::{
    ffi::{c_char, c_int, c_void},
    ops::ControlFlow,
};

use texpool_rust::{Progress, StopReason};

/// How far a search is. Later versions may add fields at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_progress {
    /// What is being done, such as "exact search". Gone when the callback returns.
    pub stage: *const c_char,
    /// Units of work done in this stage.
    pub done: u64,
    /// Units of work that the stage takes at most; 0 if that is unknown.
    pub total: u64,
    /// Whether there is a plan yet.
    pub has_best: bool,
    /// What the best plan so far takes, in bytes or texels.
    pub best: u64,
}

/// Told every few milliseconds how far a search is; answers 0 to go on, anything else to end it with the best plan so far.
/// It may be called from other threads than the one that asked, one call at a time; it must not throw an exception, nor
/// leave by longjmp.
pub type texpool_progress_fn =
    Option<unsafe extern "C" fn(progress: *const texpool_progress, user_data: *mut c_void) -> c_int>;

/// Why a search ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_stop {
    /// It was done.
    TEXPOOL_STOP_NONE = 0,
    /// The deadline passed: a smaller plan may exist.
    TEXPOOL_STOP_DEADLINE = 1,
    /// The callback ended it: a smaller plan may exist.
    TEXPOOL_STOP_CANCELLED = 2,
    /// More buffers depend on each other than the search takes: only greedy plans were tried.
    TEXPOOL_STOP_TOO_MANY = 3,
    /// Another reason, of a later version: a smaller plan may exist.
    TEXPOOL_STOP_OTHER = 4,
}

/// Why a search ended, as C has it.
pub(crate) fn stop(reason: Option<StopReason>) -> texpool_stop {
    match reason {
        None => texpool_stop::TEXPOOL_STOP_NONE,
        Some(StopReason::Deadline) => texpool_stop::TEXPOOL_STOP_DEADLINE,
        Some(StopReason::Cancelled) => texpool_stop::TEXPOOL_STOP_CANCELLED,
        Some(StopReason::TooManyTensors) => texpool_stop::TEXPOOL_STOP_TOO_MANY,
        Some(_) => texpool_stop::TEXPOOL_STOP_OTHER,
    }
}

/// A callback with what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Listener {
    call: texpool_progress_fn,
    user_data: *mut c_void,
}

// SAFETY: the header says that the callback may be called from other threads.
unsafe impl Send for Listener {}

/// Longest name of a stage, with the zero at its end.
const STAGE_BYTES: usize = 64;

impl Listener {
    pub(crate) fn new(call: texpool_progress_fn, user_data: *mut c_void) -> Self {
        Self { call, user_data }
    }

    /// Tells it, and answers whether to go on.
    pub(crate) fn tell(&self, progress: Progress) -> ControlFlow<()> {
        let Some(call) = self.call else { return ControlFlow::Continue(()) };
        let mut stage = [0u8; STAGE_BYTES];
        stage.iter_mut().zip(progress.stage.bytes().take(STAGE_BYTES - 1)).for_each(|(to, byte)| *to = byte);
        let told = texpool_progress {
            stage: stage.as_ptr().cast(),
            done: progress.done,
            total: progress.total,
            has_best: progress.best.is_some(),
            best: progress.best.unwrap_or_default(),
        };
        // SAFETY: the caller gave it to be called with this.
        match unsafe { call(&told, self.user_data) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
