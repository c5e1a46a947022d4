//! Copies of a tensor on the device between two textures in which its elements have different places.

use super::{
    Gpu, GpuError,
    allocations::{Allocations, TABLES},
    pack::lane,
    pipelines::checked_pipeline,
    staging::HostLayout,
    tensor_memory::wgsl_name,
};
use texpool_plan::TexelFormat;

/// Text of the kernel, without the declarations of its types.
const KERNEL: &str = include_str!("rearrange.wgsl");
/// Marks a lane without an element.
const NONE: u32 = u32::MAX;
/// Texels of a workgroup.
const GROUP: u32 = 64;
/// Name of such a copy in errors and labels.
const WHAT: &str = "rearranging a carried value";

/// A copy of a tensor into a texture with another layout. Its resources are created at the first use.
#[derive(Debug)]
pub(super) struct Rearrangement {
    from: HostLayout,
    to: HostLayout,
    resources: Option<Resources>,
}

#[derive(Debug)]
struct Resources {
    sources: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    /// The bind group of the textures that were used last.
    bound: Option<([wgpu::Texture; 2], wgpu::BindGroup)>,
}

impl Rearrangement {
    pub(super) const fn new(from: HostLayout, to: HostLayout) -> Self {
        Self { from, to, resources: None }
    }

    /// Returns the size of its table on the device in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.resources.as_ref().map_or(0, |resources| resources.sources.size())
    }

    /// Releases its device memory.
    pub(super) fn trim(&mut self) {
        self.resources = None;
    }

    /// Creates what [`encode`](Self::encode) needs to copy between these textures.
    pub(super) fn prepare(
        &mut self,
        gpu: &Gpu,
        allocations: &Allocations,
        textures: [&wgpu::Texture; 2],
    ) -> Result<(), GpuError> {
        let resources = match self.resources.take() {
            Some(resources) => self.resources.insert(resources),
            None => {
                let created = self.create(gpu, allocations)?;
                self.resources.insert(created)
            }
        };
        if resources.bound.as_ref().is_some_and(|(bound, _)| bound.each_ref() == textures) {
            return Ok(());
        }
        let group = gpu.scoped(WHAT, || {
            let [from, to] = textures.map(|texture| texture.create_view(&wgpu::TextureViewDescriptor::default()));
            let view =
                |binding, view| wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::TextureView(view) };
            let sources = wgpu::BindGroupEntry { binding: 0, resource: resources.sources.as_entire_binding() };
            gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(WHAT),
                layout: &resources.pipeline.get_bind_group_layout(0),
                entries: &[sources, view(1, &from), view(2, &to)],
            })
        })?;
        resources.bound = Some((textures.map(Clone::clone), group));
        Ok(())
    }

    /// Encodes the copy between the textures that were prepared last.
    pub(super) fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let Some(Resources { pipeline, bound: Some((_, group)), .. }) = &self.resources else { return };
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.dispatch_workgroups(self.to.spec.width.div_ceil(GROUP), self.to.spec.height, 1);
    }

    fn create(&self, gpu: &Gpu, allocations: &Allocations) -> Result<Resources, GpuError> {
        let sources = self.sources();
        let bytes: &[u8] = bytemuck::cast_slice(&sources);
        let label = allocations.label(TABLES);
        let buffer = gpu.buffer(
            WHAT,
            &wgpu::BufferDescriptor {
                label: Some(&label),
                size: bytes.len() as u64,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: true,
            },
        )?;
        buffer.get_mapped_range_mut(..).map_err(|error| gpu.unmapped(error))?.copy_from_slice(bytes);
        buffer.unmap();
        let pipeline = checked_pipeline(gpu, WHAT, source(self.to.spec.format))?;
        Ok(Resources { sources: buffer, pipeline, bound: None })
    }

    /// Returns the source lane of each lane of the written texture.
    fn sources(&self) -> Vec<[u32; 4]> {
        let Self { from, to, .. } = self;
        let mut sources = vec![[NONE; 4]; to.spec.width as usize * to.spec.height as usize];
        for element in 0..to.shape.len() {
            let [source, written] = [from, to].map(|layout| {
                let place = layout.permutation.place(element);
                lane(layout.shape, layout.storage, place / layout.shape.c, place % layout.shape.c)
            });
            sources[written / 4][written % 4] = source as u32;
        }
        sources
    }
}

/// Returns the whole shader for texels of a format.
fn source(format: TexelFormat) -> String {
    let name = wgsl_name(format);
    let scalar = if matches!(format, TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint) { "u32" } else { "f32" };
    format!(
        "alias Readable = texture_storage_2d<{name}, read>;\nalias Writable = texture_storage_2d<{name}, write>;\n\
         alias Lane = {scalar};\n{KERNEL}"
    )
}
