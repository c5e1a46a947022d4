//! A session: a model on a device, with its resources and the operations common to all ways of running it.

mod carried;
mod extents;
mod textures;
mod values;

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

use super::{CompiledModel, Error, TensorInfo, TensorKey, pool_ticket::PoolTicket};
#[cfg(not(target_arch = "wasm32"))]
use texpool_gpu::{DispatchTime, now};
use texpool_gpu::{Executor, Memory, PoolTextures, RunWarnings, TensorRole, Wait};

/// A model loaded on a device, ready to run.
///
/// An input gets its values in one of five ways: passed to [`run`](Self::run); [written](Self::write), which lasts
/// until the next write; by one of the caller's shaders in the session's [own texture](Self::input_texture); from one
/// of the caller's textures that is [bound](Self::bind_input); or [carried](Self::carry) from an output of the last
/// run. Outputs are returned by `run`, read later
/// ([`read`](Self::read), [`encode_read`](Self::encode_read)), or used in place on the device.
///
/// Runs execute in the order of submission, also within one command encoder, and never overlap. Every run rewrites all
/// intermediates.
///
/// A failed call leaves the session usable: the next call either gives correct results or returns a typed error.
///
/// ```no_run
/// # fn example(compiled: texpool::CompiledModel, frames: &[Vec<f32>]) -> Result<(), Box<dyn std::error::Error>> {
/// let mut session = compiled.session()?;
/// println!("{} dispatches a run of {}", session.dispatches(), session.compiled().model().name());
/// assert_eq!((session.inputs().len(), session.outputs().len()), (1, 1));
/// for frame in frames {
///     let outputs = session.run([(0, texpool::TensorView::from(frame))])?;
///     println!("{:?}", outputs[0].as_slice::<f32>()?);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Session {
    compiled: CompiledModel,
    executor: Executor,
    ticket: Option<PoolTicket>,
    /// Converted input values before they become texels, stored to reuse their memory.
    reals: Vec<Vec<f32>>,
    /// Output values before conversion, stored to reuse their memory.
    computed: Vec<Vec<f32>>,
    /// Extents of the last values of inputs with bounded axes. `None` for other inputs, or if the values are in a texture
    /// of the caller.
    dims: Vec<Option<Vec<usize>>>,
}

impl CompiledModel {
    /// Creates a session: allocates the pool's textures, uploads the weights and creates the pipelines.
    ///
    /// ```no_run
    /// # fn example(compiled: texpool::CompiledModel, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// let mut session = compiled.session()?;
    /// let outputs = session.run([("image", texpool::TensorView::from(pixels))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device is lost, has too little memory, or a limit is too low.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session(&self) -> Result<Session, Error> {
        now(Session::new(self, None, Wait::Block))
    }

    /// Like [`session`](Self::session), without blocking.
    ///
    /// ```no_run
    /// # async fn example(compiled: texpool::CompiledModel, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// let mut session = compiled.session_async().await?;
    /// let outputs = session.run_async([("image", texpool::TensorView::from(pixels))]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`session`](Self::session).
    pub async fn session_async(&self) -> Result<Session, Error> {
        Session::new(self, None, Wait::Task).await
    }
}

impl Session {
    pub(super) async fn new(
        compiled: &CompiledModel,
        pool: Option<(Arc<PoolTextures>, PoolTicket)>,
        wait: Wait,
    ) -> Result<Self, Error> {
        let (textures, ticket) = pool.unzip();
        let (gpu, model) = (compiled.context().gpu(), Arc::clone(compiled.compiled()));
        let executor = Executor::create(gpu, model, &compiled.executor_options(), textures, wait).await?;
        let reals = vec![Vec::new(); compiled.inputs().len()];
        let computed = vec![Vec::new(); compiled.outputs().len()];
        let dims = vec![None; compiled.inputs().len()];
        Ok(Self { compiled: compiled.clone(), executor, ticket, reals, computed, dims })
    }

    /// Releases the device memory: the pool, weights that no other session uses, tables, and the session's own
    /// textures of inputs and outputs with their values. Textures of the caller stay bound, [carried](Self::carry)
    /// values stay on the device, and pipelines stay with the context. The next run allocates the memory again, or
    /// [`restore`](Self::restore) does so explicitly.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// session.trim();
    /// assert!(session.is_trimmed());
    /// session.restore()?; // or the next run
    /// # Ok(())
    /// # }
    /// ```
    pub fn trim(&mut self) {
        self.executor.trim();
    }

