//! A program: dispatches bound to textures, ready to be encoded run after run.

use std::ops::Range;

use super::{Gpu, GpuError, Pipelines, Role, TextureSet, params};
use crate::{
    kernels::Dispatch,
    plan::{TexelFormat, TextureSpec},
};

/// Dispatches over a texture set, in order.
#[derive(Debug)]
pub struct Program {
    bound: Vec<Bound>,
    table_bytes: u64,
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
        let (params, table_bytes) = params::upload(gpu, &textures.allocations().label("tables"), dispatches)?;
        let mut bound = Vec::with_capacity(dispatches.len());
        for (dispatch, params) in dispatches.iter().zip(&params) {
            let name = dispatch.shader.name();
            // Shaders run without bounds checks, so the textures must be those that the parameters were written for.
            for reach in &dispatch.reach {
                textures.check_reach(reach)?;
            }
            let pipeline = pipelines.get(dispatch.shader, &dispatch.constants, params.binding)?;
            let entry = |binding, texture: Option<usize>| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::TextureView(textures.view(texture.unwrap_or(spare))),
            };
            let group = gpu.scoped(&format!("binding {name}"), || {
                gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(name),
                    layout: pipelines.layout(params.binding),
                    entries: &[
                        wgpu::BindGroupEntry { binding: 0, resource: params.binding() },
                        entry(1, Some(dispatch.output)),
                        entry(2, dispatch.input),
                        entry(3, dispatch.weights),
                        entry(4, dispatch.second),
                    ],
                })
            })?;
            bound.push(Bound { label: name, pipeline, group, grid: dispatch.grid() });
        }
        Ok(Self { bound, table_bytes })
    }

    /// Number of dispatches.
    pub fn len(&self) -> usize {
        self.bound.len()
    }

    /// Bytes of the buffers that hold the dispatches' params.
    pub(super) const fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// The kernel of each dispatch.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.bound.iter().map(|dispatch| dispatch.label)
    }

    /// Encodes every dispatch into one pass.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder, timestamps: Option<wgpu::ComputePassTimestampWrites<'_>>) {
        // One pass for all: each dispatch is a usage scope of its own, so wgpu puts barriers between them.
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("texpool"), timestamp_writes: timestamps });
        for dispatch in &self.bound {
            dispatch.encode(&mut pass);
        }
    }

    /// Encodes some of the dispatches, each into a pass of its own with two timestamps of `queries`, two after two.
    pub(super) fn encode_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        which: Range<usize>,
        queries: &wgpu::QuerySet,
    ) {
        for (dispatch, i) in self.bound.get(which).into_iter().flatten().zip(0u32..) {
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
        let submission = gpu.scoped("running", || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for dispatch in self.bound.get(which).into_iter().flatten() {
                dispatch.encode(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        gpu.wait(&submission, "some steps of the model")
    }
}

impl Bound {
    fn encode(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(self.grid[0], self.grid[1], 1);
    }
}
