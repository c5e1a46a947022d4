//! Waiting for the device: for one submission or one answer, no longer than the timeout, by blocking or as a task.
//! Nothing else in this crate waits for a device.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use super::{Gpu, GpuError, poll::catch_panic};

/// What errors call a run that is waited for.
pub(crate) const RUN: &str = "a run of the model";

/// How a call waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// On this thread, which drives the device meanwhile: a future that waits so is ready at its first poll.
    #[cfg(not(target_arch = "wasm32"))]
    Block,
    /// As a task that is woken.
    Task,
}

/// An answer that a callback of wgpu's gives.
pub(crate) type Answer<T> = oneshot::Receiver<T>;

/// Gives an answer, if anybody still waits for it. wgpu calls back out of anybody's submission, whose matter it is not if
/// the waker of another's task panics.
fn give<T>(tell: oneshot::Sender<T>, answer: T) {
    let _ = catch_panic(|| drop(tell.send(answer)));
}

/// The result of a future that does not wait for anything but [blocks](Wait::Block).
///
/// # Errors
/// [`GpuError::Refused`] where it waits nevertheless, which is a defect.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn now<T, E: From<GpuError>>(future: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match super::poll::poll_once(std::pin::pin!(future)) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => {
            Err(GpuError::Refused { doing: "a blocking call".into(), reason: "it waits for a task".into() }.into())
        }
    }
}

impl Gpu {
    /// Waits until the device is done with what was `submitted`, which is called `what`.
    pub(crate) async fn done(&self, wait: Wait, submitted: &Submitted, what: &str) -> Result<(), GpuError> {
        match wait {
            #[cfg(not(target_arch = "wasm32"))]
            Wait::Block => self.wait(&submitted.index, what),
            Wait::Task => self.told_done(wait, submitted, self.tell_done(), what).await,
        }
    }

    /// Asks for an answer when the device is done with what was submitted up to now.
    pub(crate) fn tell_done(&self) -> Answer<()> {
        let (tell, answer) = oneshot::channel();
        self.queue.on_submitted_work_done(move || give(tell, ()));
        answer
    }

    /// Waits until the device is done with what was `submitted`; what was submitted after the answer was asked for may
    /// still run.
    pub(crate) async fn told_done(
        &self,
        wait: Wait,
        submitted: &Submitted,
        answer: Answer<()>,
        what: &str,
    ) -> Result<(), GpuError> {
        match wait {
            // By its number: the answer may be about what somebody else has submitted meanwhile, too.
            #[cfg(not(target_arch = "wasm32"))]
            Wait::Block => self.wait(&submitted.index, what),
            Wait::Task => {
                #[cfg(target_arch = "wasm32")]
                let _ = submitted;
                self.task(answer, what).await?;
                self.settle().await?;
                // Work on a device that is lost is done, too.
                self.check_lost()
            }
        }
    }

    /// Waits for an answer that comes when the device is done with what was `submitted`, where that is known.
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

    /// The error where a buffer is not mapped: of a device that is lost, which may not have said so yet.
    pub(super) fn unmapped(&self, reason: impl fmt::Display) -> GpuError {
        let refused = || GpuError::Refused { doing: "mapping a buffer".into(), reason: reason.to_string() };
        self.check_again().err().unwrap_or_else(refused)
    }

    /// The answer was given up: what was to give it went without being submitted, or with its device.
    fn given_up(&self, what: &str) -> GpuError {
        self.check_lost().err().unwrap_or_else(|| GpuError::NotSubmitted { what: what.to_owned() })
    }
}

/// What was submitted to a queue.
#[derive(Clone, Debug)]
pub(crate) struct Submitted {
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "there is no blocking wait"))]
    index: wgpu::SubmissionIndex,
}

impl Gpu {
    /// Submits commands to the queue. Nothing else in this crate does.
    pub(super) fn submit(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> Submitted {
        // Where a callback keeps another thread's turn open, this goes on without one.
        #[cfg(not(target_arch = "wasm32"))]
        let _turn = self.driver().turn(native::PATIENCE);
        Submitted { index: self.queue.submit(commands) }
    }
}

#[cfg(target_arch = "wasm32")]
mod task {
    use super::{Answer, Gpu, GpuError};

    impl Gpu {
        /// The browser drives the device, and has no clock of its own for us: who wants a timeout races the future.
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
    use crate::gpu::{poll::catch_panic, poller::Polling};

    /// How often a wait asks whether its device is lost, and whether it is to go on.
    const ROUND: Duration = Duration::from_millis(100);
    /// How long one call of `Device::poll` may wait: other threads wait for its end to submit. A call returns as soon as the
    /// device is done, so a short slice costs little. Where it is not known what is waited for, all that was submitted is,
    /// and the answer may come before.
    const SLICE: Duration = Duration::from_millis(1);
    /// The same where another thread waits for its turn.
    const SHARED_SLICE: Duration = Duration::from_micros(200);
    /// How long a submission, or a single look at the device, waits for its turn. Chosen far above a slice.
    pub(in crate::gpu) const PATIENCE: Duration = Duration::from_millis(20);
    /// Between two looks for an answer to what was not submitted yet.
    const PAUSE: Duration = Duration::from_micros(200);
    /// How long to wait for a callback that another thread's poll has taken up and has yet to call. Chosen far above
    /// what a scheduler may delay a thread.
    const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);
    /// What wgpu 30 panics with where a wait has ended without the device being done, and another thread's poll has seen it
    /// done before this one looks (gfx-rs/wgpu#9958). Nothing is wrong then, and the next poll says so. Threads of this
    /// crate take turns (`driver.rs`), so only a host that polls the device itself can bring it about.
    const OVERTAKEN: &str = "If the queue is empty, the current submission index";

