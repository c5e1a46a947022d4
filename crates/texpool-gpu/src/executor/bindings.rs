//! Textures of inputs and outputs: the executor's own, or bound by the caller.

use super::{Executor, carried::check_usage};
use crate::{GpuError, TensorRole, TextureProblem, ports::Port};

impl Executor {
    /// Binds the textures of inputs and outputs to the dispatches.
    pub(super) fn bind(&mut self) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        self.narrow()?;
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

    /// Uses a texture of the caller for an input or output.
    ///
    /// # Errors
    /// [`GpuError::NoSuchTensor`] for an index out of range, [`GpuError::ExternalTexture`] if the texture does not
    /// match [`io_texture`](texpool_compile::io_texture), or if another tensor uses it and one of the two is written.
    pub fn bind_texture(&mut self, role: TensorRole, index: usize, texture: &wgpu::Texture) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        // No dispatch may read and write the same texture, and two outputs must not overwrite each other. A carried
        // input is written, too.
        let others = self.outputs.iter().enumerate().map(|(i, port)| (TensorRole::Output, i, port));
        let inputs = self.inputs.iter().enumerate().map(|(i, port)| (TensorRole::Input, i, port));
        let is_carried = self.is_carried(role, index);
        let inputs = inputs.filter(|&(of, i, _)| role == TensorRole::Output || is_carried || self.is_carried(of, i));
        let others = others.chain(inputs);
        let mut others = others.filter(|&(of, i, _)| (of, i) != (role, index));
        let other = others.find(|(.., port)| port.texture() == Some(texture));
        let other = other.map(|(role, index, _)| TextureProblem::InUse { role, index });
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index)?;
        let own = port.is_own();
        match other {
            Some(problem) => return Err(port.refuse(problem)),
            None if is_carried => {
                check_usage(role, port, texture)?;
                port.bind(texture)?;
            }
            None => port.bind(texture)?,
        }
        if own {
            self.release(role, index);
        }
        if role == TensorRole::Input {
            self.settle_input(index);
        }
        Ok(())
    }

    /// Uses the executor's own texture for an input or output again.
    pub fn unbind_texture(&mut self, role: TensorRole, index: usize) {
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index);
        if let Some(port) = port.ok().filter(|port| port.is_bound()) {
            port.unbind();
            self.release(role, index);
            if role == TensorRole::Input {
                self.reset_input(index);
            }
        }
    }

    /// Returns the texture of an input or output, creating it if needed. An input counts as written from then on,
    /// because the caller will write it.
    pub fn texture(&mut self, role: TensorRole, index: usize) -> Result<wgpu::Texture, GpuError> {
        self.gpu.check_process()?;
        if role == TensorRole::Input {
            self.flush_input(index)?;
        }
        let port = port_mut(&mut self.inputs, &mut self.outputs, role, index)?;
        let texture = port.ensure(&self.gpu, &self.allocations)?.clone();
        port.set_filled();
        self.note();
        Ok(texture)
    }

    /// Returns whether a texture of the caller is bound to an input or output.
    pub fn is_bound(&self, role: TensorRole, index: usize) -> bool {
        self.ports(role).get(index).is_some_and(Port::is_bound)
    }

    /// Returns whether an output can be copied to the host.
    pub fn can_be_read(&self, output: usize) -> bool {
        let texture = self.outputs.get(output).and_then(Port::texture);
        texture.is_none_or(|texture| texture.usage().contains(wgpu::TextureUsages::COPY_SRC))
    }

    /// Returns whether an input has values, whichever way they were written, or carries values.
    pub fn is_filled(&self, input: usize) -> bool {
        self.is_carried(TensorRole::Input, input) || self.inputs.get(input).is_some_and(Port::is_filled)
    }

    pub(super) fn ports(&self, role: TensorRole) -> &[Port] {
        match role {
            TensorRole::Input => &self.inputs,
            TensorRole::Output => &self.outputs,
        }
    }

    /// Drops all references to textures that the input or output has used.
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

/// Returns an input or output mutably. Takes only the two lists, so that the rest of the executor remains usable.
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
