//! Waiting for the device: for one submission or one answer, no longer than the timeout, blocking or as a task. All
//! waits of this crate for a device go through this module.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use super::{Gpu, GpuError, poll::catch_panic};

/// Name of a run in the errors of waits.
pub const RUN: &str = "a run of the model";

/// Ways for a call to wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Blocks this thread, which drives the device meanwhile. A future that waits this way is ready at its first
    /// poll.
    #[cfg(not(target_arch = "wasm32"))]
    Block,
    /// Waits as a task that is woken.
    Task,
}

/// Receiver for the answer of a wgpu callback.
pub type Answer<T> = oneshot::Receiver<T>;

/// Delivers an answer if its receiver still waits. wgpu runs callbacks during any thread's submission, and a panic in
/// another task's waker must not reach that thread.
fn give<T>(tell: oneshot::Sender<T>, answer: T) {
    let _ = catch_panic(|| drop(tell.send(answer)));
}

/// Returns the result of a future whose only waits [block](Wait::Block), so that one poll completes it.
///
/// # Errors
/// [`GpuError::Refused`] if the future is pending nevertheless, which is a bug.
#[cfg(not(target_arch = "wasm32"))]
pub fn now<T, E: From<GpuError>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match super::poll::poll_once(std::pin::pin!(future)) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => {
            Err(GpuError::Refused { doing: "a blocking call".into(), reason: "it waits for a task".into() }.into())
        }
    }
}

impl Gpu {
    /// Waits until the device has finished `submitted`; `what` names it in errors.
    pub(crate) async fn done(&self, wait: Wait, submitted: &Submitted, what: &str) -> Result<(), GpuError> {
        match wait {
            #[cfg(not(target_arch = "wasm32"))]
            Wait::Block => self.wait(&submitted.index, what),
            Wait::Task => self.told_done(wait, submitted, self.tell_done(), what).await,
        }
    }

    /// Requests an answer for when the device has finished all work submitted until now.
    pub fn tell_done(&self) -> Answer<()> {
        let (tell, answer) = oneshot::channel();
        self.queue.on_submitted_work_done(move || give(tell, ()));
        answer
    }

    /// Waits until the device has finished `submitted`. Work that was submitted after the answer was requested may
    /// still run.
    pub async fn told_done(
        &self,
        wait: Wait,
        submitted: &Submitted,
        answer: Answer<()>,
        what: &str,
    ) -> Result<(), GpuError> {
        match wait {
            // Waits by submission index, because the answer may also cover work that another thread submitted
            // meanwhile.
            #[cfg(not(target_arch = "wasm32"))]
            Wait::Block => self.wait(&submitted.index, what),
            Wait::Task => {
                #[cfg(target_arch = "wasm32")]
                let _ = submitted;
                self.task(answer, what).await?;
                self.settle().await?;
                // wgpu also reports work as done when the device was lost.
                self.check_lost()
            }
        }
    }

    /// Waits for an answer. If its submission is known, a blocking wait waits for that submission.
    pub(super) async fn answer<T>(
        &self,
        wait: Wait,
        answer: Answer<T>,
        submitted: Option<&Submitted>,
        what: &str,
    ) -> Result<T, GpuError> {
        #[cfg(target_arch = "wasm32")]
        let _ = submitted;
        match wait {
            #[cfg(not(target_arch = "wasm32"))]
            Wait::Block => self.block(answer, submitted.map(|submitted| &submitted.index), what),
            Wait::Task => self.task(answer, what).await,
        }
    }

    /// Returns the error for a buffer that could not be mapped. That usually means a lost device, which may not have
    /// reported its loss yet.
    pub(super) fn unmapped(&self, reason: impl fmt::Display) -> GpuError {
        let refused = || GpuError::Refused { doing: "mapping a buffer".into(), reason: reason.to_string() };
        self.check_again().err().unwrap_or_else(refused)
    }

