//! The functions that the runtime looks up in the library, as declared in
//! `tflite/delegates/external/external_delegate_interface.h` of LiteRT.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    slice,
};

use crate::{delegate::Delegate, guard::guarded, log::tell, options::Options};

/// Callback that receives an error message.
type ReportError = Option<unsafe extern "C" fn(*const c_char)>;

/// Creates a delegate with the given options, as names and values. Returns NULL on failure, and reports the error to
/// `report_error`, or to standard error if that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tflite_plugin_create_delegate(
    keys: *const *const c_char,
    values: *const *const c_char,
    count: usize,
    report_error: ReportError,
) -> *mut c_void {
    let created = guarded(|| {
        // Python declares the count as an `int`, so the upper half may contain anything.
        let count = count & 0xffff_ffff;
        // SAFETY: the runtime passes `count` strings in each list.
        let (keys, values) = unsafe { (texts(keys, count, "names")?, texts(values, count, "values")?) };
        let options: Vec<(String, String)> = keys.into_iter().zip(values).collect();
        Delegate::create(Options::parse(&options)?)
    });
    match created {
        Ok(delegate) => delegate.cast(),
        Err(reason) => {
            let _ = guarded(|| {
                // SAFETY: the function is called as the runtime declares it.
                unsafe { report(report_error, &reason) };
                Ok(())
            });
            std::ptr::null_mut()
        }
    }
}

/// Destroys a delegate. Does nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tflite_plugin_destroy_delegate(delegate: *mut c_void) {
    let _ = guarded(|| {
        // SAFETY: the runtime destroys each delegate once.
        unsafe { Delegate::destroy(delegate.cast()) };
        Ok(())
    });
}

/// # Safety
/// The pointer is NULL, or it points to `count` pointers, which are NULL or point to strings.
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
/// The function accepts a string.
unsafe fn report(report_error: ReportError, reason: &str) {
    match report_error {
        Some(call) => {
            // C strings cannot contain zeros.
            let text = CString::new(format!("texpool: {reason}").replace('\0', "\u{fffd}")).unwrap_or_default();
            // SAFETY: as the caller of this function promises.
            unsafe { call(text.as_ptr()) };
        }
        None => tell(reason),
    }
}
