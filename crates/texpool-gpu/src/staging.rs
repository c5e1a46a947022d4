//! Staging buffers for values of inputs and outputs on their way between host and device.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{
    Gpu, GpuError,
    allocations::{Allocations, TRANSFER},
    pack::{pack, unpack},
    textures::{extent, in_buffer},
    wait::{Mapping, Submitted, Wait},
};
use texpool_ops::graph::{LayoutPermutation, Shape, TexelStorage};
use texpool_plan::TextureSpec;

/// Texture layout of an input or output, and the order of its values at the caller.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostLayout {
    pub(super) shape: Shape,
    pub(super) permutation: LayoutPermutation,
    pub(super) storage: TexelStorage,
    /// Its rows are a multiple of 256 bytes.
    pub(super) spec: TextureSpec,
}

impl HostLayout {
    pub(crate) fn pack(&self, values: &[f32], bytes: &mut [u8]) {
        pack(&self.permutation.from_file(values), self.shape, self.spec.format, self.storage, bytes);
    }

    pub(crate) fn unpack(&self, bytes: &[u8], values: &mut [f32]) {
        unpack(bytes, self.shape, self.spec.format, self.storage, values);
        if !self.permutation.is_file_order() {
            let filed = self.permutation.to_file(values).into_owned();
            values.copy_from_slice(&filed);
        }
    }
}

/// Staging buffers of a session: total size and the free buffers.
#[derive(Debug)]
pub(super) struct Staging {
    allocations: Arc<Allocations>,
    bytes: AtomicU64,
    /// Unmapped readback buffers.
    free: Mutex<Vec<wgpu::Buffer>>,
}

impl Staging {
    pub(super) fn new(allocations: Arc<Allocations>) -> Arc<Self> {
        Arc::new(Self { allocations, bytes: AtomicU64::new(0), free: Mutex::default() })
    }

    /// Returns the size of all buffers, in use or free, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Drops the free buffers.
    pub(super) fn trim(&self) {
        for buffer in self.free.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.bytes.fetch_sub(buffer.size(), Ordering::Relaxed);
        }
    }

    pub(super) fn create(
        self: &Arc<Self>,
        gpu: &Gpu,
        what: &str,
        size: u64,
        usage: wgpu::BufferUsages,
        mapped_at_creation: bool,
    ) -> Result<StagingBuffer, GpuError> {
        let label = self.allocations.label(TRANSFER);
        let descriptor = wgpu::BufferDescriptor { label: Some(&label), size, usage, mapped_at_creation };
        let buffer = gpu.buffer(what, &descriptor)?;
        self.bytes.fetch_add(size, Ordering::Relaxed);
        Ok(StagingBuffer { buffer, of: Arc::clone(self), kept: false })
    }

    /// Creates a mapped buffer for an upload of `size` bytes; `what` names it in errors.
    pub(super) fn upload(self: &Arc<Self>, gpu: &Gpu, what: &str, size: u64) -> Result<StagingBuffer, GpuError> {
        self.create(gpu, what, size, wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC, true)
    }

    /// Returns a readback buffer of `size` bytes, reusing a free one if possible; `what` names it in errors.
    pub(super) fn readback(self: &Arc<Self>, gpu: &Gpu, what: &str, size: u64) -> Result<StagingBuffer, GpuError> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = free.iter().position(|buffer| buffer.size() == size) {
            return Ok(StagingBuffer { buffer: free.swap_remove(at), of: Arc::clone(self), kept: false });
        }
        drop(free);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        self.create(gpu, what, size, usage, false)
    }
}

/// A staging buffer of a session, included in the total size while it exists.
#[derive(Debug)]
pub(super) struct StagingBuffer {
    buffer: wgpu::Buffer,
    of: Arc<Staging>,
    /// True if the buffer returns to the free list, because its state is known.
    kept: bool,
}

impl StagingBuffer {
    pub(super) const fn get(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Returns the buffer to the free list. It must be an unmapped readback buffer.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for StagingBuffer {
    fn drop(&mut self) {
        if self.kept {
            self.of.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.buffer.clone());
        } else {
            self.of.bytes.fetch_sub(self.buffer.size(), Ordering::Relaxed);
        }
    }
}

/// State of an upload's buffer.
#[derive(Debug)]
enum State {
    /// Mapped: the host may write.
    Mapped,
    /// Written, but the copy is not encoded yet.
    Written,
    /// The copy is encoded; the buffer is mapped again when the device has executed it.
    Copied(Mapping),
}

/// Upload path of an input.
#[derive(Debug)]
pub(super) struct Upload {
    buffer: StagingBuffer,
    state: State,
    /// Packed texels. The lanes after the last channel are zeroed once, because packing never writes them.
    bytes: Vec<u8>,
}

impl Upload {
    /// Creates the upload of an input; `what` names it in errors.
    pub(super) fn new(gpu: &Gpu, staging: &Arc<Staging>, what: &str, layout: &HostLayout) -> Result<Self, GpuError> {
        let size = layout.spec.bytes();
        Ok(Self { buffer: staging.upload(gpu, what, size)?, state: State::Mapped, bytes: vec![0; size as usize] })
    }

