//! Reports values that a run could not represent and answered nevertheless.

use std::ffi::c_char;

use crate::{
    arguments::{SizedStruct, copy_out, room, write},
    error::{texpool_error, texpool_status},
    guard::answer,
    session::{texpool_session, used},
};
use texpool_rust::{Clamp, RunWarnings};

/// Counts of values that the last run of a session could not represent. All zero: the answers are as computed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct texpool_warnings {
    /// sizeof(texpool_warnings), set by the caller.
    pub struct_size: usize,
    /// NaN and infinite values in the outputs that were read.
    pub not_finite: u64,
    /// Finite values beyond the range of the options "precision" or "weights" that were stored as the nearest in it, such
    /// as 65504 in 16 bits; those of the model's constants count in every run.
    pub saturated: u64,
    /// Indices outside their axis that were replaced by the nearest index inside.
    pub index_outside: u64,
}

// SAFETY: it is `repr(C)`, begins with its size, and zeros are numbers.
unsafe impl SizedStruct for texpool_warnings {
    const NAME: &'static str = "texpool_warnings";
}

impl texpool_warnings {
    fn new(struct_size: usize, warnings: &RunWarnings) -> Self {
        let not_finite = warnings.not_finite.iter().map(|output| output.found.total() as u64).sum();
        let [saturated, index_outside] = [Clamp::Saturated, Clamp::IndexOutside].map(|clamp| warnings.count(clamp));
        Self { struct_size, not_finite, saturated, index_outside }
    }
}

/// Fills in the counts of the session's last run; zeros before the first run. The struct's struct_size must be set. Waits
/// for a run that is under way.
///
/// Errors: DEVICE, DEVICE_LOST, TIMEOUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_warnings(
    session: *const texpool_session,
    warnings: *mut texpool_warnings,
    error: *mut *mut texpool_error,
) -> texpool_status {
    // SAFETY: the header says what each pointer must be.
    answer(error, || unsafe {
        let session = used(session)?;
        write(warnings, |size| Ok(texpool_warnings::new(size, &session.with(|session| session.warnings())?)))
    })
}

/// Writes the same as English text that names the tensors, for a log: UTF-8 that ends in a zero byte, or just that byte if
/// there is nothing to report. *bytes becomes the length with the zero byte; if capacity is less, nothing is written: call
/// it with capacity 0 first.
///
/// Errors: ARGUMENT if capacity is neither 0 nor enough; DEVICE, DEVICE_LOST, TIMEOUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn texpool_session_warnings_text(
    session: *const texpool_session,
    text: *mut c_char,
    capacity: usize,
    bytes: *mut usize,
    error: *mut *mut texpool_error,
) -> texpool_status {
    answer(error, || {
        // SAFETY: the header says what each pointer must be.
        let (session, bytes) = unsafe { (used(session)?, room(bytes, "bytes")?) };
        let mut message = session.with(|session| session.warnings())?.to_string().replace('\0', "\u{fffd}");
        message.push('\0');
        // SAFETY: the header says what the pointer must be.
        unsafe { copy_out((message.as_bytes(), "the text"), (text.cast(), "text"), capacity, bytes) }
    })
}