    /// Returns the error for an answer that will never come: its sender was dropped, either without being submitted
    /// or together with the device.
    fn given_up(&self, what: &str) -> GpuError {
        self.check_lost().err().unwrap_or_else(|| GpuError::NotSubmitted { what: what.to_owned() })
    }
}

/// Handle of a submission to the queue.
#[derive(Clone, Debug)]
pub struct Submitted {
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "there is no blocking wait"))]
    index: wgpu::SubmissionIndex,
}

impl Gpu {
    /// Submits commands to the queue. All submissions of this crate go through here.
    pub(super) fn submit(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> Submitted {
        // If a callback keeps another thread's turn open, the submission proceeds without a turn once patience runs
        // out.
        #[cfg(not(target_arch = "wasm32"))]
        let _turn = self.driver().turn(native::PATIENCE);
        Submitted { index: self.queue.submit(commands) }
    }
}

#[cfg(target_arch = "wasm32")]
mod task {
    use super::{Answer, Gpu, GpuError};

    impl Gpu {
        /// Waits for an answer. The browser drives the device but gives us no clock; callers that want a timeout race
        /// the future.
        pub(super) async fn task<T>(&self, answer: Answer<T>, what: &str) -> Result<T, GpuError> {
            answer.await.map_err(|_| self.given_up(what))
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::{
        pin::Pin,
        task::{Context, Poll},
        time::{Duration, Instant},
    };

    use oneshot::{RecvTimeoutError, TryRecvError};

    use super::{Answer, Gpu, GpuError};
    use crate::{poll::catch_panic, poller::Polling};

    /// Interval at which a wait checks for a lost device and for an interrupt.
    const ROUND: Duration = Duration::from_millis(100);
    /// Longest wait in one call of `Device::poll`: other threads cannot submit until it returns. A call returns as
    /// soon as the device is done, so a short slice costs little. If the submission is unknown, the call waits for
    /// all submitted work, and the answer may come earlier.
    const SLICE: Duration = Duration::from_millis(1);
    /// `SLICE` for when another thread waits for its turn.
    const SHARED_SLICE: Duration = Duration::from_micros(200);
    /// Longest time that a submission, or a single poll of the device, waits for its turn. Chosen far above a slice.
    pub(crate) const PATIENCE: Duration = Duration::from_millis(20);
    /// Pause between two checks for an answer whose work has not been submitted yet.
    const PAUSE: Duration = Duration::from_micros(200);
    /// Longest wait for a callback that another thread's poll has taken from wgpu but not called yet. Chosen far
    /// above any delay by the scheduler.
    const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);
    /// Start of the message with which wgpu 30 panics if a wait times out and another thread's poll sees the device
    /// done before the waiting thread checks (gfx-rs/wgpu#9958). This is harmless, and the next poll reports the
    /// device as done. Threads of this crate take turns (`driver.rs`), so it only happens if the host application
    /// polls the device, too.
    const OVERTAKEN: &str = "If the queue is empty, the current submission index";

    impl Gpu {
        /// Blocks until the device has finished a submission.
        pub(crate) fn wait(&self, submission: &wgpu::SubmissionIndex, what: &str) -> Result<(), GpuError> {
            let begun = Instant::now();
            loop {
                self.check_lost()?;
                self.check_interrupted(what)?;
                let left = self.timeout().saturating_sub(begun.elapsed());
                match self.poll_round(submission, left.min(ROUND))? {
                    Polled::Done => return self.check_lost(),
                    // A round has passed, but the timeout has not.
                    Polled::Busy if left > ROUND => {}
                    Polled::Busy => return Err(GpuError::Timeout { what: what.to_owned(), waited: begun.elapsed() }),
                }
            }
        }

