//! Values that an output hands on to an input of the next run.

use super::{
    Gpu, GpuError, TensorRole,
    allocations::Allocations,
    ports::Port,
    rearrange::Rearrangement,
    staging::{Staging, StagingBuffer},
    textures::in_buffer,
    transfer::{pieces, region},
};
use std::sync::Arc;
use texpool_compile::piece_bytes;
use texpool_ops::graph::{TexelStorage, Variable};

/// An output whose values become those of an input at the next run.
#[derive(Debug)]
pub(super) struct Carry {
    pub(super) output: usize,
    pub(super) input: usize,
    path: Path,
    /// Values of the input after a reset, in the file's order. `None` stands for zeros.
    initial: Option<Vec<f32>>,
    /// True while the input's port does not hold the values with which the next run begins. On the device these are
    /// the initial ones; on the host they are stored here.
    is_pending: bool,
}

/// The way of the values.
#[derive(Debug)]
enum Path {
    /// The textures have the same layout.
    Copy,
    /// The elements lie elsewhere in the input's texture.
    Rearrange(Box<Rearrangement>),
    /// The input or the output is streamed and has no texture, so the host stores the values.
    Host(Vec<f32>),
}

/// Returns the values with which a variable begins, in the file's order; `None` for zeros.
pub(super) fn first_values(variable: &Variable) -> Option<Vec<f32>> {
    let initial = variable.initial.as_ref()?;
    let reals = initial.reals();
    Some((0..initial.len()).map(|i| reals.get(i)).collect())
}

/// A buffer of initial values, with which an input is filled in the encoder of the next run.
pub(super) struct Start {
    input: usize,
    buffer: StagingBuffer,
}

impl Carry {
    pub(super) fn new((output, from): (usize, &Port), (input, to): (usize, &Port), initial: Option<Vec<f32>>) -> Self {
        // Only texels in the format of the pool are rearranged on the device.
        let is_rearranged = from.layout() != to.layout();
        let is_in_values = from.layout().storage == TexelStorage::Values;
        let path = if from.is_streamed() || to.is_streamed() || is_rearranged && !is_in_values {
            Path::Host(initial.clone().unwrap_or_else(|| vec![0.0; to.layout().shape.len()]))
        } else if !is_rearranged {
            Path::Copy
        } else {
            Path::Rearrange(Box::new(Rearrangement::new(from.layout().clone(), to.layout().clone())))
        };
        Self { output, input, path, initial, is_pending: !to.is_filled() }
    }

    /// Returns whether this is the input or output of the pair.
    pub(super) fn uses(&self, role: TensorRole, index: usize) -> bool {
        match role {
            TensorRole::Input => self.input == index,
            TensorRole::Output => self.output == index,
        }
    }

    /// Returns the usages that a texture of the caller needs.
    pub(super) const fn usage(role: TensorRole) -> wgpu::TextureUsages {
        match role {
            TensorRole::Input => wgpu::TextureUsages::COPY_DST,
            TensorRole::Output => wgpu::TextureUsages::COPY_SRC,
        }
    }

    /// Returns the size of its table on the device in bytes.
    pub(super) fn table_bytes(&self) -> u64 {
        match &self.path {
            Path::Rearrange(rearrangement) => rearrangement.bytes(),
            Path::Copy | Path::Host(_) => 0,
        }
    }

    pub(super) const fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns whether the values pass through the host.
    pub(super) const fn is_on_host(&self) -> bool {
        matches!(self.path, Path::Host(_))
    }

    /// Returns the values with which the next run begins, if the host stores them and the port does not hold them.
    pub(super) fn pending_values(&self) -> Option<&[f32]> {
        match &self.path {
            Path::Host(values) if self.is_pending => Some(values),
            _ => None,
        }
    }

    /// Lets the next run begin with the values that the port holds.
    pub(super) fn settle(&mut self) {
        self.is_pending = false;
    }

    /// Lets the next run begin with the initial values.
    pub(super) fn reset(&mut self) {
        if let Path::Host(values) = &mut self.path {
            match &self.initial {
                Some(initial) => values.clone_from(initial),
                None => values.fill(0.0),
            }
        }
        self.is_pending = true;
    }

    /// Stores the values of the output after a run on the host.
    pub(super) fn store(&mut self, found: Vec<f32>) {
        if let Path::Host(values) = &mut self.path {
            *values = found;
            self.is_pending = true;
        }
    }

    /// Releases device memory, except the values.
    pub(super) fn trim(&mut self) {
        if let Path::Rearrange(rearrangement) = &mut self.path {
            rearrangement.trim();
        }
    }

    /// Creates the initial values with which the next run begins; `None` if they are not needed.
    pub(super) fn start(&self, gpu: &Gpu, staging: &Arc<Staging>, to: &Port) -> Result<Option<Start>, GpuError> {
        if !self.is_pending || self.is_on_host() {
            return Ok(None);
        }
        let (layout, usage) = (to.layout(), wgpu::BufferUsages::COPY_SRC);
        let bytes = match &self.initial {
            Some(_) => layout.spec.bytes(),
            // WebGPU creates buffers with zeros.
            None => piece_bytes(layout.spec),
        };
        let buffer = staging.create(gpu, "the start of a carried value", bytes, usage, self.initial.is_some())?;
        if let Some(initial) = &self.initial {
            let mut texels = vec![0; bytes as usize];
            layout.pack(initial, &mut texels);
            buffer.get().get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?.copy_from_slice(&texels);
            buffer.get().unmap();
        }
        Ok(Some(Start { input: self.input, buffer }))
    }

    /// Creates what [`encode`](Self::encode) needs.
    pub(super) fn prepare(
        &mut self,
        gpu: &Gpu,
        allocations: &Allocations,
        from: &Port,
        to: &Port,
    ) -> Result<(), GpuError> {
        match (&mut self.path, from.texture(), to.texture()) {
            (Path::Rearrange(rearrangement), Some(from), Some(to)) => {
                rearrangement.prepare(gpu, allocations, [from, to])
            }
            _ => Ok(()),
        }
    }

    /// Encodes the copy from the output's texture to the input's, if the values stay on the device.
    pub(super) fn encode(&self, encoder: &mut wgpu::CommandEncoder, from: &Port, to: &Port) {
        match (&self.path, from.texture(), to.texture()) {
            (Path::Copy, Some(from), Some(to)) => {
                encoder.copy_texture_to_texture(from.as_image_copy(), to.as_image_copy(), to.size());
            }
            (Path::Rearrange(rearrangement), ..) => rearrangement.encode(encoder),
            _ => {}
        }
    }
}

impl Start {
    /// Encodes the copies that fill the input's texture.
    pub(super) fn encode(&self, encoder: &mut wgpu::CommandEncoder, inputs: &[Port]) {
        let Some(port) = inputs.get(self.input) else { return };
        let (Some(texture), spec) = (port.texture(), port.layout().spec) else { return };
        for piece in pieces(spec, self.buffer.get().size()) {
            let (to, size) = region(texture, spec, piece);
            encoder.copy_buffer_to_texture(in_buffer(self.buffer.get(), spec), to, size);
        }
    }
}
