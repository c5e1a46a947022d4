//! The params of a program's dispatches: one buffer for those that fit into uniform memory, one for the others.

use std::num::NonZeroU64;

use super::{Gpu, GpuError, ParamBinding};
use crate::kernels::Dispatch;

/// A dispatch's params: a range of a buffer that holds those of many.
#[derive(Debug)]
pub(super) struct ParamRange {
    pub(super) binding: ParamBinding,
    buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

impl ParamRange {
    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: NonZeroU64::new(self.size),
        })
    }
}

/// A buffer of parameters while it is put together.
struct ParamBuffer {
    binding: ParamBinding,
    align: usize,
    params: Vec<u32>,
    /// Words that must be there for the last range to lie inside.
    end: usize,
}

impl ParamBuffer {
    fn new(binding: ParamBinding, limits: &wgpu::Limits) -> Self {
        let align = match binding {
            ParamBinding::Uniform => limits.min_uniform_buffer_offset_alignment,
            ParamBinding::Storage => limits.min_storage_buffer_offset_alignment,
        };
        Self { binding, align: align as usize / 4, params: Vec::new(), end: 0 }
    }

    /// Appends params and answers where their range begins and how long it is, in bytes.
    fn push(&mut self, params: &[u32]) -> [u64; 2] {
        let begin = self.params.len().next_multiple_of(self.align.max(1));
        self.params.resize(begin, 0);
        self.params.extend_from_slice(params);
        // WGSL gives arrays in uniform memory a fixed length, and a binding must cover all of it.
        let length = if self.binding == ParamBinding::Uniform {
            ParamBinding::UNIFORM_PARAMS
        } else {
            // In storage memory it is an array of vectors of four words.
            params.len().next_multiple_of(4)
        };
        // Ranges may overlap, since no shader reads behind its own params: only the end of the last one counts.
        self.end = begin + length;
        [begin, length].map(|params| params as u64 * 4)
    }

    fn upload(mut self, gpu: &Gpu, label: &str) -> Result<Option<wgpu::Buffer>, GpuError> {
        if self.params.is_empty() {
            return Ok(None);
        }
        self.params.resize(self.end, 0);
        let usage = if self.binding == ParamBinding::Uniform {
            wgpu::BufferUsages::UNIFORM
        } else {
            wgpu::BufferUsages::STORAGE
        };
        let buffer = gpu.buffer(
            "row tables",
            &wgpu::BufferDescriptor {
                label: Some(label),
                size: self.params.len() as u64 * 4,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            },
        )?;
        gpu.scoped("uploading row tables", || gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&self.params)))?;
        Ok(Some(buffer))
    }
}

/// Uploads the params of all dispatches into buffers of that label. Answers where each one's lie, in their order, and the
/// bytes of the buffers.
pub(super) fn upload(gpu: &Gpu, label: &str, dispatches: &[Dispatch]) -> Result<(Vec<ParamRange>, u64), GpuError> {
    let limits = gpu.device.limits();
    let mut buffers = ParamBinding::ALL.map(|binding| ParamBuffer::new(binding, &limits));
    let mut ranges = Vec::with_capacity(dispatches.len());
    for dispatch in dispatches {
        let binding = ParamBinding::for_params(dispatch.params.len());
        let [offset, size] = buffers[binding as usize].push(&dispatch.params);
        let allowed = limits.max_storage_buffer_binding_size;
        if binding == ParamBinding::Storage && size > allowed {
            let what = format!("row tables of a step ({})", dispatch.shader.name());
            return Err(GpuError::Limit { what, limit: "maxStorageBufferBindingSize", needed: size, allowed });
        }
        ranges.push((binding, offset, size));
    }
    let [uniform, storage] = buffers.map(|buffer| buffer.upload(gpu, label));
    let buffers = [uniform?, storage?];
    let bytes = buffers.iter().flatten().map(wgpu::Buffer::size).sum();
    let params = |(binding, offset, size)| {
        let buffer = buffers[binding as usize].clone();
        let missing = || GpuError::Refused { doing: "binding row tables".into(), reason: "they have no buffer".into() };
        Ok(ParamRange { binding, buffer: buffer.ok_or_else(missing)?, offset, size })
    };
    let ranges = ranges.into_iter().map(params).collect::<Result<_, GpuError>>()?;
    Ok((ranges, bytes))
}