    impl Gpu {
        /// Blocks until the device is done with a submission.
        pub(in crate::gpu) fn wait(&self, submission: &wgpu::SubmissionIndex, what: &str) -> Result<(), GpuError> {
            let begun = Instant::now();
            loop {
                self.check_lost()?;
                self.check_interrupted(what)?;
                let left = self.timeout().saturating_sub(begun.elapsed());
                match self.poll_round(submission, left.min(ROUND))? {
                    Polled::Done => return self.check_lost(),
                    // A round has passed, and not yet all the time there is.
                    Polled::Busy if left > ROUND => {}
                    Polled::Busy => return Err(GpuError::Timeout { what: what.to_owned(), waited: begun.elapsed() }),
                }
            }
        }

        /// Polls, in turn with other threads, until the device is done or so much time has passed.
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

        /// Blocks until an answer is there.
        pub(super) fn block<T>(
            &self,
            answer: Answer<T>,
            submission: Option<&wgpu::SubmissionIndex>,
            what: &str,
        ) -> Result<T, GpuError> {
            let begun = Instant::now();
            let late = |waited| GpuError::Timeout { what: what.to_owned(), waited };
            if let Some(submission) = submission {
                self.wait(submission, what)?;
                // Where threads share a device, a thread's wait may be over before another one has delivered the answer.
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
                    // Nothing is on the device, so another thread has yet to submit what is waited for.
                    Polled::Done => {
                        if let Ok(answer) = answer.recv_timeout(PAUSE) {
                            return Ok(answer);
                        }
                    }
                }
            }
        }

        fn poll_for(&self, submission: Option<&wgpu::SubmissionIndex>, timeout: Duration) -> Result<Polled, GpuError> {
            // A thread that waits for long for its turn looks again whether its device is there.
            let Some(turn) = self.driver().turn(timeout.max(SLICE)) else { return Ok(Polled::Busy) };
            let timeout = if turn.is_wanted() { timeout.min(SHARED_SLICE) } else { timeout };
            let wait = wgpu::PollType::Wait { submission_index: submission.cloned(), timeout: Some(timeout) };
            match catch_panic(|| self.device.poll(wait)) {
                Ok(Ok(_)) => Ok(Polled::Done),
                Ok(Err(wgpu::PollError::Timeout)) => Ok(Polled::Busy),
                // What was submitted to a device that was being destroyed has no number that could be waited for.
                Ok(Err(error @ wgpu::PollError::WrongSubmissionIndex(..))) => Err(self.loss(error.to_string())),
                Err(message) if message.starts_with(OVERTAKEN) => Ok(Polled::Busy),
                Err(message) => Err(self.loss(message)),
            }
        }

        /// Looks at the device once. A panic is wgpu's, about a lost device.
        pub(in crate::gpu) fn poll_now(&self) {
            let _turn = self.driver().turn(PATIENCE);
            let _ = catch_panic(|| self.device.poll(wgpu::PollType::Poll));
        }

        /// The error of a device that did not do what only a lost one does not do: as the device itself says, if it does.
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

    /// A task that waits for an answer.
    pub(super) struct Task<T> {
        gpu: Gpu,
        answer: oneshot::AsyncReceiver<T>,
        begun: Instant,
        what: String,
        /// Its number with the poller, once it waits.
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
            // Where nobody probes the device meanwhile, this does.
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
                        // Without a thread the task drives the device itself.
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

/// A buffer that is to be mapped, whole, and the answer to that. In a mutex, which nobody locks, because a receiver may
/// be looked at by one thread alone and a session by several.
#[derive(Debug)]
pub(super) struct Mapping(Mutex<Answer<Result<(), wgpu::BufferAsyncError>>>);

impl Mapping {
    /// Asks for the buffer to be mapped when the device is done with what was submitted up to now.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn new(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (tell, answer) = oneshot::channel();
        buffer.map_async(mode, .., move |result| give(tell, result));
        Self(Mutex::new(answer))
    }

    /// Asks for it when the device is done with what an encoder holds, once that is submitted.
    pub(super) fn on_submit(encoder: &wgpu::CommandEncoder, buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (tell, answer) = oneshot::channel();
        encoder.map_buffer_on_submit(buffer, mode, .., move |result| give(tell, result));
        Self(Mutex::new(answer))
    }

    /// Whether the buffer is mapped by now; `Some(false)` where it never will be.
    pub(super) fn is_mapped(&mut self) -> Option<bool> {
        match self.0.get_mut().unwrap_or_else(PoisonError::into_inner).try_recv() {
            Ok(result) => Some(result.is_ok()),
            Err(oneshot::TryRecvError::Disconnected) => Some(false),
            Err(oneshot::TryRecvError::Empty) => None,
        }
    }

    /// Waits for it, and so for what was `submitted` last with the buffer, where that is known.
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