    /// Writes dense values, in the file's order, into the buffer.
    pub(super) fn write(&mut self, gpu: &Gpu, what: &str, layout: &HostLayout, values: &[f32]) -> Result<(), GpuError> {
        layout.pack(values, &mut self.bytes);
        let mapped = match &mut self.state {
            State::Mapped => true,
            State::Written => false,
            State::Copied(mapping) => mapping.is_mapped() == Some(true),
        };
        if !mapped {
            // The device may still read the old buffer, or its state is unknown, so a new one is used.
            let size = self.buffer.buffer.size();
            self.buffer = self.buffer.of.upload(gpu, what, size)?;
        }
        // Set before the write, because the state of the buffer is unknown if the write fails.
        self.state = State::Written;
        self.buffer.buffer.get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?.copy_from_slice(&self.bytes);
        self.buffer.buffer.unmap();
        Ok(())
    }

    /// Encodes the copy into the texture, after which the buffer is mapped again.
    pub(super) fn encode(&mut self, layout: &HostLayout, texture: &wgpu::Texture, encoder: &mut wgpu::CommandEncoder) {
        let buffer = &self.buffer.buffer;
        encoder.copy_buffer_to_texture(in_buffer(buffer, layout.spec), texture.as_image_copy(), extent(layout.spec));
        self.state = State::Copied(Mapping::on_submit(encoder, buffer, wgpu::MapMode::Write));
    }

    /// Waits until the host may write again. `submitted` must contain the copy.
    pub(super) async fn finish(
        &mut self,
        gpu: &Gpu,
        wait: Wait,
        submitted: &Submitted,
        what: &str,
    ) -> Result<(), GpuError> {
        if let State::Copied(mapping) = std::mem::replace(&mut self.state, State::Written) {
            mapping.finish(gpu, wait, Some(submitted), what).await?;
            self.state = State::Mapped;
        }
        Ok(())
    }
}

/// Readback path of an output.
#[derive(Debug)]
pub struct Readback {
    buffer: StagingBuffer,
    mapping: Option<Mapping>,
    layout: Arc<HostLayout>,
}

impl Readback {
    /// Creates the readback of an output; `what` names it in errors.
    pub(super) fn new(
        gpu: &Gpu,
        staging: &Arc<Staging>,
        what: &str,
        layout: &Arc<HostLayout>,
    ) -> Result<Self, GpuError> {
        let buffer = staging.readback(gpu, what, layout.spec.bytes())?;
        Ok(Self { buffer, mapping: None, layout: Arc::clone(layout) })
    }

    /// Encodes a copy of the texture. It can be read after the encoder was submitted and the device is done.
    pub(super) fn encode(&mut self, texture: &wgpu::Texture, encoder: &mut wgpu::CommandEncoder) {
        let buffer = &self.buffer.buffer;
        let size = extent(self.layout.spec);
        encoder.copy_texture_to_buffer(texture.as_image_copy(), in_buffer(buffer, self.layout.spec), size);
        self.mapping = Some(Mapping::on_submit(encoder, buffer, wgpu::MapMode::Read));
    }

    /// Returns the number of values.
    pub fn value_count(&self) -> usize {
        self.layout.shape.len()
    }

    /// Waits for the values and writes them to `values`, dense and in the file's order.
    pub async fn finish(
        mut self,
        gpu: &Gpu,
        wait: Wait,
        submitted: Option<&Submitted>,
        what: &str,
        values: &mut [f32],
    ) -> Result<(), GpuError> {
        if let Some(mapping) = self.mapping.take() {
            mapping.finish(gpu, wait, submitted, what).await?;
        }
        let view = self.buffer.buffer.get_mapped_range(..).map_err(|error| gpu.unmapped(error))?;
        self.layout.unpack(&view, values);
        drop(view);
        self.buffer.buffer.unmap();
        self.buffer.keep();
        Ok(())
    }
}
