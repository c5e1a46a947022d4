//! The way into the library and out of it: nothing unwinds into C.

use std::{
    any::Any,
    mem,
    panic::{self, AssertUnwindSafe},
};

use crate::error::{Failure, texpool_error, texpool_status};

/// Does what a call asks for, and says how it ended: by its number, and by an error where the caller wants one.
pub(crate) fn answer(error: *mut *mut texpool_error, call: impl FnOnce() -> Result<(), Failure>) -> texpool_status {
    // What is half done is noted where it lies: a session's lock is poisoned, everything else is only read.
    let failure = match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panicked) => Some(internal(panicked)),
    };
    let status = failure.as_ref().map_or(texpool_status::TEXPOOL_OK, Failure::status);
    if !error.is_null() && error.is_aligned() {
        let made = failure.map_or(std::ptr::null_mut(), |failure| Box::into_raw(Box::new(failure.into_error())));
        // SAFETY: the caller has room for a pointer there.
        unsafe { error.write(made) };
    }
    status
}

/// The same of a call that cannot fail: what it answers, or `otherwise` where the library has a defect.
pub(crate) fn quiet<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panicked| {
        mem::forget(panicked);
        otherwise
    })
}

fn internal(panicked: Box<dyn Any + Send>) -> Failure {
    let text = panicked.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
    // Dropping what a panic carries may panic, too.
    mem::forget(panicked);
    let said = text.unwrap_or_else(|| "it says nothing".to_owned());
    Failure::new(texpool_status::TEXPOOL_ERROR_INTERNAL, format!("a defect of texpool: {said}"))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::answer;
    use crate::error::{texpool_error_message, texpool_error_release, texpool_error_status, texpool_status};

    /// Unwinding into C would end the process.
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

    /// A caller may look at the error alone.
    #[test]
    fn an_error_is_null_where_all_is_well() {
        let mut error = ptr::dangling_mut();
        assert_eq!(answer(&mut error, || Ok(())), texpool_status::TEXPOOL_OK);
        assert!(error.is_null());
    }
}
