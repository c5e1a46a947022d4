//! The textures that inputs and outputs lie in: the executor's own, or the caller's.

use super::Executor;
use crate::gpu::{GpuError, TensorRole, TextureProblem, ports::Port};

impl Executor {
    /// Puts the textures that inputs and outputs lie in where the dispatches look for them.
    pub(super) fn bind(&mut self) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        let Some(resident) = self.resident.as_mut().filter(|held| self.pool.generation() == Some(held.generation))
        else {
            return Err(GpuError::Trimmed);
        };
        for (i, port) in self.inputs.iter_mut().chain(&mut self.outputs).enumerate() {
            if !port.is_streamed() {
                resident.textures.replace(resident.first_port + i, port.ensure(&self.gpu, &self.allocations)?);
            }
        }
        resident.program.bind(&self.gpu, &resident.textures)
    }

    /// An input or output lies in a texture of the caller's from now on.
    ///
    /// # Errors
    /// [`GpuError::NoSuchTensor`] for one past the last, [`GpuError::ExternalTexture`] where the texture is not as
    /// [`io_texture`](crate::gpu::io_texture) says, or another tensor lies in it and one of the two is written.
    pub fn bind_texture(&mut self, role: TensorRole, index: usize, texture: &wgpu::Texture) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        // No dispatch may read and write one texture, nor may two outputs be written over each other.
        let others = self.outputs.iter().enumerate().map(|(i, port)| (TensorRole::Output, i, port));
        let inputs = self.inputs.iter().enumerate().map(|(i, port)| (TensorRole::Input, i, port));
        let others = others.chain(inputs.filter(|_| role == TensorRole::Output));
        let mut others = others.filter(|&(of, i, _)| (of, i) != (role, index));
        let other = others.find(|(.., port)| port.texture() == Some(texture));
        let other = other.map(|(role, index, _)| TextureProblem::InUse { role, index });
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index)?;
        let own = port.is_own();
        match other {
            Some(problem) => return Err(port.refuse(problem)),
            None => port.bind(texture)?,
        }
        if own {
            self.release(role, index);
        }
        Ok(())
    }

    /// An input or output lies in a texture of the executor's own again.
    pub(crate) fn unbind_texture(&mut self, role: TensorRole, index: usize) {
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index);
        if let Some(port) = port.ok().filter(|port| port.is_bound()) {
            port.unbind();
            self.release(role, index);
        }
    }

    /// The texture that an input or output lies in, made if there is none. That of an input counts as written from then
    /// on: the caller will.
    pub(crate) fn texture(&mut self, role: TensorRole, index: usize) -> Result<wgpu::Texture, GpuError> {
        self.gpu.check_process()?;
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index)?;
        let texture = port.ensure(&self.gpu, &self.allocations)?.clone();
        port.set_filled();
        self.note();
        Ok(texture)
    }

    pub(crate) fn is_bound(&self, role: TensorRole, index: usize) -> bool {
        self.ports(role).get(index).is_some_and(Port::is_bound)
    }

    /// Whether an output can be copied to the host.
    pub(crate) fn can_be_read(&self, output: usize) -> bool {
        let texture = self.outputs.get(output).and_then(Port::texture);
        texture.is_none_or(|texture| texture.usage().contains(wgpu::TextureUsages::COPY_SRC))
    }

    /// Whether an input has values, by whatever way.
    pub(crate) fn is_filled(&self, input: usize) -> bool {
        self.inputs.get(input).is_some_and(Port::is_filled)
    }

    fn ports(&self, role: TensorRole) -> &[Port] {
        match role {
            TensorRole::Input => &self.inputs,
            TensorRole::Output => &self.outputs,
        }
    }

    /// Keeps no texture alive in which the input or output has lain.
    fn release(&mut self, role: TensorRole, index: usize) {
        let before = match role {
            TensorRole::Input => 0,
            TensorRole::Output => self.inputs.len(),
        };
        if let Some(resident) = &mut self.resident {
            resident.release(before + index);
        }
    }
}

/// An input or output to be changed. Takes the lists alone, so that the rest of the executor can be used beside it.
fn port_mut<'a>(
    inputs: &'a mut [Port],
    outputs: &'a mut [Port],
    role: TensorRole,
    index: usize,
) -> Result<&'a mut Port, GpuError> {
    let ports = match role {
        TensorRole::Input => inputs,
        TensorRole::Output => outputs,
    };
    let count = ports.len();
    ports.get_mut(index).ok_or(GpuError::NoSuchTensor { role, index, count })
}
