//! Wrappers for all exported functions: they catch panics, because unwinding into C would abort the process.

use std::{
    any::Any,
    mem,
    panic::{self, AssertUnwindSafe},
};

use crate::error::{Failure, texpool_error, texpool_status};

/// Runs the body of a call. Returns its status, and writes an error object, or NULL on success, if the caller passed
/// `error`.
pub(crate) fn answer(error: *mut *mut texpool_error, call: impl FnOnce() -> Result<(), Failure>) -> texpool_status {
    // Unwinding is safe here: a panic during a run poisons the session's lock, and all other state is only read.
    let failure = match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panicked) => Some(internal(panicked)),
    };
    let status = failure.as_ref().map_or(texpool_status::TEXPOOL_OK, Failure::status);
    if !error.is_null() && error.is_aligned() {
        let pointer = failure.map_or(std::ptr::null_mut(), |failure| Box::into_raw(Box::new(failure.into_error())));
        // SAFETY: the caller has room for a pointer there.
        unsafe { error.write(pointer) };
    }
    status
}

/// Runs the body of a call that cannot fail. Returns its result, or `otherwise` if it panics.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panicked| {
        mem::forget(panicked);
        otherwise
    })
}

fn internal(panicked: Box<dyn Any + Send>) -> Failure {
    let text = panicked.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
    // Dropping the payload of a panic may itself panic.
    mem::forget(panicked);
    let message = text.unwrap_or_else(|| "it says nothing".to_owned());
    Failure::new(texpool_status::TEXPOOL_ERROR_INTERNAL, format!("a defect of texpool: {message}"))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::answer;
    use crate::error::{texpool_error_message, texpool_error_release, texpool_error_status, texpool_status};

    /// Unwinding into C would abort the process.
    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = ptr::null_mut();
        assert_eq!(answer(&mut error, || panic!("no {}", "room")), texpool_status::TEXPOOL_ERROR_INTERNAL);
        // SAFETY: the error was just made, and is released once.
        unsafe {
            assert_eq!(texpool_error_status(error), texpool_status::TEXPOOL_ERROR_INTERNAL);
            let text = std::ffi::CStr::from_ptr(texpool_error_message(error)).to_str();
            assert_eq!(text, Ok("a defect of texpool: no room"));
            texpool_error_release(error);
        }
        assert_eq!(answer(ptr::null_mut(), || panic!()), texpool_status::TEXPOOL_ERROR_INTERNAL);
    }

    /// Callers may check only the error pointer and ignore the status.
    #[test]
    fn an_error_is_null_where_all_is_well() {
        let mut error = ptr::dangling_mut();
        assert_eq!(answer(&mut error, || Ok(())), texpool_status::TEXPOOL_OK);
        assert!(error.is_null());
    }
}
