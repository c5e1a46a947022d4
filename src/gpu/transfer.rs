//! Inputs to the device and outputs from it, through buffers that are made once, and again where a run has failed.

use super::{
    Gpu, GpuError, TensorRole, TextureSet,
    pack::{pack, unpack},
    textures::row_bytes,
    wait::Mapping,
};
use crate::graph::{LayoutPermutation, Shape, Tensor};

/// A tensor that is copied between the host and a texture of its own.
#[derive(Debug)]
struct Transfer {
    shape: Shape,
    permutation: LayoutPermutation,
    texture: usize,
    buffer: wgpu::Buffer,
    bytes: Vec<u8>,
    role: TensorRole,
    /// Among the model's inputs or outputs.
    index: usize,
    name: String,
}

impl Transfer {
    /// A buffer for `texture`, which holds `tensor` and whose width must make rows a multiple of 256 bytes.
    fn new(
        gpu: &Gpu,
        textures: &TextureSet,
        texture: usize,
        tensor: &Tensor,
        (role, index): (TensorRole, usize),
    ) -> Result<Self, GpuError> {
        let size = textures.spec(texture).bytes();
        let buffer = buffer(gpu, textures, size, role)?;
        // Zeroed once: `pack` writes the same lanes in every run and leaves the others.
        let bytes = if role == TensorRole::Input { vec![0; size as usize] } else { Vec::new() };
        Ok(Self {
            shape: tensor.shape,
            permutation: tensor.host_permutation.clone(),
            texture,
            buffer,
            bytes,
            role,
            index,
            name: tensor.name.clone(),
        })
    }

    /// Writes dense values in the file's order into the mapped buffer and hands it to the device.
    fn load(&mut self, textures: &TextureSet, values: &[f32]) -> Result<(), GpuError> {
        pack(&self.permutation.from_file(values), self.shape, textures.spec(self.texture).format, &mut self.bytes);
        self.buffer.get_mapped_range_mut(..).map_err(mapping)?.copy_from_slice(&self.bytes);
        self.buffer.unmap();
        Ok(())
    }

    /// Copies between buffer and texture.
    fn encode(&self, textures: &TextureSet, encoder: &mut wgpu::CommandEncoder) {
        let spec = textures.spec(self.texture);
        let texture = textures.texture(self.texture);
        let buffer = wgpu::TexelCopyBufferInfo {
            buffer: &self.buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(row_bytes(spec) as u32),
                rows_per_image: None,
            },
        };
        match self.role {
            TensorRole::Input => encoder.copy_buffer_to_texture(buffer, texture.as_image_copy(), texture.size()),
            TensorRole::Output => encoder.copy_texture_to_buffer(texture.as_image_copy(), buffer, texture.size()),
        }
    }

    /// Asks for the buffer to be mapped again once the device is done with it.
    fn map(&self) -> Mapping {
        let mode = match self.role {
            TensorRole::Input => wgpu::MapMode::Write,
            TensorRole::Output => wgpu::MapMode::Read,
        };
        Mapping::new(&self.buffer, mode)
    }

    /// Reads dense values in the file's order out of the mapped buffer and gives it back.
    fn take(&self, textures: &TextureSet, values: &mut [f32]) -> Result<(), GpuError> {
        let view = self.buffer.get_mapped_range(..).map_err(mapping)?;
        unpack(&view, self.shape, textures.spec(self.texture).format, values);
        if !self.permutation.is_file_order() {
            let filed = self.permutation.to_file(values).into_owned();
            values.copy_from_slice(&filed);
        }
        drop(view);
        self.buffer.unmap();
        Ok(())
    }
}

