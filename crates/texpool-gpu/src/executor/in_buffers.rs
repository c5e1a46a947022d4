//! A model in storage buffers instead of textures, to compare both.

use std::collections::{HashMap, hash_map::Entry};

use super::Executor;
use crate::{
    Gpu, GpuError, Pipelines, Program, SharedPipelines, TextureSet,
    allocations::POOL,
    pipelines::checked_pipeline,
    resident::Resident,
    tensor_memory::{HALVES, MemoryKind, stored_type, wgsl_name},
    textures::decode,
    wait::{Mapping, Wait, now},
};
use texpool_plan::TexelFormat;

/// Name of these runs in errors.
const WHAT: &str = "a run for a comparison of textures and buffers";
/// Kernel that copies textures to buffers, without the declarations of its types.
const COPY: &str = include_str!("../copy_texels.wgsl");
/// Workgroups in a row of the copy's grid, and texels of a workgroup.
const COPY_ROW: u32 = 1024;
const COPY_GROUP: u32 = 64;

/// The dispatches of a compiled model over storage buffers that hold the texels of its textures. They are read and
/// written by index, and everything else stays the same: plan, kernels, parameters and uploads. Results have the same bits,
/// except with 16-bit texels on drivers that do not round stores to the nearest value.
#[derive(Debug)]
pub struct InBuffers {
    program: Program,
    buffers: Vec<wgpu::Buffer>,
}

/// Comparison of the memory after runs of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryComparison {
    /// Texels of the pool, and of inputs and outputs that have textures.
    pub texels: u64,
    /// Texels among them whose bits differ.
    pub different: u64,
}

impl Executor {
    /// Copies all textures to storage buffers and prepares the same dispatches for them. The model must have been run.
    ///
    /// # Errors
    /// [`GpuError::Limit`] if a texture has more bytes than a storage buffer may have, and errors of the device.
    pub fn in_buffers(&mut self) -> Result<InBuffers, GpuError> {
        now(self.settle(Wait::Block))?;
        now(self.restore(Wait::Block))?;
        self.bind()?;
        let Self { gpu, compiled, resident, .. } = self;
        let Some(held) = resident else { return Err(GpuError::Trimmed) };
        let dispatches = held.placed(compiled).commands(&held.places, None, false, u64::MAX)?.dispatches;
        let buffers = copied(gpu, &held.textures)?;
        let format = compiled.format();
        let mut pipelines = Pipelines::in_memory(MemoryKind::Buffers, gpu, format, SharedPipelines::default())?;
        let textures = &mut held.textures;
        let program = Program::in_buffers(gpu, (textures, &buffers), &mut pipelines, format, &dispatches)?;
        Ok(InBuffers { program, buffers })
    }

    /// Repeats the dispatches of the last run and the uploads between them, reads no output, and waits.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn repeat(&mut self) -> Result<(), GpuError> {
        let held = self.resident.as_ref().ok_or(GpuError::Trimmed)?;
        let run = held.run(&self.inputs);
        repeat(&self.gpu, &held.program, held, &|before| held.streamed.write(&self.gpu, before, &run))
    }
}

impl InBuffers {
    /// Does the same as [`Executor::repeat`] in the buffers. `executor` is the one that they were made of.
    ///
    /// # Errors
    /// As [`Executor::repeat`].
    pub fn repeat(&self, executor: &Executor) -> Result<(), GpuError> {
        let held = executor.resident.as_ref().ok_or(GpuError::Trimmed)?;
        let (gpu, run) = (&executor.gpu, held.run(&executor.inputs));
        let write = |before| held.streamed.write_to_buffers(gpu, before, &run, &self.buffers);
        repeat(gpu, &self.program, held, &write)
    }

    /// Compares all memory but weights, which is equal if both did the same since the copy.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn compare(&self, executor: &Executor) -> Result<MemoryComparison, GpuError> {
        let held = executor.resident.as_ref().ok_or(GpuError::Trimmed)?;
        let pool = 0..executor.compiled.plan().textures.len();
        let ports = held.first_port..held.first_port + executor.inputs.len() + executor.outputs.len();
        let mut comparison = MemoryComparison::default();
        for index in pool.chain(ports) {
            let (texture, spec) = (held.textures.texture(index), held.textures.spec(index));
            // A streamed input or output has no texture.
            if (texture.width(), texture.height()) != (spec.width, spec.height) {
                continue;
            }
            let there = held.textures.read(index)?;
            let here = read(&executor.gpu, &self.buffers[index], spec.format)?;
            let bits = |texel: &[f32; 4]| texel.map(f32::to_bits);
            comparison.texels += there.len() as u64;
            comparison.different += there.iter().zip(&here).filter(|(a, b)| bits(a) != bits(b)).count() as u64;
        }
        Ok(comparison)
    }
}

