//! Pending readbacks of outputs, and submitted runs.

use std::{future::IntoFuture, pin::Pin};

use super::{CompiledModel, Error, Outputs, outputs::outputs_of};
#[cfg(not(target_arch = "wasm32"))]
use texpool_gpu::now;
use texpool_gpu::{self, Answer, Gpu, RUN, Submitted, Wait};

/// A boxed future; on native targets it can move to another thread.
#[cfg(not(target_arch = "wasm32"))]
type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;
#[cfg(target_arch = "wasm32")]
type BoxedFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>>>>;

/// Outputs copied by a command encoder, to be read when the device has executed it, with [`wait`](Self::wait) or
/// `.await`. Dropping it discards the copies.
///
/// ```no_run
/// # async fn example(session: &mut texpool::Session, context: texpool::Context) -> Result<(), texpool::Error> {
/// let mut encoder = context.device().create_command_encoder(&Default::default());
/// session.encode(&mut encoder)?;
/// let first = session.encode_read(&mut encoder, ["scores"])?;
/// session.encode(&mut encoder)?;
/// let second = session.encode_read(&mut encoder, ["scores"])?;
/// context.queue().submit([encoder.finish()]);
/// // In a task, or with `wait` in a thread.
/// let (before, after) = (first.await?, second.wait()?);
/// # Ok(())
/// # }
/// ```
#[must_use = "the outputs are read by `wait` or `.await`"]
#[derive(Debug)]
pub struct Readback {
    /// The device, with the session's timeout.
    gpu: Gpu,
    compiled: CompiledModel,
    /// Indices among the graph's outputs, also of the extents that others have.
    outputs: Vec<(usize, texpool_gpu::Readback)>,
}

impl Readback {
    pub(super) fn new(gpu: &Gpu, compiled: &CompiledModel, outputs: Vec<(usize, texpool_gpu::Readback)>) -> Self {
        Self { gpu: gpu.clone(), compiled: compiled.clone(), outputs }
    }

    /// Waits until the encoder's work is done, and reads the outputs.
    ///
    /// # Errors
    /// [`Error::Gpu`]: the encoder was dropped or never submitted ([`GpuError::NotSubmitted`](crate::GpuError)), a
    /// timeout, a lost device; [`Error::Tensor`] if an output of integers is NaN.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Outputs, Error> {
        now(self.finish(Wait::Block))
    }

    async fn finish(self, wait: Wait) -> Result<Outputs, Error> {
        let mut all = Vec::with_capacity(self.outputs.len());
        for (output, readback) in self.outputs {
            let mut values = vec![0.0; readback.value_count()];
            readback.finish(&self.gpu, wait, None, "reading outputs", &mut values).await?;
            all.push((output, values));
        }
        outputs_of(&self.compiled, all)
    }
}

impl IntoFuture for Readback {
    type Output = Result<Outputs, Error>;
    type IntoFuture = BoxedFuture<Outputs>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish(Wait::Task))
    }
}

/// A submitted run. [`wait`](Self::wait) for it, `.await` it, or drop it, which does not affect the run.
///
/// ```no_run
/// # fn example(left: &mut texpool::Session, right: &mut texpool::Session) -> Result<(), texpool::Error> {
/// // The device begins the second run as soon as the first is done.
/// let submissions = [left.submit()?, right.submit()?];
/// for submission in submissions {
///     submission.wait()?;
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "the run is done when `wait` or `.await` says so"]
#[derive(Debug)]
pub struct Submission {
    /// The device, with the session's timeout.
    gpu: Gpu,
    submitted: Submitted,
    /// Requested at submission. A later request would also cover work submitted in between.
    done: Answer<()>,
}

impl Submission {
    pub(super) fn new(gpu: &Gpu, submitted: Submitted) -> Self {
        Self { gpu: gpu.clone(), submitted, done: gpu.tell_done() }
    }

    /// Waits until the device has finished the run; work submitted later may still be running.
    ///
    /// # Errors
    /// [`Error::Gpu`]: a timeout, a lost device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<(), Error> {
        now(self.finish(Wait::Block))
    }

    async fn finish(self, wait: Wait) -> Result<(), Error> {
        let Self { gpu, submitted, done } = self;
        Ok(gpu.told_done(wait, &submitted, done, RUN).await?)
    }
}

impl IntoFuture for Submission {
    type Output = Result<(), Error>;
    type IntoFuture = BoxedFuture<()>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish(Wait::Task))
    }
}
