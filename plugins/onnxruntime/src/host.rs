//! Access to the runtime: its tables, its errors and its log. Panics are caught here, so that they do not unwind into
//! the runtime.

use std::{
    any::Any,
    ffi::{CStr, CString, c_char},
    mem,
    panic::{self, AssertUnwindSafe},
    ptr,
};

use texpool::plan::printable;

use crate::{
    api::{
        ep_table::OrtEpApi,
        tables::{OrtApi, OrtApiBase},
        types::{ErrorCode, ORT_API_VERSION, OrtLogger, OrtPathChar, OrtStatus, Severity},
    },
    failure::Failure,
};

/// Prefix of every message, which identifies texpool in a host's log.
const SPEAKER: &str = "texpool";

/// Functions of the runtime that return the length of a list, and that copy the list to an array.
type Count<T> = unsafe extern "system" fn(*const T, *mut usize) -> *mut OrtStatus;
type List<T, E> = unsafe extern "system" fn(*const T, *mut *const E, usize) -> *mut OrtStatus;

/// The runtime's tables. They exist as long as the runtime is loaded, which is longer than this library is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub(crate) api: &'static OrtApi,
    pub(crate) ep: &'static OrtEpApi,
}

impl Host {
    /// Gets the tables of the required version. If the runtime is too old, returns an error created by the runtime.
    ///
    /// # Safety
    /// The pointer is NULL, or it is the one that the runtime passes to plugins.
    pub(crate) unsafe fn new(base: *const OrtApiBase) -> Result<Self, *mut OrtStatus> {
        // SAFETY: as the caller promises.
        let Some(base) = (unsafe { base.as_ref() }) else { return Err(ptr::null_mut()) };
        // SAFETY: any version may be requested, and tables are never freed.
        if let Some(api) = unsafe { (base.get_api)(ORT_API_VERSION).as_ref() } {
            // SAFETY: the table has this member, and the returned table is never freed.
            if let Some(ep) = unsafe { (api.get_ep_api)().as_ref() } {
                return Ok(Self { api, ep });
            }
        }
        // SAFETY: an old runtime has at least the first table, whose first members never change.
        let Some(first) = (unsafe { (base.get_api)(1).as_ref() }) else { return Err(ptr::null_mut()) };
        // SAFETY: it is a static string.
        let version = unsafe { CStr::from_ptr((base.get_version_string)()) };
        let message = format!(
            "{SPEAKER}: this ONNX Runtime, {}, has no plugin interface of version {ORT_API_VERSION}; install 1.24 or newer",
            version.to_string_lossy()
        );
        let message = text(&message);
        // SAFETY: the string ends with a zero and is copied.
        Err(unsafe { (first.create_status)(ErrorCode::NotImplemented as i32, message.as_ptr()) })
    }

