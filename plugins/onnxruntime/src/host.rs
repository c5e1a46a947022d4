//! The runtime as this library sees it: its tables, its errors and its log. Nothing unwinds into it.

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

/// What is said in front of every message, so that a reader of a host's log knows who speaks.
const SPEAKER: &str = "texpool";

/// How many things the runtime has of something, and where it writes them.
type Count<T> = unsafe extern "system" fn(*const T, *mut usize) -> *mut OrtStatus;
type List<T, E> = unsafe extern "system" fn(*const T, *mut *const E, usize) -> *mut OrtStatus;

/// The runtime's tables. They stay for as long as the runtime is loaded, which is longer than this library is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub(crate) api: &'static OrtApi,
    pub(crate) ep: &'static OrtEpApi,
}

impl Host {
    /// The tables of the version that is asked for. A runtime that is too old gets an error of its own making.
    ///
    /// # Safety
    /// The pointer is NULL, or to what the runtime has for plugins.
    pub(crate) unsafe fn new(base: *const OrtApiBase) -> Result<Self, *mut OrtStatus> {
        // SAFETY: as the caller promises.
        let Some(base) = (unsafe { base.as_ref() }) else { return Err(ptr::null_mut()) };
        // SAFETY: any version may be asked for; tables of the runtime stay.
        if let Some(api) = unsafe { (base.get_api)(ORT_API_VERSION).as_ref() } {
            // SAFETY: the table has this member, and its answer stays.
            if let Some(ep) = unsafe { (api.get_ep_api)().as_ref() } {
                return Ok(Self { api, ep });
            }
        }
        // The first members are those of the first version.
        // SAFETY: as above.
        let Some(first) = (unsafe { (base.get_api)(1).as_ref() }) else { return Err(ptr::null_mut()) };
        // SAFETY: it is a text that stays.
        let found = unsafe { CStr::from_ptr((base.get_version_string)()) };
        let message = format!(
            "{SPEAKER}: this ONNX Runtime, {}, has no plugin interface of version {ORT_API_VERSION}; install 1.24 or newer",
            found.to_string_lossy()
        );
        let message = text(&message);
        // SAFETY: the text ends in a zero and is copied.
        Err(unsafe { (first.create_status)(ErrorCode::NotImplemented as i32, message.as_ptr()) })
    }

    /// Does what a callback is for, and says how it ended.
    pub(crate) fn answer(self, call: impl FnOnce() -> Result<(), Failure>) -> *mut OrtStatus {
        // What is half done is noted where it lies: a partition's lock is poisoned, everything else is only read.
        match panic::catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => ptr::null_mut(),
            Ok(Err(failure)) => self.status(&failure),
            Err(panicked) => self.status(&defect(panicked)),
        }
    }

    /// An error as the runtime has it.
    fn status(self, failure: &Failure) -> *mut OrtStatus {
        let message = text(&format!("{SPEAKER}: {}", failure.message));
        // SAFETY: the text ends in a zero and is copied.
        unsafe { (self.api.create_status)(failure.code as i32, message.as_ptr()) }
    }

    /// What a call of the runtime's says.
    ///
    /// # Safety
    /// The status is NULL, or one that the runtime has just made.
    pub(crate) unsafe fn check(self, status: *mut OrtStatus) -> Result<(), Failure> {
        if status.is_null() {
            return Ok(());
        }
        // SAFETY: as the caller promises; it is not used after it is released.
        unsafe {
            let message = CStr::from_ptr((self.api.get_error_message)(status)).to_string_lossy().into_owned();
            (self.api.release_status)(status);
            Err(Failure::interface(message))
        }
    }

    /// # Safety
    /// `of` is there, and both calls are of one list.
    pub(crate) unsafe fn list<T, E>(
        self,
        count: Count<T>,
        list: List<T, E>,
        of: *const T,
    ) -> Result<Vec<*const E>, Failure> {
        let mut length = 0;
        // SAFETY: as the caller promises, and there is room for as many as there are.
        unsafe {
            self.check(count(of, &mut length))?;
            let mut found = vec![ptr::null(); length];
            self.check(list(of, found.as_mut_ptr(), length))?;
            Ok(found)
        }
    }

    /// # Safety
    /// `of` is there.
    pub(crate) unsafe fn text_of<T>(
        self,
        get: unsafe extern "system" fn(*const T, *mut *const c_char) -> *mut OrtStatus,
        of: *const T,
    ) -> Result<String, Failure> {
        let mut found = ptr::null();
        // SAFETY: as the caller promises; the text is there as long as what it is of.
        unsafe {
            self.check(get(of, &mut found))?;
            Ok(string(found))
        }
    }

    /// Writes to the log of a session.
    pub(crate) fn log(self, logger: *const OrtLogger, severity: Severity, message: &str) {
        let message = text(&format!("{SPEAKER}: {message}"));
        #[cfg(windows)]
        let file: Vec<OrtPathChar> = SPEAKER.encode_utf16().chain([0]).collect();
        #[cfg(not(windows))]
        let file: Vec<OrtPathChar> = SPEAKER.bytes().map(|byte| byte as OrtPathChar).chain([0]).collect();
        // SAFETY: all texts end in a zero and are copied, and the logger is the session's, which is there.
        let status = unsafe {
            let (file, function) = (file.as_ptr(), c"texpool".as_ptr());
            (self.api.logger_log_message)(logger, severity as i32, message.as_ptr(), file, 0, function)
        };
        // A log that takes no more lines is no reason to fail.
        // SAFETY: the status was just made.
        drop(unsafe { self.check(status) });
    }
}

/// The same where there is nobody to tell: what it answers, or `otherwise` where the library has a defect.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panicked| {
        mem::forget(panicked);
        otherwise
    })
}

/// A text for C, which has no zeros but that at its end.
pub(crate) fn text(message: &str) -> CString {
    CString::new(shown(message)).unwrap_or_default()
}

/// A text that may hold names from files, without what would steer a terminal but the ends of its lines.
pub(crate) fn shown(message: &str) -> String {
    let lines: Vec<String> = message.lines().map(|line| printable(line).untruncated().to_string()).collect();
    lines.join("\n")
}

/// A text of the runtime's; empty where it has none.
///
/// # Safety
/// The pointer is NULL, or to bytes up to a zero.
pub(crate) unsafe fn string(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

fn defect(panicked: Box<dyn Any + Send>) -> Failure {
    let said = panicked.downcast_ref::<&str>().copied().map(str::to_owned);
    let said = said.or_else(|| panicked.downcast_ref::<String>().cloned());
    // Dropping what a panic carries may panic, too.
    mem::forget(panicked);
    let said = said.unwrap_or_else(|| "it says nothing".to_owned());
    Failure::new(ErrorCode::RuntimeException, format!("a defect of texpool: {said}"))
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
