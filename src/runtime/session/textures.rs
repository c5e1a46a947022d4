//! Textures and command encoders of the caller: inputs and outputs without copies, and runs between other commands.

use super::Session;
use crate::runtime::{Error, Readback, Submission, TensorKey};
use texpool_gpu::TensorRole;

impl Session {
    /// Makes the model read this input from one of the caller's textures, from the next run on.
    ///
    /// The texture must match [`CompiledModel::input_layout`](crate::CompiledModel::input_layout). The session caches
    /// the last few textures, so a camera can alternate between two or three at no cost. Cached textures stay alive
    /// until others replace them or the input is [unbound](Self::unbind_input).
    ///
    /// A texture fills an input with [bounded axes](crate::TensorInfo::bounded_axes) to its bounds. Its extents are those
    /// of the other inputs which share them, or else the bounds.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, camera: &texpool::wgpu::Texture) -> Result<(), texpool::Error> {
    /// session.bind_input("image", camera)?;
    /// let submission = session.submit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`]; [`Error::Gpu`] for a texture that does not fit.
    pub fn bind_input<'k>(&mut self, key: impl Into<TensorKey<'k>>, texture: &wgpu::Texture) -> Result<(), Error> {
        self.bind(TensorRole::Input, key.into(), texture)
    }

    /// Makes the model write this output to one of the caller's textures, from the next run on. The texture must match
    /// [`CompiledModel::output_layout`](crate::CompiledModel::output_layout). To be [read](Self::read) as well, it
    /// needs the usage `COPY_SRC`. An output with [bounded axes](crate::TensorInfo::bounded_axes) fills the texture to
    /// its bounds; only reading it tells how many of its places have a meaning.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// use texpool::wgpu::TextureUsages;
    ///
    /// // Only a shader of the program reads the mask.
    /// let layout = session.compiled().output_layout("mask")?;
    /// let mask = context.device().create_texture(&layout.descriptor(TextureUsages::TEXTURE_BINDING));
    /// session.bind_output("mask", &mask)?;
    /// session.submit()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`bind_input`](Self::bind_input).
    pub fn bind_output<'k>(&mut self, key: impl Into<TensorKey<'k>>, texture: &wgpu::Texture) -> Result<(), Error> {
        self.bind(TensorRole::Output, key.into(), texture)
    }

    fn bind(&mut self, role: TensorRole, key: TensorKey<'_>, texture: &wgpu::Texture) -> Result<(), Error> {
        let index = self.compiled.model().index(role, key)?;
        self.executor.bind_texture(role, index, texture)?;
        if role == TensorRole::Input {
            self.dims[index] = None;
        }
        Ok(())
    }

    /// Returns the input to a texture owned by the session, which has no values yet.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, camera: &texpool::wgpu::Texture, photo: &[f32])
    /// # -> Result<(), texpool::Error> {
    /// session.bind_input("image", camera)?;
    /// session.submit()?;
    /// // Values cannot be given to a bound input.
    /// session.unbind_input("image")?;
    /// let outputs = session.run([("image", texpool::TensorView::from(photo))])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`].
    pub fn unbind_input<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<(), Error> {
        let index = self.compiled.model().index(TensorRole::Input, key.into())?;
        self.executor.unbind_texture(TensorRole::Input, index);
        self.dims[index] = None;
        Ok(())
    }

    /// Returns the output to a texture owned by the session.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, mask: &texpool::wgpu::Texture) -> Result<(), texpool::Error> {
    /// session.bind_output("mask", mask)?;
    /// session.submit()?;
    /// session.unbind_output("mask")?; // `mask` keeps the values, the next run leaves them alone
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`unbind_input`](Self::unbind_input).
    pub fn unbind_output<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<(), Error> {
        let index = self.compiled.model().index(TensorRole::Output, key.into())?;
        self.executor.unbind_texture(TensorRole::Output, index);
        Ok(())
    }

    /// Returns the input's texture, so that the caller's shaders or copies can write it, and creates it if necessary.
    /// From then on the input counts as written. The texture stays the same until another one is bound or the session
    /// is [trimmed](Self::trim).
    ///
    /// It matches [`CompiledModel::input_layout`](crate::CompiledModel::input_layout). A texture owned by the session
    /// has the usages `STORAGE_BINDING`, `TEXTURE_BINDING`, `COPY_DST` and `COPY_SRC`. If you need other usages, bind a
    /// texture.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session, camera: &texpool::wgpu::Texture,
    /// # encoder: &mut texpool::wgpu::CommandEncoder) -> Result<(), texpool::Error> {
    /// // `camera` has the layout of the input already, so a copy is enough.
    /// session.compiled().input_layout("image")?.check(camera).expect("made by `TextureLayout::descriptor`");
    /// let image = session.input_texture("image")?;
    /// encoder.copy_texture_to_texture(camera.as_image_copy(), image.as_image_copy(), image.size());
    /// session.encode(encoder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`], and [`Error::Gpu`] if memory runs out.
    pub fn input_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Input, key.into())?;
        self.dims[index] = None;
        Ok(self.executor.texture(TensorRole::Input, index)?)
    }

    /// Returns the output's texture, so that the caller's shaders or copies can read it. It matches
    /// [`CompiledModel::output_layout`](crate::CompiledModel::output_layout) and has the same usages as those of
    /// [inputs](Self::input_texture).
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// // A shader reads it with these functions, which find the texel of each element.
    /// let scores = session.output_texture("scores")?.create_view(&Default::default());
    /// let functions = session.compiled().output_layout("scores")?.wgsl("scores");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`input_texture`](Self::input_texture).
    pub fn output_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Output, key.into())?;
        Ok(self.executor.texture(TensorRole::Output, index)?)
    }

    /// Adds a run to the caller's command encoder, as one compute pass. The run uses the contents that the inputs have
    /// when the encoder's commands execute.
    ///
    /// ```no_run
    /// # fn example(context: texpool::Context, session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// let mut encoder = context.device().create_command_encoder(&Default::default());
    /// // Passes that write the input's texture come here.
    /// session.encode(&mut encoder)?;
    /// // Passes that read the output's texture come here.
    /// context.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::MissingInputs`], [`Error::OtherPool`]; [`Error::Gpu`] while the session is [trimmed](Self::trim), and
    /// device errors for newly bound textures.
    pub fn encode(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        self.check_entered()?;
        self.settle_inputs()?;
        Ok(self.executor.encode(encoder)?)
    }

    /// Adds copies of outputs to the caller's command encoder, to be read after its submission. Several readbacks can
    /// be in flight at once.
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
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`], [`Error::Bound`] for caller's textures without the usage
    /// `COPY_SRC`, and as [`encode`](Self::encode).
    pub fn encode_read<'k, K: Into<TensorKey<'k>>>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        outputs: impl IntoIterator<Item = K>,
    ) -> Result<Readback, Error> {
        let outputs = self.with_counts(self.readable(outputs)?);
        let readbacks = self.executor.encode_readbacks(&outputs, encoder)?;
        Ok(Readback::new(self.executor.gpu(), &self.compiled, outputs.into_iter().zip(readbacks).collect()))
    }

    /// Runs the model on the current contents of the inputs' textures without waiting. Wait on the returned
    /// [`Submission`] instead.
    ///
    /// ```no_run
    /// # fn example(session: &mut texpool::Session) -> Result<(), texpool::Error> {
    /// let submission = session.submit()?;
    /// // Other work of the host, while the device computes.
    /// submission.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn submit(&mut self) -> Result<Submission, Error> {
        self.check_entered()?;
        self.settle_inputs()?;
        let submitted = self.executor.submit()?;
        Ok(Submission::new(self.executor.gpu(), submitted))
    }
}