/// A buffer as a run finds it: of an input mapped, of an output not.
fn buffer(gpu: &Gpu, textures: &TextureSet, size: u64, role: TensorRole) -> Result<wgpu::Buffer, GpuError> {
    let (what, usage) = match role {
        TensorRole::Input => ("an input", wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC),
        TensorRole::Output => ("an output", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
    };
    let (label, mapped_at_creation) = (textures.allocations().label("staging"), role == TensorRole::Input);
    gpu.buffer(what, &wgpu::BufferDescriptor { label: Some(&label), size, usage, mapped_at_creation })
}

fn mapping(error: impl std::fmt::Display) -> GpuError {
    GpuError::Refused { doing: "mapping a transfer buffer".into(), reason: error.to_string() }
}

/// What is known of a session's buffers, and of the device.
#[derive(Debug)]
enum State {
    /// Buffers of inputs are mapped, those of outputs are not, and nothing that uses them is on the device.
    Ready,
    /// A run has begun. If it came to no good end, nothing is known of the buffers, and what was submitted last may
    /// still be running.
    Begun(Option<wgpu::SubmissionIndex>),
}

/// All inputs and outputs of a session that the host brings and takes.
#[derive(Debug)]
pub(super) struct Transfers {
    uploads: Vec<Transfer>,
    readbacks: Vec<Transfer>,
    /// Inputs and outputs that lie in external textures.
    in_textures: Vec<(TensorRole, String)>,
    state: State,
}

impl Transfers {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { uploads: Vec::new(), readbacks: Vec::new(), in_textures: Vec::new(), state: State::Ready }
    }

    /// Adds an input or output that lies in `texture`.
    pub(super) fn add(
        &mut self,
        gpu: &Gpu,
        textures: &TextureSet,
        texture: usize,
        tensor: &Tensor,
        place: (TensorRole, usize),
    ) -> Result<(), GpuError> {
        let transfer = Transfer::new(gpu, textures, texture, tensor, place)?;
        match transfer.role {
            TensorRole::Input => self.uploads.push(transfer),
            TensorRole::Output => self.readbacks.push(transfer),
        }
        Ok(())
    }

    /// Notes an input or output that lies in a texture of the caller's, for errors to name.
    pub(super) fn skip(&mut self, role: TensorRole, name: &str) {
        self.in_textures.push((role, name.to_owned()));
    }

    /// Bytes of the buffers.
    pub(super) fn bytes(&self) -> u64 {
        self.uploads.iter().chain(&self.readbacks).map(|transfer| transfer.buffer.size()).sum()
    }

    /// Vectors for all outputs.
    pub(super) fn empty_outputs(&self) -> Vec<Vec<f32>> {
        self.readbacks.iter().map(|transfer| vec![0.0; transfer.shape.len()]).collect()
    }

    /// Checks that there is a slice of the right length for every input.
    pub(super) fn check_inputs(&self, inputs: &[&[f32]]) -> Result<(), GpuError> {
        self.check_given(TensorRole::Input, inputs)
    }

    /// Checks that there is a vector of the right length for every output.
    pub(super) fn check_outputs(&self, outputs: &[Vec<f32>]) -> Result<(), GpuError> {
        self.check_given(TensorRole::Output, outputs)
    }

    /// Puts in order what a run has left behind that did not end well: waits until the device is done with it, and
    /// takes new buffers, for nobody knows in which state the old ones are.
    pub(super) fn recover(&mut self, gpu: &Gpu, textures: &TextureSet) -> Result<(), GpuError> {
        gpu.check_lost()?;
        let State::Begun(submission) = &self.state else { return Ok(()) };
        if let Some(submission) = submission {
            gpu.wait(submission, "an earlier run that was given up")?;
        }
        for transfer in self.uploads.iter_mut().chain(&mut self.readbacks) {
            transfer.buffer = buffer(gpu, textures, textures.spec(transfer.texture).bytes(), transfer.role)?;
        }
        self.state = State::Ready;
        Ok(())
    }

    /// Notes that a run begins: until its [end](Self::ended) the buffers need [recovering](Self::recover).
    pub(super) fn begun(&mut self) {
        self.state = State::Begun(None);
    }

    /// Notes what the run has submitted last.
    pub(super) fn submitted(&mut self, submission: wgpu::SubmissionIndex) {
        self.state = State::Begun(Some(submission));
    }

    /// Notes that the run has ended well.
    pub(super) fn ended(&mut self) {
        self.state = State::Ready;
    }

    /// Writes inputs where the device fetches them. They must have passed [`check_inputs`](Self::check_inputs).
    pub(super) fn load(&mut self, textures: &TextureSet, inputs: &[&[f32]]) -> Result<(), GpuError> {
        self.uploads.iter_mut().zip(inputs).try_for_each(|(transfer, values)| transfer.load(textures, values))
    }

    /// Copies all inputs, or all outputs.
    pub(super) fn encode(&self, role: TensorRole, textures: &TextureSet, encoder: &mut wgpu::CommandEncoder) {
        self.of(role).iter().for_each(|transfer| transfer.encode(textures, encoder));
    }

    /// Asks for the buffers of inputs or outputs to be mapped.
    pub(super) fn map(&self, role: TensorRole) -> Vec<Mapping> {
        self.of(role).iter().map(Transfer::map).collect()
    }

    /// Reads the outputs, whose buffers are mapped, and gives those back.
    pub(super) fn take(&self, textures: &TextureSet, outputs: &mut [Vec<f32>]) -> Result<(), GpuError> {
        self.readbacks.iter().zip(outputs).try_for_each(|(transfer, values)| transfer.take(textures, values))
    }

    fn check_given<T: AsRef<[f32]>>(&self, role: TensorRole, given: &[T]) -> Result<(), GpuError> {
        let transfers = self.of(role);
        if transfers.len() != given.len() {
            let by_value = transfers.iter().map(|transfer| transfer.name.clone()).collect();
            let in_textures =
                self.in_textures.iter().filter(|(of, _)| *of == role).map(|(_, name)| name.clone()).collect();
            return Err(GpuError::TensorCount { role, by_value, in_textures, found: given.len() });
        }
        for (transfer, values) in transfers.iter().zip(given) {
            let (expected, found) = (transfer.shape.len(), values.as_ref().len());
            if expected != found {
                let (index, name) = (transfer.index, transfer.name.clone());
                return Err(GpuError::TensorLength { role, index, name, expected, found });
            }
        }
        Ok(())
    }

    fn of(&self, role: TensorRole) -> &[Transfer] {
        match role {
            TensorRole::Input => &self.uploads,
            TensorRole::Output => &self.readbacks,
        }
    }
}