    /// Allocates the device memory again after [`trim`](Self::trim), so that the next run does not have to.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// session.trim(); // while the window is hidden
    /// session.restore()?; // when it is shown, before the first frame
    /// let outputs = session.run([("image", texpool::TensorView::from(pixels))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`CompiledModel::session`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn restore(&mut self) -> Result<(), Error> {
        self.check_entered()?;
        now(async { Ok::<_, Error>(self.executor.restore(Wait::Block).await?) })
    }

    /// Like [`restore`](Self::restore), without blocking.
    ///
    /// ```no_run
    /// # async fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// if session.is_trimmed() {
    ///     session.restore_async().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub async fn restore_async(&mut self) -> Result<(), Error> {
        self.check_entered()?;
        Ok(self.executor.restore(Wait::Task).await?)
    }

    /// Returns true if the memory is released.
    pub fn is_trimmed(&self) -> bool {
        self.executor.is_trimmed()
    }

    /// Returns the device memory of the session in bytes: the current use by purpose, and the peak since loading.
    /// Queries the driver, which examines all allocations of the device.
    ///
    /// ```no_run
    /// # fn show(session: &texpool::Session) {
    /// let memory = session.memory();
    /// println!("{} bytes of weights, {} in all", memory.planned.weights, memory.planned.sum());
    /// if let Some(peak) = memory.peak {
    ///     println!("never more than {}, in blocks of {}", peak.allocated, peak.reserved);
    /// }
    /// # }
    /// ```
    pub fn memory(&self) -> Memory {
        self.executor.memory()
    }

    /// Returns problems of the last run that its results do not show: outputs that were read and contain NaN or
    /// infinities, values stored as 65504 because 16 bits cannot hold them, also those of the model's constants, and
    /// computed indices outside their axis. Waits for submitted work. The call is free if all values have 32 bits and
    /// no index is computed; otherwise it costs a short wait for the device.
    ///
    /// For [encoded](Self::encode) runs, only the last counts, because each run resets the counters. Outputs count if
    /// [`run`](Self::run), [`run_into`](Self::run_into) or [`read`](Self::read) reads them.
    ///
    /// ```no_run
    /// # fn check(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// let warnings = session.warnings()?;
    /// if !warnings.is_empty() {
    ///     eprintln!("{warnings}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Gpu`]: a timeout, a lost device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn warnings(&mut self) -> Result<RunWarnings, Error> {
        now(self.find_warnings(Wait::Block))
    }

    /// Like [`warnings`](Self::warnings), without blocking.
    ///
    /// ```no_run
    /// # async fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// let outputs = session.run_async([("image", texpool::TensorView::from(pixels))]).await?;
    /// let warnings = session.warnings_async().await?;
    /// if !warnings.is_empty() {
    ///     eprintln!("{warnings}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`warnings`](Self::warnings).
    pub async fn warnings_async(&mut self) -> Result<RunWarnings, Error> {
        self.find_warnings(Wait::Task).await
    }

    async fn find_warnings(&mut self, wait: Wait) -> Result<RunWarnings, Error> {
        Ok(self.executor.find_warnings(wait).await?)
    }

    /// Sets the timeout for waits of this session, and of readbacks and submissions that it creates from now on.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// session.set_timeout(std::time::Duration::from_millis(50));
    /// match session.run([("image", texpool::TensorView::from(pixels))]) {
    ///     Err(error) if error.is_timeout() => println!("this frame is left out"),
    ///     outputs => drop(outputs?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.executor.set_timeout(timeout);
    }

    /// Runs the model on the contents of the inputs' textures, with each dispatch in a separate pass, and returns the
    /// time of each. [Carries](Self::carry) no values. Returns `None` if the device was opened without timestamps.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// for dispatch in session.profile()?.unwrap_or_default() {
    ///     println!("{dispatch:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn profile(&mut self) -> Result<Option<Vec<DispatchTime>>, Error> {
        self.check_entered()?;
        self.settle_inputs()?;
        Ok(self.executor.profile()?)
    }

    /// Returns the number of dispatches of a run; 0 while the session is trimmed.
    pub fn dispatches(&self) -> usize {
        self.executor.dispatches()
    }

    /// Returns the compiled model.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// Returns the model's inputs.
    pub fn inputs(&self) -> &[TensorInfo] {
        self.compiled.inputs()
    }

    /// Returns the model's outputs.
    pub fn outputs(&self) -> &[TensorInfo] {
        self.compiled.outputs()
    }

    fn name(&self, role: TensorRole, index: usize) -> String {
        self.compiled.model().tensors(role).get(index).map(|info| info.name.clone()).unwrap_or_default()
    }

    /// Resolves keys to output indices, without duplicates. Fails if an output cannot be copied.
    fn readable<'k, K: Into<TensorKey<'k>>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<usize>, Error> {
        let mut outputs = Vec::new();
        for key in keys {
            let output = self.readable_output(key)?;
            if !outputs.contains(&output) {
                outputs.push(output);
            }
        }
        Ok(outputs)
    }

    /// Resolves a key to the index of an output. Fails if the output cannot be copied.
    fn readable_output<'k>(&self, key: impl Into<TensorKey<'k>>) -> Result<usize, Error> {
        let output = self.compiled.model().index(TensorRole::Output, key.into())?;
        if self.executor.can_be_read(output) {
            return Ok(output);
        }
        let (role, name) = (TensorRole::Output, self.name(TensorRole::Output, output));
        Err(Error::Bound { role, name, reason: "to be read it needs the usage COPY_SRC" })
    }

    /// Adds the tensors with the extents of bounded outputs, and those with a limit, by index among the graph's outputs.
    fn with_counts(&self, mut outputs: Vec<usize>) -> Vec<usize> {
        let graph = self.compiled.model().graph();
        let of_outputs = graph.bounded.iter().filter(|bounded| outputs.contains(&bounded.output));
        let limited = graph.limits.iter().map(|limit| limit.count);
        let counts: Vec<usize> = of_outputs.map(|bounded| bounded.count).chain(limited).collect();
        for count in counts {
            if !outputs.contains(&count) {
                outputs.push(count);
            }
        }
        outputs
    }

    /// Checks that every input has values already or is among `given`.
    fn check_complete(&self, provided: &[usize]) -> Result<(), Error> {
        let missing = (0..self.inputs().len()).filter(|i| !provided.contains(i) && !self.executor.is_filled(*i));
        let names: Vec<String> = missing.map(|input| self.name(TensorRole::Input, input)).collect();
        if names.is_empty() { Ok(()) } else { Err(Error::MissingInputs { names }) }
    }

    /// Checks that a pooled session is the one that entered its pool last.
    fn check_entered(&self) -> Result<(), Error> {
        match &self.ticket {
            Some(ticket) if !ticket.is_in() => Err(Error::OtherPool),
            _ => Ok(()),
        }
    }

    pub(super) fn ticket(&self) -> Option<&PoolTicket> {
        self.ticket.as_ref()
    }

    /// Updates the session to the pool's current textures.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        Ok(self.executor.refresh()?)
    }
}
