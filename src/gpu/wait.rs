//! Waiting for the device: for one submission, no longer than the timeout, and for buffers that are to be mapped.
//! Nothing else in this crate waits for a device.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::{Gpu, GpuError};

/// How long one call of `Device::poll` may wait. wgpu holds a lock meanwhile, and notices lost devices only between
/// calls; a call returns as soon as the device is done, so a short slice costs nothing.
const POLL_SLICE: Duration = Duration::from_millis(100);

/// How long to wait for a callback that another thread's poll has taken up and has yet to call. Chosen far above what a
/// scheduler may delay a thread.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

impl Gpu {
    /// Waits until the device is done with `submission`, which is called `what`; what was submitted after it may still
    /// run.
    pub(super) fn wait(&self, submission: &wgpu::SubmissionIndex, what: &str) -> Result<(), GpuError> {
        let begun = Instant::now();
        loop {
            self.check_lost()?;
            let left = self.timeout().saturating_sub(begun.elapsed());
            let wait = wgpu::PollType::Wait {
                submission_index: Some(submission.clone()),
                timeout: Some(left.min(POLL_SLICE)),
            };
            match catch_panic(|| self.device.poll(wait)) {
                Ok(Ok(_)) => return self.check_lost(),
                // A slice has passed, and not yet all the time there is.
                Ok(Err(wgpu::PollError::Timeout)) if left > POLL_SLICE => {}
                Ok(Err(wgpu::PollError::Timeout)) => {
                    return Err(GpuError::Timeout { what: what.to_owned(), waited: begun.elapsed() });
                }
                // What was submitted to a device that was being destroyed has no number that could be waited for.
                Ok(Err(error @ wgpu::PollError::WrongSubmissionIndex(..))) => {
                    return Err(self.loss(error.to_string()));
                }
                Err(message) => return Err(self.loss(message)),
            }
        }
    }

    /// The error of a device that did not do what only a lost one does not do: as the device itself says, if it does.
    fn loss(&self, message: String) -> GpuError {
        // Gives wgpu the occasion to say that the device was destroyed.
        let _ = catch_panic(|| self.device.poll(wgpu::PollType::Poll));
        self.check_lost().err().unwrap_or(GpuError::Lost { reason: None, message })
    }
}

/// What `poll` answers, or what it panicked with. wgpu 30 panics in `Device::poll` where a driver reports the loss of
/// its device during the wait; it has told the device's callback before.
fn catch_panic<T>(poll: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(poll)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        text.unwrap_or("the wait for the device was given up").to_owned()
    })
}

/// A buffer that is to be mapped, whole, and the answer to that.
#[derive(Debug)]
pub(super) struct Mapping {
    answer: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Mapping {
    /// Asks for the buffer to be mapped when the device is done with what was submitted up to now.
    pub(super) fn new(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (tell, answer) = mpsc::channel();
        buffer.map_async(mode, .., move |result| {
            // Nobody listens to the mapping of a buffer that was given up.
            let _ = tell.send(result);
        });
        Self { answer }
    }

    /// The answer, after a [wait](Gpu::wait) for the last submission that uses the buffer. Where threads share a
    /// device, a thread's wait may be over before another one has delivered the answer.
    pub(super) fn finish(self, gpu: &Gpu) -> Result<(), GpuError> {
        let doing = "mapping a buffer".to_owned();
        match self.answer.recv_timeout(CALLBACK_TIMEOUT) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                gpu.check_lost()?;
                Err(GpuError::Refused { doing, reason: error.to_string() })
            }
            Err(RecvTimeoutError::Timeout) => Err(GpuError::Timeout { what: doing, waited: CALLBACK_TIMEOUT }),
            Err(RecvTimeoutError::Disconnected) => {
                gpu.check_lost()?;
                Err(GpuError::Refused { doing, reason: "it was given up".into() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::catch_panic;

    /// Drivers here lose no device on request, so the panic that wgpu makes of it is made by hand.
    #[test]
    fn a_panic_while_polling_becomes_a_message() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let lost = "Error in Device::poll: the device is lost";
        assert_eq!(catch_panic(|| panic!("{lost}")), Err::<(), _>(lost.to_owned()));
        assert_eq!(catch_panic(|| panic!("lost")), Err::<(), _>("lost".to_owned()));
    }
}