        /// Polls, alternating with other threads, until the device is done or `round` has passed.
        fn poll_round(&self, submission: &wgpu::SubmissionIndex, round: Duration) -> Result<Polled, GpuError> {
            let begun = Instant::now();
            loop {
                let left = round.saturating_sub(begun.elapsed());
                match self.poll_for(Some(submission), left.min(SLICE))? {
                    Polled::Busy if !left.is_zero() => self.check_told()?,
                    polled => return Ok(polled),
                }
            }
        }

        /// Blocks until an answer arrives.
        pub(super) fn block<T>(
            &self,
            answer: Answer<T>,
            submission: Option<&wgpu::SubmissionIndex>,
            what: &str,
        ) -> Result<T, GpuError> {
            let begun = Instant::now();
            let late = |waited| GpuError::Timeout { what: what.to_owned(), waited };
            if let Some(submission) = submission {
                // A wait for another answer of the same submission has mostly delivered this one, too. To ask the
                // device again would take as long as a small dispatch on a device of the caller, which is probed.
                if let Ok(answer) = answer.try_recv() {
                    return Ok(answer);
                }
                self.wait(submission, what)?;
                // If threads share a device, this wait may end before another thread has delivered the answer.
                return match answer.recv_timeout(CALLBACK_TIMEOUT) {
                    Ok(answer) => Ok(answer),
                    Err(RecvTimeoutError::Timeout) => Err(late(begun.elapsed())),
                    Err(RecvTimeoutError::Disconnected) => Err(self.given_up(what)),
                };
            }
            loop {
                match answer.try_recv() {
                    Ok(answer) => return Ok(answer),
                    Err(TryRecvError::Disconnected) => return Err(self.given_up(what)),
                    Err(TryRecvError::Empty) => self.check_lost()?,
                }
                self.check_interrupted(what)?;
                let waited = begun.elapsed();
                if waited >= self.timeout() {
                    return Err(late(waited));
                }
                match self.poll_for(None, SLICE)? {
                    Polled::Busy => {}
                    // The device is idle, so another thread has yet to submit the work that this wait is for.
                    Polled::Done => {
                        if let Ok(answer) = answer.recv_timeout(PAUSE) {
                            return Ok(answer);
                        }
                    }
                }
            }
        }

        fn poll_for(&self, submission: Option<&wgpu::SubmissionIndex>, timeout: Duration) -> Result<Polled, GpuError> {
            // A thread that does not get its turn for long returns, so that its caller checks for a lost device.
            let Some(turn) = self.driver().turn(timeout.max(SLICE)) else { return Ok(Polled::Busy) };
            let timeout = if turn.is_wanted() { timeout.min(SHARED_SLICE) } else { timeout };
            let wait = wgpu::PollType::Wait { submission_index: submission.cloned(), timeout: Some(timeout) };
            match catch_panic(|| self.device.poll(wait)) {
                Ok(Ok(_)) => Ok(Polled::Done),
                Ok(Err(wgpu::PollError::Timeout)) => Ok(Polled::Busy),
                // Work submitted to a device that was being destroyed has no valid index to wait for.
                Ok(Err(error @ wgpu::PollError::WrongSubmissionIndex(..))) => Err(self.loss(error.to_string())),
                Err(message) if message.starts_with(OVERTAKEN) => Ok(Polled::Busy),
                Err(message) => Err(self.loss(message)),
            }
        }

        /// Polls the device once without waiting. A panic comes from wgpu, because of a lost device, and is ignored.
        pub(crate) fn poll_now(&self) {
            let _turn = self.driver().turn(PATIENCE);
            let _ = catch_panic(|| self.device.poll(wgpu::PollType::Poll));
        }

        /// Returns the error for behaviour that only a lost device shows; prefers the device's own report if one
        /// exists.
        fn loss(&self, message: String) -> GpuError {
            self.check_again().err().unwrap_or(GpuError::Lost { reason: None, message })
        }

