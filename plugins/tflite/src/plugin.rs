//! The functions that the runtime looks for in the library, as
//! `tflite/delegates/external/external_delegate_interface.h` of LiteRT has them.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    slice,
};

use crate::{delegate::Delegate, guard::guarded, log::tell, options::Options};

/// Told what went wrong.
type ReportError = Option<unsafe extern "C" fn(*const c_char)>;

/// Creates a delegate, with options by name and text. NULL where that fails, which is told to `report_error`; to
/// standard error where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tflite_plugin_create_delegate(
    keys: *const *const c_char,
    values: *const *const c_char,
    count: usize,
    report_error: ReportError,
) -> *mut c_void {
    let created = guarded(|| {
        // Python's callers declare the number as an `int`, whose upper half may hold anything.
        let count = count & 0xffff_ffff;
        // SAFETY: the runtime gives as many texts.
        let (keys, values) = unsafe { (texts(keys, count, "names")?, texts(values, count, "values")?) };
        let given: Vec<(String, String)> = keys.into_iter().zip(values).collect();
        Delegate::create(Options::parse(&given)?)
    });
    match created {
        Ok(delegate) => delegate.cast(),
        Err(reason) => {
            let _ = guarded(|| {
                // SAFETY: the runtime gives it to be called so.
                unsafe { report(report_error, &reason) };
                Ok(())
            });
            std::ptr::null_mut()
        }
    }
}

/// Destroys a delegate. NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tflite_plugin_destroy_delegate(delegate: *mut c_void) {
    let _ = guarded(|| {
        // SAFETY: the runtime gives back what it was given, once.
        unsafe { Delegate::destroy(delegate.cast()) };
        Ok(())
    });
}

/// # Safety
/// The pointer is NULL, or to as many pointers, which are NULL or to texts.
unsafe fn texts(list: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if list.is_null() {
        return Err(format!("the {what} of options are NULL"));
    }
    // SAFETY: as the caller of this function promises.
    unsafe { slice::from_raw_parts(list, count) }
        .iter()
        .map(|&text| {
            if text.is_null() {
                return Err(format!("one of the {what} of options is NULL"));
            }
            // SAFETY: as the caller of this function promises.
            let text = unsafe { CStr::from_ptr(text) }.to_str();
            text.map(str::to_owned).map_err(|_| format!("one of the {what} of options is not UTF-8"))
        })
        .collect()
}

/// # Safety
/// The function is one that takes a text.
unsafe fn report(report_error: ReportError, reason: &str) {
    match report_error {
        Some(call) => {
            // A text for C has no zeros but that at its end.
            let text = CString::new(format!("texpool: {reason}").replace('\0', "\u{fffd}")).unwrap_or_default();
            // SAFETY: as the caller of this function promises.
            unsafe { call(text.as_ptr()) };
        }
        None => tell(reason),
    }
}
