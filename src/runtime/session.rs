//! A model on a device: inputs by value or by texture, runs, and results.

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

use super::{
    CompiledModel, Error, Memory, Outputs, Readback, Submission, TensorInfo, TensorKey, outputs::outputs_of,
    pool_ticket::PoolTicket,
};
#[cfg(not(target_arch = "wasm32"))]
use super::{DispatchTime, now};
use crate::{
    gpu::{Executor, PoolTextures, TensorRole, Wait},
    tensor::{
        ConvertError, TensorView, TensorViewMut,
        convert::{TensorSpec, borrow_reals, check_room, read_reals_into},
    },
};

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
    /// Values of outputs on their way to what the caller wants them as, kept for their memory.
    computed: Vec<Vec<f32>>,
}

/// An input that is given values: which, and its floats where they lie with the caller, not among those that were converted.
type GivenInput<'t> = (usize, Option<&'t [f32]>);

impl CompiledModel {
    /// A session: the pool's textures, weights and pipelines on the device.
    ///
    /// # Errors
    /// [`Error::Gpu`]: the device is lost, has too little memory, or a limit that is too low.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn session(&self) -> Result<Session, Error> {
        now(Session::new(self, None, Wait::Block))
    }

    /// The same where nobody may block.
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

    /// Runs the model on values, waits, and returns every output that is not bound to a texture.
    ///
    /// Inputs are named or numbered. One that is left out has the values that it had before: those that were written or lie
    /// in its texture. Where all have theirs already, [`submit`](Self::submit) and [`read`](Self::read). Elements are of
    /// the model's type, or 32-bit floats.
    ///
    /// Who presents frames from another thread meanwhile is better served by [`run_async`](Self::run_async): wgpu holds a
    /// lock during a blocking wait.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    /// use texpool::TensorView;
    ///
    /// let outputs = session.run([("image", TensorView::new(pixels, &[1, 224, 224, 3])?)])?;
    /// let scores = outputs["scores"].as_slice::<f32>()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::InputTwice`], [`Error::MissingInputs`], [`Error::Bound`], [`Error::Tensor`] for
    /// values that do not fit; [`Error::Gpu`] with a timeout, a lost device, or what the device refuses.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        now(self.run_with(Wait::Block, inputs))
    }

    /// The same where nobody may block. Dropping the future gives the run up; the next call waits for what is left of it.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_async<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        self.run_with(Wait::Task, inputs).await
    }

    async fn run_with<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        wait: Wait,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Outputs, Error> {
        let given = self.take_inputs(inputs)?;
        let bound = |output: &usize| self.executor.is_bound(TensorRole::Output, *output);
        let read: Vec<usize> = (0..self.outputs().len()).filter(|output| !bound(output)).collect();
        let mut values = self.room(&read);
        let inputs = floats(&given, &self.reals);
        let mut outputs: Vec<_> = read.iter().zip(&mut values).map(|(&output, v)| (output, &mut v[..])).collect();
        self.executor.run_values(wait, &inputs, &mut outputs).await?;
        outputs_of(
            read.into_iter().zip(values).map(|(output, values)| (output, self.outputs()[output].clone(), values)),
        )
    }

    /// Runs the model on values, waits, and writes outputs into memory of the caller's. Only those that are named are
    /// read back; the others stay on the device, to be [read](Self::read) before the next run.
    ///
    /// Room is for elements of the model's type, or for 32-bit floats, which get what was computed as it is, before it
    /// becomes elements of another type. Dense 32-bit floats are copied once: inputs from the caller's memory to where the
    /// device takes them from, outputs from where it has put them to the caller's.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, pixels: &[f32]) -> Result<(), texpool::Error> {
    /// use texpool::{TensorView, TensorViewMut};
    ///
    /// let mut scores = [0.0f32; 1001];
    /// session.run_into([("image", TensorView::from(pixels))], [("scores", TensorViewMut::from(&mut scores))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run), also for room that is for other elements or another number of them, and
    /// [`Error::OutputTwice`]. Room then holds anything.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_into<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        now(self.run_into_with(Wait::Block, inputs, outputs))
    }

    /// The same where nobody may block. Dropping the future gives the run up; the next call waits for what is left of it.
    ///
    /// # Errors
    /// As [`run_into`](Self::run_into).
    pub async fn run_into_async<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        self.run_into_with(Wait::Task, inputs, outputs).await
    }

    async fn run_into_with<'t, 'r, I: Into<TensorKey<'t>>, O: Into<TensorKey<'t>>>(
        &mut self,
        wait: Wait,
        inputs: impl IntoIterator<Item = (I, TensorView<'t>)>,
        outputs: impl IntoIterator<Item = (O, TensorViewMut<'r>)>,
    ) -> Result<(), Error> {
        let given = self.take_inputs(inputs)?;
        // Room for floats is where they are read to, other room is filled from floats afterwards.
        let mut direct = Vec::new();
        let mut converted: Vec<(usize, TensorViewMut<'r>)> = Vec::new();
        let mut seen = Vec::new();
        for (key, room) in outputs {
            let output = self.readable([key])?[0];
            if seen.contains(&output) {
                return Err(Error::OutputTwice { name: self.name(TensorRole::Output, output) });
            }
            seen.push(output);
            let checked = check_room(&room, self.outputs()[output].spec());
            checked.map_err(|source| self.unfit(TensorRole::Output, output, source))?;
            match room.into_f32() {
                Ok(floats) => direct.push((output, floats)),
                Err(room) => converted.push((output, room)),
            }
        }
        for (output, room) in &converted {
            self.computed[*output].resize(room.len(), 0.0);
        }
        let Self { executor, reals, computed, .. } = self;
        let of_others =
            computed.iter_mut().enumerate().filter(|(output, _)| converted.iter().any(|(o, _)| o == output));
        let mut places: Vec<(usize, &mut [f32])> =
            of_others.map(|(output, values)| (output, &mut values[..])).collect();
        places.extend(direct);
        executor.run_values(wait, &floats(&given, reals), &mut places).await?;
        for (output, mut room) in converted {
            read_reals_into(&self.computed[output], self.outputs()[output].spec(), &mut room)
                .map_err(|source| self.unfit(TensorRole::Output, output, source))?;
        }
        Ok(())
    }

    /// Checks inputs, of which none may be missing: the caller's own floats where they lie, others converted into
    /// `reals`.
    fn take_inputs<'t, K: Into<TensorKey<'t>>>(
        &mut self,
        inputs: impl IntoIterator<Item = (K, TensorView<'t>)>,
    ) -> Result<Vec<GivenInput<'t>>, Error> {
        self.check_entered()?;
        let mut given: Vec<GivenInput<'_>> = Vec::new();
        for (key, values) in inputs {
            let input = self.compiled.model().index(TensorRole::Input, key.into())?;
            if given.iter().any(|&(other, _)| other == input) {
                return Err(Error::InputTwice { name: self.name(TensorRole::Input, input) });
            }
            given.push((input, self.convert(input, &values)?));
        }
        let indices: Vec<usize> = given.iter().map(|&(input, _)| input).collect();
        self.check_complete(&indices)?;
        Ok(given)
    }

    /// Writes an input, by a submission of its own: for all runs that are submitted from now on, until it is written
    /// again. Does not wait, except for a browser's word on memory.
    ///
    /// Two runs in one encoder with a `write` between them both see what was written last, since the encoder is submitted
    /// after it: bind two textures for that.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn write<'k>(&mut self, key: impl Into<TensorKey<'k>>, values: TensorView<'_>) -> Result<(), Error> {
        let input = self.compiled.model().index(TensorRole::Input, key.into())?;
        let floats = self.convert(input, &values)?;
        Ok(self.executor.write(input, floats.unwrap_or(&self.reals[input]))?)
    }

    /// The values of an input as floats: where they lie, or in `reals`.
    fn convert<'t>(&mut self, input: usize, values: &TensorView<'t>) -> Result<Option<&'t [f32]>, Error> {
        if self.executor.is_bound(TensorRole::Input, input) {
            let reason = "write that texture, or unbind it first";
            return Err(Error::Bound { role: TensorRole::Input, name: self.name(TensorRole::Input, input), reason });
        }
        let (integer_range, texels) = (self.compiled.integer_range(input), self.compiled.texels());
        let spec = TensorSpec { integer_range, ..self.compiled.inputs()[input].spec() };
        let reals = borrow_reals(values, spec, texels, &mut self.reals[input]);
        reals.map_err(|source| self.unfit(TensorRole::Input, input, source))
    }

    /// Values that are not those of an input, or room that is not for an output.
    fn unfit(&self, role: TensorRole, index: usize, source: ConvertError) -> Error {
        Error::Tensor { role, name: self.name(role, index), source }
    }

    /// The model reads this input from a texture of the caller's, from the next run on.
    ///
    /// The texture must be as [`CompiledModel::input_layout`] says. A few of the last textures are remembered, so that a
    /// camera's two or three can take turns at no cost; they stay alive until others take their place, or the input is
    /// [unbound](Self::unbind_input).
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`]; [`Error::Gpu`] for a texture that does not fit.
    pub fn bind_input<'k>(&mut self, key: impl Into<TensorKey<'k>>, texture: &wgpu::Texture) -> Result<(), Error> {
        self.bind(TensorRole::Input, key.into(), texture)
    }

    /// The model writes this output to a texture of the caller's, from the next run on. It must be as
    /// [`CompiledModel::output_layout`] says, and have the usage `COPY_SRC` if it is to be [read](Self::read), too.
    ///
    /// # Errors
    /// As [`bind_input`](Self::bind_input).
    pub fn bind_output<'k>(&mut self, key: impl Into<TensorKey<'k>>, texture: &wgpu::Texture) -> Result<(), Error> {
        self.bind(TensorRole::Output, key.into(), texture)
    }

    fn bind(&mut self, role: TensorRole, key: TensorKey<'_>, texture: &wgpu::Texture) -> Result<(), Error> {
        let index = self.compiled.model().index(role, key)?;
        Ok(self.executor.bind_texture(role, index, texture)?)
    }

    /// The input gets a texture of the session's own again, which holds no values yet.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`].
    pub fn unbind_input<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<(), Error> {
        let index = self.compiled.model().index(TensorRole::Input, key.into())?;
        self.executor.unbind_texture(TensorRole::Input, index);
        Ok(())
    }

    /// The output gets a texture of the session's own again.
    ///
    /// # Errors
    /// As [`unbind_input`](Self::unbind_input).
    pub fn unbind_output<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<(), Error> {
        let index = self.compiled.model().index(TensorRole::Output, key.into())?;
        self.executor.unbind_texture(TensorRole::Output, index);
        Ok(())
    }

    /// The texture that the input lies in, made if there is none, for a shader or copy of the caller's to write: it counts
    /// as written from then on. It is the same until another one is bound or the session is [trimmed](Self::trim).
    ///
    /// It is as [`CompiledModel::input_layout`] says. A texture of the session's own has the usages `STORAGE_BINDING`,
    /// `TEXTURE_BINDING`, `COPY_DST` and `COPY_SRC`; for others, bind one.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`], and [`Error::Gpu`] where memory runs out.
    pub fn input_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Input, key.into())?;
        Ok(self.executor.texture(TensorRole::Input, index)?)
    }

    /// The texture that the output lies in, for a shader or copy of the caller's to read: as
    /// [`CompiledModel::output_layout`] says, with the same usages as those of [inputs](Self::input_texture).
    ///
    /// # Errors
    /// As [`input_texture`](Self::input_texture).
    pub fn output_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Output, key.into())?;
        Ok(self.executor.texture(TensorRole::Output, index)?)
    }

    /// Adds a run to a command encoder of the caller's, as one compute pass. Inputs are what lies in their textures when
    /// the encoder's commands run.
    ///
    /// # Errors
    /// [`Error::MissingInputs`], [`Error::OtherPool`]; [`Error::Gpu`] while the session is [trimmed](Self::trim), and
    /// what the device says of textures that it has not seen.
    pub fn encode(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        self.check_entered()?;
        self.check_complete(&[])?;
        Ok(self.executor.encode(encoder)?)
    }

    /// Adds copies of outputs to a command encoder of the caller's, to be read once that is submitted. Several may be on
    /// their way at once.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, device: &texpool::wgpu::Device, queue: &texpool::wgpu::Queue)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// session.encode(&mut encoder)?;
    /// let readback = session.encode_read(&mut encoder, ["scores"])?;
    /// queue.submit([encoder.finish()]);
    /// let outputs = readback.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`], [`Error::Bound`] for textures of the caller's without the usage
    /// `COPY_SRC`, and as [`encode`](Self::encode).
    pub fn encode_read<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Readback, Error> {
        let outputs = self.readable(outputs)?;
        let readbacks = self.executor.encode_readbacks(&outputs, encoder)?;
        let infos = outputs.into_iter().map(|output| (output, self.outputs()[output].clone()));
        Ok(Readback::new(self.executor.gpu(), infos.zip(readbacks).collect()))
    }

    /// Runs the model on what lies in the inputs' textures, and does not wait: what is returned does.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn submit(&mut self) -> Result<Submission, Error> {
        self.check_entered()?;
        self.check_complete(&[])?;
        let submitted = self.executor.submit()?;
        Ok(Submission::new(self.executor.gpu(), submitted))
    }

    /// Reads outputs as they are after all that was submitted up to now.
    ///
    /// # Errors
    /// As [`encode_read`](Self::encode_read), and what the device says.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read<'k, K: Into<TensorKey<'k>>>(&mut self, outputs: impl IntoIterator<Item = K>) -> Result<Outputs, Error> {
        now(self.read_with(Wait::Block, outputs))
    }

    /// The same where nobody may block.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_async<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Outputs, Error> {
        self.read_with(Wait::Task, outputs).await
    }

    async fn read_with<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        wait: Wait,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Outputs, Error> {
        let read = self.readable(outputs)?;
        let mut values = self.room(&read);
        let mut places: Vec<_> = read.iter().zip(&mut values).map(|(&output, v)| (output, &mut v[..])).collect();
        self.executor.read_values(wait, &mut places).await?;
        outputs_of(
            read.into_iter().zip(values).map(|(output, values)| (output, self.outputs()[output].clone(), values)),
        )
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

    fn room(&self, outputs: &[usize]) -> Vec<Vec<f32>> {
        outputs.iter().map(|&output| vec![0.0; self.outputs()[output].len()]).collect()
    }

    /// Gives the device's memory back: the pool, weights that no other session uses, tables, and the session's own
    /// textures of inputs and outputs with their values. Textures of the caller's stay bound; pipelines stay with the
    /// context. The next run takes it again, by itself or by [`restore`](Self::restore).
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

    /// The same where nobody may block.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub async fn restore_async(&mut self) -> Result<(), Error> {
        self.check_entered()?;
        Ok(self.executor.restore(Wait::Task).await?)
    }

    /// Whether the memory is given back.
    pub fn is_trimmed(&self) -> bool {
        self.executor.is_trimmed()
    }

    /// What the session takes of the device's memory, in bytes: now, by what it is for, and the most there was from loading
    /// on. Asks the driver, which looks through all that the device holds.
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

    /// Waits through this session, and for what it has read or submitted from now on, take at most `timeout`.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.executor.set_timeout(timeout);
    }

    /// Runs the model on what lies in the inputs' textures, each dispatch in a pass of its own, and returns the time of
    /// each; `None` where the device was opened without timestamps.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), and what the device says.
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

    /// What it was made of.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// What the model takes.
    pub fn inputs(&self) -> &[TensorInfo] {
        self.compiled.inputs()
    }

    /// What the model gives.
    pub fn outputs(&self) -> &[TensorInfo] {
        self.compiled.outputs()
    }

    fn name(&self, role: TensorRole, index: usize) -> String {
        self.compiled.model().tensors(role).get(index).map(|info| info.name.clone()).unwrap_or_default()
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

/// The floats of each input, in the caller's memory or among those that were converted.
fn floats<'a>(given: &[GivenInput<'a>], reals: &'a [Vec<f32>]) -> Vec<(usize, &'a [f32])> {
    given.iter().map(|&(input, floats)| (input, floats.unwrap_or(&reals[input]))).collect()
}
