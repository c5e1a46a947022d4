//! Buffers that values of inputs and outputs go through between host and device.

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
use crate::{
    graph::{LayoutPermutation, Shape},
    plan::TextureSpec,
};

/// How a tensor of the caller's lies in its texture.
#[derive(Clone, Debug)]
pub(super) struct HostLayout {
    pub(super) shape: Shape,
    pub(super) permutation: LayoutPermutation,
    /// A texture whose rows are a multiple of 256 bytes.
    pub(super) spec: TextureSpec,
}

impl HostLayout {
    pub(super) fn pack(&self, values: &[f32], bytes: &mut [u8]) {
        pack(&self.permutation.from_file(values), self.shape, self.spec.format, bytes);
    }

    pub(super) fn unpack(&self, bytes: &[u8], values: &mut [f32]) {
        unpack(bytes, self.shape, self.spec.format, values);
        if !self.permutation.is_file_order() {
            let filed = self.permutation.to_file(values).into_owned();
            values.copy_from_slice(&filed);
        }
    }
}

/// The staging buffers of a session: how many bytes there are, and those that nobody uses now.
#[derive(Debug)]
pub(super) struct Staging {
    allocations: Arc<Allocations>,
    bytes: AtomicU64,
    /// Of readbacks, unmapped.
    free: Mutex<Vec<wgpu::Buffer>>,
}

impl Staging {
    pub(super) fn new(allocations: Arc<Allocations>) -> Arc<Self> {
        Arc::new(Self { allocations, bytes: AtomicU64::new(0), free: Mutex::default() })
    }

    /// Bytes of all buffers, in use or free.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Drops the buffers that nobody uses.
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

    /// A mapped buffer to upload so many bytes of `what` through.
    pub(super) fn upload(self: &Arc<Self>, gpu: &Gpu, what: &str, size: u64) -> Result<StagingBuffer, GpuError> {
        self.create(gpu, what, size, wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC, true)
    }

    /// A buffer to read so many bytes of `what` through: one that is free, or a new one.
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

/// A buffer of a session's staging, which counts as long as it is there.
#[derive(Debug)]
pub(super) struct StagingBuffer {
    buffer: wgpu::Buffer,
    of: Arc<Staging>,
    /// Whether it goes back to those that are free: its state is known.
    kept: bool,
}

impl StagingBuffer {
    pub(super) const fn get(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Has it go back to those that are free. It must be one to read through, and unmapped.
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

/// What is known of an upload's buffer.
#[derive(Debug)]
enum State {
    /// The host may write it.
    Mapped,
    /// It was written, and no copy of it was encoded yet.
    Written,
    /// A copy was encoded; it is mapped again when the device is done with that.
    Copied(Mapping),
}

/// An input's way to its texture.
#[derive(Debug)]
pub(super) struct Upload {
    buffer: StagingBuffer,
    state: State,
    /// Zeroed once: packing writes the same lanes each time and leaves the others.
    bytes: Vec<u8>,
}

impl Upload {
    /// For the input called `what` in errors.
    pub(super) fn new(gpu: &Gpu, staging: &Arc<Staging>, what: &str, layout: &HostLayout) -> Result<Self, GpuError> {
        let size = layout.spec.bytes();
        Ok(Self { buffer: staging.upload(gpu, what, size)?, state: State::Mapped, bytes: vec![0; size as usize] })
    }

    /// Writes dense values in the file's order where the device will fetch them.
    pub(super) fn write(&mut self, gpu: &Gpu, what: &str, layout: &HostLayout, values: &[f32]) -> Result<(), GpuError> {
        layout.pack(values, &mut self.bytes);
        let mapped = match &mut self.state {
            State::Mapped => true,
            State::Written => false,
            State::Copied(mapping) => mapping.is_mapped() == Some(true),
        };
        if !mapped {
            // The device may still fetch from it, or nobody knows.
            let size = self.buffer.buffer.size();
            self.buffer = self.buffer.of.upload(gpu, what, size)?;
        }
        // Until it is unmapped nothing is known of it.
        self.state = State::Written;
        self.buffer.buffer.get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?.copy_from_slice(&self.bytes);
        self.buffer.buffer.unmap();
        Ok(())
    }

    /// Copies what was written to the texture, and has the buffer mapped again after that.
    pub(super) fn encode(&mut self, layout: &HostLayout, texture: &wgpu::Texture, encoder: &mut wgpu::CommandEncoder) {
        let buffer = &self.buffer.buffer;
        encoder.copy_buffer_to_texture(in_buffer(buffer, layout.spec), texture.as_image_copy(), extent(layout.spec));
        self.state = State::Copied(Mapping::on_submit(encoder, buffer, wgpu::MapMode::Write));
    }

    /// Waits until the host may write again. What was `submitted` must hold the copy.
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

/// An output's way from its texture.
#[derive(Debug)]
pub(crate) struct Readback {
    buffer: StagingBuffer,
    mapping: Option<Mapping>,
    layout: HostLayout,
}

impl Readback {
    /// Of the output called `what` in errors.
    pub(super) fn new(gpu: &Gpu, staging: &Arc<Staging>, what: &str, layout: &HostLayout) -> Result<Self, GpuError> {
        let buffer = staging.readback(gpu, what, layout.spec.bytes())?;
        Ok(Self { buffer, mapping: None, layout: layout.clone() })
    }

    /// Copies the texture, to be read once the encoder was submitted and the device is done.
    pub(super) fn encode(&mut self, texture: &wgpu::Texture, encoder: &mut wgpu::CommandEncoder) {
        let buffer = &self.buffer.buffer;
        let size = extent(self.layout.spec);
        encoder.copy_texture_to_buffer(texture.as_image_copy(), in_buffer(buffer, self.layout.spec), size);
        self.mapping = Some(Mapping::on_submit(encoder, buffer, wgpu::MapMode::Read));
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.layout.shape.len()
    }

    /// Waits for the values and writes them, dense and in the file's order.
    pub(crate) async fn finish(
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
