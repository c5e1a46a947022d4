//! External textures: inputs and outputs that lie in textures of the caller's, instead of being given by value.

use super::{GpuError, TensorRole};
use crate::graph::Graph;

/// Textures of the caller's for inputs and outputs, by index; missing ones are created.
///
/// Each must be as [`io_texture`](super::io_texture) says and have the usage `STORAGE_BINDING`. The session neither
/// uploads to nor downloads from a texture of the caller's: its values come and go on the device, by
/// [`Session::encode`](super::Session::encode).
#[derive(Clone, Debug, Default)]
pub struct ExternalTextures {
    /// For the graph's inputs.
    pub inputs: Vec<Option<wgpu::Texture>>,
    /// For the graph's outputs.
    pub outputs: Vec<Option<wgpu::Texture>>,
}

impl ExternalTextures {
    /// The external texture of an input or output, if it has one.
    pub(super) fn get(&self, role: TensorRole, index: usize) -> Option<&wgpu::Texture> {
        self.of(role).get(index)?.as_ref()
    }

    /// Checks that the model has an input or output for each texture.
    pub(super) fn check(&self, graph: &Graph) -> Result<(), GpuError> {
        for (role, count) in [(TensorRole::Input, graph.inputs.len()), (TensorRole::Output, graph.outputs.len())] {
            if let Some(index) = self.of(role).iter().rposition(Option::is_some).filter(|&last| last >= count) {
                return Err(GpuError::NoSuchTensor { role, index, count });
            }
        }
        Ok(())
    }

    fn of(&self, role: TensorRole) -> &[Option<wgpu::Texture>] {
        match role {
            TensorRole::Input => &self.inputs,
            TensorRole::Output => &self.outputs,
        }
    }
}
