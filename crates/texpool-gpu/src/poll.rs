//! Helpers to poll once: a future, or a device.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// Polls a future once, without a waker.
pub(super) fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns the result of `poll`, or its panic message. wgpu 30 panics in `Device::poll` if a driver reports the loss
/// of its device during the wait, after it has called the device-lost callback.
pub(super) fn catch_panic<T>(poll: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(poll)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        text.unwrap_or("the wait for the device was given up").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    /// Our test drivers cannot lose a device on request, so the test raises wgpu's panic itself.
    #[test]
    fn a_panic_while_polling_becomes_a_message() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let lost = "Error in Device::poll: the device is lost";
        assert_eq!(catch_panic(|| panic!("{lost}")), Err::<(), _>(lost.to_owned()));
        assert_eq!(catch_panic(|| panic!("lost")), Err::<(), _>("lost".to_owned()));
    }
}
