//! A program: dispatches bound to textures, ready to be encoded run after run.

use std::ops::Range;

use super::{Gpu, GpuError, Pipelines, Role, Table, TextureSet};
use crate::{
    kernels::Dispatch,
    plan::{TexelFormat, TextureSpec},
};

/// Dispatches over a texture set, in order.
#[derive(Debug)]
pub struct Program {
    bound: Vec<Bound>,
}

#[derive(Debug)]
struct Bound {
    label: &'static str,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    grid: [u32; 2],
}

impl Program {
    /// Compiles and binds the dispatches. Bindings that a dispatch leaves open get a texture of one texel.
    ///
    /// # Errors
    /// What the device says, a limit that is exceeded, [`GpuError::Texture`] where dispatches were made for other
    /// textures.
    pub fn new(
        gpu: &Gpu,
        textures: &mut TextureSet,
        pipelines: &mut Pipelines,
        format: TexelFormat,
        dispatches: &[Dispatch],
    ) -> Result<Self, GpuError> {
        let spare = textures.create("spare", TextureSpec { width: 1, height: 1, format }, Role::Pool)?;
        let mut uniform = upload(gpu, Table::Uniform, dispatches)?.into_iter();
        let mut storage = upload(gpu, Table::Storage, dispatches)?.into_iter();
        let mut bound = Vec::with_capacity(dispatches.len());
        for dispatch in dispatches {
            // Nothing checks while it runs: what its words were written for is what it must be bound to.
            for reach in &dispatch.reach {
                textures.must_hold(reach)?;
            }
            let table = Table::for_words(dispatch.words.len());
            let words = match table {
                Table::Uniform => uniform.next(),
                Table::Storage => storage.next(),
            };
            let Some(words) = words else { continue };
            let pipeline = pipelines.get(dispatch.shader, &dispatch.constants, table)?;
            let entry = |binding, texture: Option<usize>| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::TextureView(textures.view(texture.unwrap_or(spare))),
            };
            let group = gpu.scoped(&format!("binding {}", dispatch.shader.name()), || {
                gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(dispatch.shader.name()),
                    layout: pipelines.layout(table),
                    entries: &[
                        wgpu::BindGroupEntry { binding: 0, resource: words.binding() },
                        entry(1, Some(dispatch.output)),
                        entry(2, dispatch.input),
                        entry(3, dispatch.weights),
                        entry(4, dispatch.second),
                    ],
                })
            })?;
            bound.push(Bound { label: dispatch.shader.name(), pipeline, group, grid: dispatch.grid() });
        }
        Ok(Self { bound })
    }

    /// Number of dispatches.
    pub fn len(&self) -> usize {
        self.bound.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// The shader family of each dispatch.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.bound.iter().map(|dispatch| dispatch.label)
    }

    /// Encodes every dispatch into one pass.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder, timestamps: Option<wgpu::ComputePassTimestampWrites<'_>>) {
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("texpool"), timestamp_writes: timestamps });
        for dispatch in &self.bound {
            dispatch.encode(&mut pass);
        }
    }

    /// Encodes each dispatch into a pass of its own with two timestamps of `queries`, two after two.
    pub fn encode_timed(&self, encoder: &mut wgpu::CommandEncoder, queries: &wgpu::QuerySet) {
        for (dispatch, i) in self.bound.iter().zip(0u32..) {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(dispatch.label),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: queries,
                    beginning_of_pass_write_index: Some(2 * i),
                    end_of_pass_write_index: Some(2 * i + 1),
                }),
            });
            dispatch.encode(&mut pass);
        }
    }

    /// Runs some of the dispatches once, each in a pass of its own, and waits.
    ///
    /// # Errors
    /// What the device says.
    pub fn run(&self, gpu: &Gpu, which: Range<usize>) -> Result<(), GpuError> {
        gpu.scoped("running", || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for dispatch in self.bound.get(which).into_iter().flatten() {
                dispatch.encode(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
            }
            gpu.queue.submit([encoder.finish()]);
        })?;
        gpu.wait()
    }
}

impl Bound {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.grid[0], self.grid[1], 1);
    }
}

/// A dispatch's words: a range of a buffer that holds those of many.
struct Words {
    buffer: wgpu::Buffer,
    offset: u64,
    size: u64,
}

impl Words {
    fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: self.offset,
            size: std::num::NonZeroU64::new(self.size),
        })
    }
}

/// Uploads the words of all dispatches that use `table`, in one buffer.
fn upload(gpu: &Gpu, table: Table, dispatches: &[Dispatch]) -> Result<Vec<Words>, GpuError> {
    let limits = gpu.device.limits();
    let (align, usage) = match table {
        Table::Uniform => (limits.min_uniform_buffer_offset_alignment, wgpu::BufferUsages::UNIFORM),
        Table::Storage => (limits.min_storage_buffer_offset_alignment, wgpu::BufferUsages::STORAGE),
    };
    let mut all: Vec<u32> = Vec::new();
    let mut ranges = Vec::new();
    for words in dispatches.iter().map(|d| &d.words).filter(|words| Table::for_words(words.len()) == table) {
        all.resize(all.len().next_multiple_of(align as usize / 4), 0);
        // The uniform array has a fixed length, whatever is used of it.
        let length = if table == Table::Uniform { Table::UNIFORM_WORDS } else { words.len().next_multiple_of(4) };
        ranges.push((all.len() as u64 * 4, length as u64 * 4));
        all.extend_from_slice(words);
    }
    let Some(&(last, length)) = ranges.last() else { return Ok(Vec::new()) };
    all.resize((last + length) as usize / 4, 0);
    let needed = ranges.iter().map(|r| r.1).max().unwrap_or(0);
    let allowed = limits.max_storage_buffer_binding_size;
    if table == Table::Storage && needed > allowed {
        let what = "a step's row tables".to_owned();
        return Err(GpuError::Limit { what, limit: "maxStorageBufferBindingSize", needed, allowed });
    }
    let buffer = gpu.scoped("uploading row tables", || {
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tables"),
            size: all.len() as u64 * 4,
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&all));
        buffer
    })?;
    Ok(ranges.into_iter().map(|(offset, size)| Words { buffer: buffer.clone(), offset, size }).collect())
}