    /// Runs the body of a callback, and returns its status.
    pub(crate) fn answer(self, call: impl FnOnce() -> Result<(), Failure>) -> *mut OrtStatus {
        // Unwinding is safe here: a panic during a run poisons the partition's lock, and all other state is only
        // read.
        match panic::catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => ptr::null_mut(),
            Ok(Err(failure)) => self.status(&failure),
            Err(panicked) => self.status(&defect(panicked)),
        }
    }

    /// Converts an error into a status of the runtime.
    fn status(self, failure: &Failure) -> *mut OrtStatus {
        let message = text(&format!("{SPEAKER}: {}", failure.message));
        // SAFETY: the string ends with a zero and is copied.
        unsafe { (self.api.create_status)(failure.code as i32, message.as_ptr()) }
    }

    /// Converts a status of the runtime into a result.
    ///
    /// # Safety
    /// The status is NULL, or the runtime has just returned it.
    pub(crate) unsafe fn check(self, status: *mut OrtStatus) -> Result<(), Failure> {
        if status.is_null() {
            return Ok(());
        }
        // SAFETY: as the caller promises; the status is not used after its release.
        unsafe {
            let message = CStr::from_ptr((self.api.get_error_message)(status)).to_string_lossy().into_owned();
            (self.api.release_status)(status);
            Err(Failure::interface(message))
        }
    }

    /// # Safety
    /// `of` exists, and both functions refer to the same list.
    pub(crate) unsafe fn list<T, E>(
        self,
        count: Count<T>,
        list: List<T, E>,
        of: *const T,
    ) -> Result<Vec<*const E>, Failure> {
        let mut length = 0;
        // SAFETY: as the caller promises, and the array has room for all entries.
        unsafe {
            self.check(count(of, &mut length))?;
            let mut entries = vec![ptr::null(); length];
            self.check(list(of, entries.as_mut_ptr(), length))?;
            Ok(entries)
        }
    }

    /// # Safety
    /// `of` exists.
    pub(crate) unsafe fn text_of<T>(
        self,
        get: unsafe extern "system" fn(*const T, *mut *const c_char) -> *mut OrtStatus,
        of: *const T,
    ) -> Result<String, Failure> {
        let mut text = ptr::null();
        // SAFETY: as the caller promises; the string exists as long as `of`.
        unsafe {
            self.check(get(of, &mut text))?;
            Ok(string(text))
        }
    }

    /// Writes to the log of a session.
    pub(crate) fn log(self, logger: *const OrtLogger, severity: Severity, message: &str) {
        let message = text(&format!("{SPEAKER}: {message}"));
        #[cfg(windows)]
        let file: Vec<OrtPathChar> = SPEAKER.encode_utf16().chain([0]).collect();
        #[cfg(not(windows))]
        let file: Vec<OrtPathChar> = SPEAKER.bytes().map(|byte| byte as OrtPathChar).chain([0]).collect();
        // SAFETY: all strings end with a zero and are copied, and the logger exists as long as the session.
        let status = unsafe {
            let (file, function) = (file.as_ptr(), c"texpool".as_ptr());
            (self.api.logger_log_message)(logger, severity as i32, message.as_ptr(), file, 0, function)
        };
        // Errors of the log are ignored.
        // SAFETY: the status was just made.
        drop(unsafe { self.check(status) });
    }
}

/// Runs the body of a callback that cannot report errors. Returns its result, or `otherwise` if it panics.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panicked| {
        mem::forget(panicked);
        otherwise
    })
}

/// Converts a message into a C string, which cannot contain zeros.
pub(crate) fn text(message: &str) -> CString {
    CString::new(shown(message)).unwrap_or_default()
}

/// Escapes control characters in a message, which may contain names from files. Line breaks are kept.
pub(crate) fn shown(message: &str) -> String {
    let lines: Vec<String> = message.lines().map(|line| printable(line).untruncated().to_string()).collect();
    lines.join("\n")
}

/// Copies a string of the runtime. NULL gives an empty string.
///
/// # Safety
/// The pointer is NULL, or it points to a zero-terminated string.
pub(crate) unsafe fn string(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn defect(panicked: Box<dyn Any + Send>) -> Failure {
    let message = panicked.downcast_ref::<&str>().copied().map(str::to_owned);
    let message = message.or_else(|| panicked.downcast_ref::<String>().cloned());
    // Dropping the payload of a panic may itself panic.
    mem::forget(panicked);
    let message = message.unwrap_or_else(|| "it says nothing".to_owned());
    Failure::new(ErrorCode::RuntimeException, format!("a defect of texpool: {message}"))
}

#[cfg(test)]
mod tests {
    use super::{ErrorCode, defect, quiet, text};

    #[test]
    fn a_panic_becomes_an_error_or_nothing() {
        let failure = defect(std::panic::catch_unwind(|| panic!("no {}", "room")).unwrap_err());
        assert_eq!((failure.code, &*failure.message), (ErrorCode::RuntimeException, "a defect of texpool: no room"));
        assert_eq!(quiet(7, || panic!("unseen")), 7);
    }

    #[test]
    fn texts_steer_no_terminal_and_end_where_they_end() {
        assert_eq!(text("a\0b\n\u{1b}[2Jc").to_str(), Ok("a\\u{0}b\n\\u{1b}[2Jc"));
    }
}
