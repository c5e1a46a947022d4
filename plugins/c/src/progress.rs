//! Reports the progress of a search to a callback, which may end the search.

use std::{
    ffi::{c_char, c_int, c_void},
    ops::ControlFlow,
};

use texpool_rust::{Progress, StopReason};

/// Progress of a search. Later versions may append fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_progress {
    /// Name of the current stage, such as "exact search". Valid until the callback returns.
    pub stage: *const c_char,
    /// Units of work done in this stage.
    pub done: u64,
    /// Upper limit on the units of work in this stage; 0 if unknown.
    pub total: u64,
    /// True once a plan has been found.
    pub has_best: bool,
    /// Size of the best plan yet, in bytes or texels.
    pub best: u64,
}

/// Callback that receives the progress of a search every few milliseconds. Return 0 to continue; any other value ends
/// the search with the best plan found until then. It may be called from threads other than the one that started the
/// search, but never concurrently. It must not throw an exception or leave by longjmp.
pub type texpool_progress_fn =
    Option<unsafe extern "C" fn(progress: *const texpool_progress, user_data: *mut c_void) -> c_int>;

/// Why a search ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum texpool_stop {
    /// The search ran to completion.
    TEXPOOL_STOP_NONE = 0,
    /// The deadline passed: a smaller plan may exist.
    TEXPOOL_STOP_DEADLINE = 1,
    /// The callback ended it: a smaller plan may exist.
    TEXPOOL_STOP_CANCELLED = 2,
    /// More buffers are interdependent than the exact search can handle: a smaller plan may exist.
    TEXPOOL_STOP_TOO_MANY = 3,
    /// A reason added in a later version: a smaller plan may exist.
    TEXPOOL_STOP_OTHER = 4,
}

/// Converts the reason why a search ended into its C enum.
pub(crate) fn stop(reason: Option<StopReason>) -> texpool_stop {
    match reason {
        None => texpool_stop::TEXPOOL_STOP_NONE,
        Some(StopReason::Deadline) => texpool_stop::TEXPOOL_STOP_DEADLINE,
        Some(StopReason::Cancelled) => texpool_stop::TEXPOOL_STOP_CANCELLED,
        Some(StopReason::TooManyTensors) => texpool_stop::TEXPOOL_STOP_TOO_MANY,
        Some(_) => texpool_stop::TEXPOOL_STOP_OTHER,
    }
}

/// A C callback together with its `user_data`.
#[derive(Clone, Copy)]
pub(crate) struct Listener {
    call: texpool_progress_fn,
    user_data: *mut c_void,
}

// SAFETY: the header says that the callback may be called from other threads.
unsafe impl Send for Listener {}

/// Longest name of a stage, including the terminating zero.
const STAGE_BYTES: usize = 64;

impl Listener {
    pub(crate) fn new(call: texpool_progress_fn, user_data: *mut c_void) -> Self {
        Self { call, user_data }
    }

    /// Calls the callback, and returns whether to continue.
    pub(crate) fn tell(&self, progress: Progress) -> ControlFlow<()> {
        let Some(call) = self.call else { return ControlFlow::Continue(()) };
        let mut stage = [0u8; STAGE_BYTES];
        stage.iter_mut().zip(progress.stage.bytes().take(STAGE_BYTES - 1)).for_each(|(to, byte)| *to = byte);
        let snapshot = texpool_progress {
            stage: stage.as_ptr().cast(),
            done: progress.done,
            total: progress.total,
            has_best: progress.best.is_some(),
            best: progress.best.unwrap_or_default(),
        };
        // SAFETY: the caller supplied the callback to be called with these arguments.
        match unsafe { call(&snapshot, self.user_data) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