        pub(super) fn task<T>(&self, answer: Answer<T>, what: &str) -> Task<T> {
            let begun = Instant::now();
            let answer = answer.into_future();
            Task { gpu: self.clone(), answer, begun, what: what.to_owned(), watched: None }
        }
    }

    enum Polled {
        Done,
        Busy,
    }

    /// Future that waits for an answer.
    pub(super) struct Task<T> {
        gpu: Gpu,
        answer: oneshot::AsyncReceiver<T>,
        begun: Instant,
        what: String,
        /// Its registration number with the poller, once it waits.
        watched: Option<u64>,
    }

    impl<T> Future for Task<T> {
        type Output = Result<T, GpuError>;

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
            let this = &mut *self;
            match Pin::new(&mut this.answer).poll(cx) {
                Poll::Ready(Ok(answer)) => return Poll::Ready(Ok(answer)),
                Poll::Ready(Err(_)) => return Poll::Ready(Err(this.gpu.given_up(&this.what))),
                Poll::Pending => {}
            }
            // Probes the device itself unless the poller does so already.
            if this.watched.is_some() { this.gpu.check_told() } else { this.gpu.check_lost() }?;
            let waited = this.begun.elapsed();
            if waited >= this.gpu.timeout() {
                return Poll::Ready(Err(GpuError::Timeout { what: this.what.clone(), waited }));
            }
            match this.watched {
                Some(number) => this.gpu.poller().rewake(number, cx.waker()),
                None if this.gpu.polling() == Polling::Host => {}
                None => {
                    this.watched = this.gpu.watch(cx.waker(), this.begun.checked_add(this.gpu.timeout()));
                    if this.watched.is_none() {
                        // If no poller thread could be started, the task drives the device itself.
                        this.gpu.poll_now();
                        cx.waker().wake_by_ref();
                    }
                }
            }
            Poll::Pending
        }
    }

    impl<T> Drop for Task<T> {
        fn drop(&mut self) {
            if let Some(number) = self.watched {
                self.gpu.poller().forget(number);
            }
        }
    }
}

/// A requested mapping of a whole buffer, with the receiver for its result. The channel is the one heap allocation that
/// a run makes for each tensor; wgpu puts the callback on the heap, too. The mutex is never locked: it only makes the
/// type `Sync`, because a receiver belongs to one thread while several threads share a session.
#[derive(Debug)]
pub(super) struct Mapping(Mutex<Answer<Result<(), wgpu::BufferAsyncError>>>);

impl Mapping {
    /// Requests the mapping for when the device has finished all work submitted until now.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn new(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (tell, answer) = oneshot::channel();
        buffer.map_async(mode, .., move |result| give(tell, result));
        Self(Mutex::new(answer))
    }

    /// Requests the mapping for when the device has finished the commands of an encoder, once they are submitted.
    pub(super) fn on_submit(encoder: &wgpu::CommandEncoder, buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (tell, answer) = oneshot::channel();
        encoder.map_buffer_on_submit(buffer, mode, .., move |result| give(tell, result));
        Self(Mutex::new(answer))
    }

    /// Returns whether the buffer is mapped by now, without waiting: `None` if still pending, `Some(false)` if the
    /// mapping failed.
    pub(super) fn is_mapped(&mut self) -> Option<bool> {
        match self.0.get_mut().unwrap_or_else(PoisonError::into_inner).try_recv() {
            Ok(result) => Some(result.is_ok()),
            Err(oneshot::TryRecvError::Disconnected) => Some(false),
            Err(oneshot::TryRecvError::Empty) => None,
        }
    }

    /// Waits for the mapping, and therefore for `submitted`, the last submission that uses the buffer, if known.
    pub(super) async fn finish(
        self,
        gpu: &Gpu,
        wait: Wait,
        submitted: Option<&Submitted>,
        what: &str,
    ) -> Result<(), GpuError> {
        let answer = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        gpu.answer(wait, answer, submitted, what).await?.map_err(|error| gpu.unmapped(error))
    }
}
