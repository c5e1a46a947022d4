//! Textures and command encoders of a caller's: inputs and outputs that are never copied, runs between other commands.

use super::Session;
use crate::{
    gpu::TensorRole,
    runtime::{Error, Readback, Submission, TensorKey},
};

impl Session {
    /// The model reads this input from a texture of the caller's, from the next run on.
    ///
    /// The texture must be as [`CompiledModel::input_layout`](crate::CompiledModel::input_layout) says. A few of the last
    /// textures are remembered, so that a camera's two or three can take turns at no cost; they stay alive until others take
    /// their place, or the input is [unbound](Self::unbind_input).
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`]; [`Error::Gpu`] for a texture that does not fit.
    pub fn bind_input<'k>(&mut self, key: impl Into<TensorKey<'k>>, texture: &wgpu::Texture) -> Result<(), Error> {
        self.bind(TensorRole::Input, key.into(), texture)
    }

    /// The model writes this output to a texture of the caller's, from the next run on. It must be as
    /// [`CompiledModel::output_layout`](crate::CompiledModel::output_layout) says, and have the usage `COPY_SRC` if it is to be
    /// [read](Self::read), too.
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

    /// Returns the texture of the input for the caller's shaders or copies to write, and creates it if necessary. It
    /// counts as written from then on. It stays the same until another one is bound or the session is
    /// [trimmed](Self::trim).
    ///
    /// It is as [`CompiledModel::input_layout`](crate::CompiledModel::input_layout) says. A texture of the session's own has
    /// the usages `STORAGE_BINDING`, `TEXTURE_BINDING`, `COPY_DST` and `COPY_SRC`; for others, bind one.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`], [`Error::AmbiguousName`], and [`Error::Gpu`] where memory runs out.
    pub fn input_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Input, key.into())?;
        Ok(self.executor.texture(TensorRole::Input, index)?)
    }

    /// The texture that the output lies in, for a shader or copy of the caller's to read: as
    /// [`CompiledModel::output_layout`](crate::CompiledModel::output_layout) says, with the same usages as those of
    /// [inputs](Self::input_texture).
    ///
    /// # Errors
    /// As [`input_texture`](Self::input_texture).
    pub fn output_texture<'k>(&mut self, key: impl Into<TensorKey<'k>>) -> Result<wgpu::Texture, Error> {
        let index = self.compiled.model().index(TensorRole::Output, key.into())?;
        Ok(self.executor.texture(TensorRole::Output, index)?)
    }

    /// Adds a run to the caller's command encoder, as one compute pass. The run uses the inputs' contents at the time
    /// when the encoder's commands run.
    ///
    /// # Errors
    /// [`Error::MissingInputs`], [`Error::OtherPool`]; [`Error::Gpu`] while the session is [trimmed](Self::trim), and
    /// errors of the device for textures that it has not seen before.
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
}
