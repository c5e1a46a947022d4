//! A session: a model on a device, its resources, and operations common to all ways of running it.

mod textures;
mod values;

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

use super::{CompiledModel, Error, Memory, RunWarnings, TensorInfo, TensorKey, pool_ticket::PoolTicket};
#[cfg(not(target_arch = "wasm32"))]
use super::{DispatchTime, now};
use crate::gpu::{Executor, PoolTextures, TensorRole, Wait};

/// A model on a device.
///
/// Every input gets its values in one of four ways: passed to [`run`](Self::run); [written](Self::write), which lasts until
/// it is written again; by a shader of the caller's in the session's [own texture](Self::input_texture); or from a
/// texture of the caller's that is [bound](Self::bind_input). Outputs are returned by `run`, read later
/// ([`read`](Self::read), [`encode_read`](Self::encode_read)), or used where they lie.
///
/// Runs follow each other in the order of their submission, also those of one command encoder: a run never sees half of
/// another. All intermediates are written anew by every run.
///
/// A call that fails leaves the session as it was or usable: the next call is right, or fails by a typed error, too.
#[derive(Debug)]
pub struct Session {
    compiled: CompiledModel,
    executor: Executor,
    ticket: Option<PoolTicket>,
    /// Values of inputs on their way into texels, kept for their memory.
    reals: Vec<Vec<f32>>,
    /// Output values before conversion, kept to reuse their memory.
    computed: Vec<Vec<f32>>,
}

impl CompiledModel {
    /// A session: the pool's textures, weights and pipelines on the device.
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device is lost, has too little memory, or a limit that is too low.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session(&self) -> Result<Session, Error> {
        now(Session::new(self, None, Wait::Block))
    }

    /// Like [`session`](Self::session), without blocking.
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
        Ok(Self { compiled: compiled.clone(), executor, ticket, reals, computed })
    }

    /// Releases the device memory: the pool, weights that no other session uses, tables, and the session's own
    /// textures of inputs and outputs with their values. Textures of the caller stay bound, and pipelines stay with
    /// the context. The next run allocates the memory again, or [`restore`](Self::restore) does so explicitly.
    pub fn trim(&mut self) {
        self.executor.trim();
    }

    /// Takes the device's memory again after [`trim`](Self::trim), so that the next run need not.
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
    /// infinities, values stored as 65504 because 16 bits cannot hold them, and computed indices outside their axis.
    /// Waits for submitted work. The call is free if all values have 32 bits and no index is computed; otherwise it
    /// costs a short wait for the device.
    ///
    /// Runs that were [encoded](Self::encode) count as one where they are in one command buffer or another: each begins to
    /// count anew. Outputs count where [`run`](Self::run), [`run_into`](Self::run_into) or [`read`](Self::read) read them.
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
    /// # Errors
    /// As [`warnings`](Self::warnings).
    pub async fn warnings_async(&mut self) -> Result<RunWarnings, Error> {
        self.find_warnings(Wait::Task).await
    }

    async fn find_warnings(&mut self, wait: Wait) -> Result<RunWarnings, Error> {
        Ok(self.executor.find_warnings(wait).await?)
    }

    /// Sets the timeout for waits of this session, and of readbacks and submissions that it creates from now on.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.executor.set_timeout(timeout);
    }

    /// Runs the model on the contents of the inputs' textures, with each dispatch in a separate pass, and returns the
    /// time of each. Returns `None` if the device was opened without timestamps.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn profile(&mut self) -> Result<Option<Vec<DispatchTime>>, Error> {
        self.check_entered()?;
        self.check_complete(&[])?;
        Ok(self.executor.profile()?)
    }

    /// Dispatches of a run; 0 while the session is trimmed.
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

    /// The outputs that keys mean, which must be such that they can be copied.
    fn readable<'k, K: Into<TensorKey<'k>>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<usize>, Error> {
        let mut outputs = Vec::new();
        for key in keys {
            let output = self.compiled.model().index(TensorRole::Output, key.into())?;
            if !self.executor.can_be_read(output) {
                let (role, name) = (TensorRole::Output, self.name(TensorRole::Output, output));
                return Err(Error::Bound { role, name, reason: "to be read it needs the usage COPY_SRC" });
            }
            if !outputs.contains(&output) {
                outputs.push(output);
            }
        }
        Ok(outputs)
    }

    /// Checks that every input has values, or is among those that get some now.
    fn check_complete(&self, given: &[usize]) -> Result<(), Error> {
        let missing = (0..self.inputs().len()).filter(|i| !given.contains(i) && !self.executor.is_filled(*i));
        let names: Vec<String> = missing.map(|input| self.name(TensorRole::Input, input)).collect();
        if names.is_empty() { Ok(()) } else { Err(Error::MissingInputs { names }) }
    }

    /// Checks that a session of a pool is the one that is in.
    fn check_entered(&self) -> Result<(), Error> {
        match &self.ticket {
            Some(ticket) if !ticket.is_in() => Err(Error::OtherPool),
            _ => Ok(()),
        }
    }

    pub(super) fn ticket(&self) -> Option<&PoolTicket> {
        self.ticket.as_ref()
    }

    /// Takes the pool's textures as they are now.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        Ok(self.executor.refresh()?)
    }
}
