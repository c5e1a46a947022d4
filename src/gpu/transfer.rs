//! Inputs to the device and outputs from it, through buffers that are made once, and again where a run has failed.

use super::{
    Gpu, GpuError, TextureSet,
    pack::{pack, unpack},
    textures::row_bytes,
    wait::Mapping,
};
use crate::graph::{LayoutPermutation, Shape, Tensor};

/// Which direction values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Upload,
    Readback,
}

/// A tensor that is copied between the host and a texture of its own.
#[derive(Debug)]
struct Transfer {
    shape: Shape,
    permutation: LayoutPermutation,
    texture: usize,
    buffer: wgpu::Buffer,
    bytes: Vec<u8>,
    direction: Direction,
}

impl Transfer {
    /// A buffer for `texture`, which holds `tensor` and whose width must make rows a multiple of 256 bytes.
    fn new(
        gpu: &Gpu,
        textures: &TextureSet,
        texture: usize,
        tensor: &Tensor,
        direction: Direction,
    ) -> Result<Self, GpuError> {
        let size = textures.spec(texture).bytes();
        let buffer = buffer(gpu, size, direction)?;
        let bytes = if direction == Direction::Upload { vec![0; size as usize] } else { Vec::new() };
        Ok(Self {
            shape: tensor.shape,
            permutation: tensor.host_permutation.clone(),
            texture,
            buffer,
            bytes,
            direction,
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
        match self.direction {
            Direction::Upload => encoder.copy_buffer_to_texture(buffer, texture.as_image_copy(), texture.size()),
            Direction::Readback => encoder.copy_texture_to_buffer(texture.as_image_copy(), buffer, texture.size()),
        }
    }

    /// Asks for the buffer to be mapped again once the device is done with it.
    fn map(&self) -> Mapping {
        let mode = match self.direction {
            Direction::Upload => wgpu::MapMode::Write,
            Direction::Readback => wgpu::MapMode::Read,
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
fn buffer(gpu: &Gpu, size: u64, direction: Direction) -> Result<wgpu::Buffer, GpuError> {
    let (what, usage) = match direction {
        Direction::Upload => ("an input", wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC),
        Direction::Readback => ("an output", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
    };
    let mapped_at_creation = direction == Direction::Upload;
    gpu.buffer(what, &wgpu::BufferDescriptor { label: Some("transfer"), size, usage, mapped_at_creation })
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
    state: State,
}

impl Transfers {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { uploads: Vec::new(), readbacks: Vec::new(), state: State::Ready }
    }

    /// Adds an input or output that lies in `texture`.
    pub(super) fn add(
        &mut self,
        gpu: &Gpu,
        textures: &TextureSet,
        texture: usize,
        tensor: &Tensor,
        direction: Direction,
    ) -> Result<(), GpuError> {
        let transfer = Transfer::new(gpu, textures, texture, tensor, direction)?;
        match direction {
            Direction::Upload => self.uploads.push(transfer),
            Direction::Readback => self.readbacks.push(transfer),
        }
        Ok(())
    }

    /// Vectors for all outputs.
    pub(super) fn empty_outputs(&self) -> Vec<Vec<f32>> {
        self.readbacks.iter().map(|transfer| vec![0.0; transfer.shape.len()]).collect()
    }

    /// Checks that there is a slice of the right length for every input.
    pub(super) fn check_inputs(&self, inputs: &[&[f32]]) -> Result<(), GpuError> {
        check_lengths("input", &self.uploads, inputs)
    }

    /// Checks that there is a vector of the right length for every output.
    pub(super) fn check_outputs(&self, outputs: &[Vec<f32>]) -> Result<(), GpuError> {
        check_lengths("output", &self.readbacks, outputs)
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
            transfer.buffer = buffer(gpu, textures.spec(transfer.texture).bytes(), transfer.direction)?;
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
    pub(super) fn encode(&self, direction: Direction, textures: &TextureSet, encoder: &mut wgpu::CommandEncoder) {
        self.of(direction).iter().for_each(|transfer| transfer.encode(textures, encoder));
    }

    /// Asks for the buffers of inputs or outputs to be mapped.
    pub(super) fn map(&self, direction: Direction) -> Vec<Mapping> {
        self.of(direction).iter().map(Transfer::map).collect()
    }

    /// Reads the outputs, whose buffers are mapped, and gives those back.
    pub(super) fn take(&self, textures: &TextureSet, outputs: &mut [Vec<f32>]) -> Result<(), GpuError> {
        self.readbacks.iter().zip(outputs).try_for_each(|(transfer, values)| transfer.take(textures, values))
    }

    fn of(&self, direction: Direction) -> &[Transfer] {
        match direction {
            Direction::Upload => &self.uploads,
            Direction::Readback => &self.readbacks,
        }
    }
}

fn check_lengths<T: AsRef<[f32]>>(what: &str, transfers: &[Transfer], given: &[T]) -> Result<(), GpuError> {
    check_count(&format!("{what}s"), transfers.len(), given.len())?;
    for (i, (transfer, values)) in transfers.iter().zip(given).enumerate() {
        check_count(&format!("values of {what} {i}"), transfer.shape.len(), values.as_ref().len())?;
    }
    Ok(())
}

fn check_count(what: &str, expected: usize, found: usize) -> Result<(), GpuError> {
    if expected == found { Ok(()) } else { Err(GpuError::Input { what: what.to_owned(), expected, found }) }
}