/// Submits the dispatches in pieces, calls `write` ahead of each upload, and waits.
fn repeat(
    gpu: &Gpu,
    program: &Program,
    held: &Resident,
    write: &dyn Fn(usize) -> Result<(), GpuError>,
) -> Result<(), GpuError> {
    let mut borders: Vec<usize> = held.streamed.borders().collect();
    borders.dedup();
    borders.push(program.len());
    let (mut first, mut submitted) = (0, None);
    for border in borders {
        if first < border {
            submitted = Some(gpu.scoped(WHAT, || {
                let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                program.encode_some(&mut encoder, first..border);
                gpu.submit([encoder.finish()])
            })?);
            first = border;
        }
        if border < program.len() {
            write(border)?;
        }
    }
    submitted.map_or(Ok(()), |submitted| now(gpu.done(Wait::Block, &submitted, WHAT)))
}

/// Returns a buffer with the texels of each texture of a set.
fn copied(gpu: &Gpu, textures: &TextureSet) -> Result<Vec<wgpu::Buffer>, GpuError> {
    let allowed = gpu.device.limits().max_storage_buffer_binding_size;
    let mut pipelines: HashMap<TexelFormat, wgpu::ComputePipeline> = HashMap::new();
    let mut buffers = Vec::new();
    for index in 0..textures.len() {
        let (texture, format) = (textures.texture(index), textures.spec(index).format);
        let texels = u64::from(texture.width()) * u64::from(texture.height());
        let size = texels * format.texel_bytes();
        if size > allowed {
            let (what, limit) = (format!("a storage buffer for texture {index}"), "maxStorageBufferBindingSize");
            return Err(GpuError::Limit { what, node: None, limit, needed: size, allowed });
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let label = textures.allocations().label(&format!("{POOL} {index} as a buffer"));
        let descriptor = wgpu::BufferDescriptor { label: Some(&label), size, usage, mapped_at_creation: false };
        let buffer = gpu.buffer(WHAT, &descriptor)?;
        let pipeline = match pipelines.entry(format) {
            Entry::Occupied(compiled) => compiled.into_mut(),
            Entry::Vacant(missing) => missing.insert(copy_pipeline(gpu, format)?),
        };
        let submitted = gpu.scoped(WHAT, || {
            let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(WHAT),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &[
                    wgpu::BindGroupEntry {
                        binding: 0,
                        resource: wgpu::BindingResource::TextureView(textures.view(index)),
                    },
                    wgpu::BindGroupEntry { binding: 1, resource: buffer.as_entire_binding() },
                ],
            });
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            let groups = texels.div_ceil(u64::from(COPY_GROUP)) as u32;
            pass.dispatch_workgroups(groups.min(COPY_ROW), groups.div_ceil(COPY_ROW), 1);
            drop(pass);
            gpu.submit([encoder.finish()])
        })?;
        now(gpu.done(Wait::Block, &submitted, WHAT))?;
        buffers.push(buffer);
    }
    Ok(buffers)
}

fn copy_pipeline(gpu: &Gpu, format: TexelFormat) -> Result<wgpu::ComputePipeline, GpuError> {
    let (stored, texel, halves) = match format {
        TexelFormat::Rgba32Float => ("texel", "vec4<f32>", ""),
        TexelFormat::Rgba32Uint => ("texel", "vec4<u32>", ""),
        TexelFormat::Rgba8Uint => ("pack4xU8(texel)", "vec4<u32>", ""),
        TexelFormat::Rgba16Float => ("to_halves(texel)", "vec4<f32>", HALVES),
    };
    let source = format!(
        "alias Stored = {};\n@group(0) @binding(0) var source: texture_storage_2d<{}, read>;\n\
         fn to_stored(texel: {texel}) -> Stored {{ return {stored}; }}\n{halves}{COPY}",
        stored_type(format),
        wgsl_name(format),
    );
    checked_pipeline(gpu, WHAT, source)
}

/// Reads the texels of a buffer.
fn read(gpu: &Gpu, buffer: &wgpu::Buffer, format: TexelFormat) -> Result<Vec<[f32; 4]>, GpuError> {
    let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
    let size = buffer.size();
    let descriptor = wgpu::BufferDescriptor { label: Some(WHAT), size, usage, mapped_at_creation: false };
    let copy = gpu.buffer(WHAT, &descriptor)?;
    let (submission, mapping) = gpu.scoped(WHAT, || {
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, size);
        let submitted = gpu.submit([encoder.finish()]);
        (submitted, Mapping::new(&copy, wgpu::MapMode::Read))
    })?;
    now(mapping.finish(gpu, Wait::Block, Some(&submission), WHAT))?;
    let view = copy.get_mapped_range(..).map_err(|error| gpu.unmapped(error))?;
    Ok(decode(format, &view))
}
