//! Catches panics, so that they do not unwind into the runtime.

use std::{
    any::Any,
    mem,
    panic::{self, AssertUnwindSafe},
};

/// Calls the function, and turns a panic into an error.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // Unwinding is safe here: a kernel that panics during a run drops its session.
    panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panicked| Err(panic_message(panicked)))
}

fn panic_message(panicked: Box<dyn Any + Send>) -> String {
    let text = panicked.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
    // Dropping the payload of a panic may itself panic.
    mem::forget(panicked);
    format!("a defect of texpool: {}", text.unwrap_or_else(|| "it says nothing".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::guarded;

    /// Unwinding into C++ would abort the process.
    #[test]
    fn a_panic_becomes_an_error() {
        let panics = || -> Result<(), String> { panic!("no {}", "room") };
        assert_eq!(guarded(panics), Err("a defect of texpool: no room".to_owned()));
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
