//! Pipelines: compiled once, shared by all dispatches that agree on shader and constants.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use super::{Gpu, GpuError, textures::texture_format};
use crate::{
    kernels::{Constants, Shader},
    plan::TexelFormat,
};

/// Where a dispatch's words lie: uniform memory is cheapest, storage memory has room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// At most [`Table::UNIFORM_WORDS`].
    Uniform,
    /// As many as a storage buffer holds.
    Storage,
}

impl Table {
    /// Words of the uniform array in `shaders/table_uniform.wgsl`.
    pub const UNIFORM_WORDS: usize = 16384;

    /// The table for a dispatch of so many words.
    pub const fn for_words(words: usize) -> Self {
        if words <= Self::UNIFORM_WORDS { Self::Uniform } else { Self::Storage }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Uniform => include_str!("../../shaders/table_uniform.wgsl"),
            Self::Storage => include_str!("../../shaders/table_storage.wgsl"),
        }
    }
}

/// The whole WGSL of a pipeline: the shared parts and the family, one after another.
pub fn source(shader: Shader, format: TexelFormat, table: Table) -> String {
    let format = match format {
        TexelFormat::Rgba32Float => include_str!("../../shaders/format_f32.wgsl"),
        TexelFormat::Rgba16Float => include_str!("../../shaders/format_f16.wgsl"),
    };
    [table.source(), format, include_str!("../../shaders/texel.wgsl"), shader.source].concat()
}

/// What tells pipelines apart. Constants by name and bits.
type Key = (Shader, Table, Vec<(&'static str, u64)>);
type DeviceKey = (wgpu::Device, TexelFormat, Key);

/// Pipelines that sessions share: who runs many models on a device compiles each kernel once. Clones hold the same
/// pipelines; they live as long as the last of them.
#[derive(Clone, Debug, Default)]
pub struct PipelineCache {
    made: Arc<Mutex<HashMap<DeviceKey, wgpu::ComputePipeline>>>,
}

impl PipelineCache {
    fn get(&self, gpu: &Gpu, format: TexelFormat, key: &Key) -> Option<wgpu::ComputePipeline> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(&(gpu.device.clone(), format, key.clone())).cloned()
    }

    fn keep(&self, gpu: &Gpu, format: TexelFormat, key: &Key, pipeline: &wgpu::ComputePipeline) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert((gpu.device.clone(), format, key.clone()), pipeline.clone());
    }
}

/// A pipeline that was made: what another compiler would need to make it again.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineRecipe {
    /// The shader family.
    pub shader: Shader,
    /// Texel format of its textures.
    pub format: TexelFormat,
    /// Where its words lie.
    pub table: Table,
    /// Its `override` constants.
    pub constants: Constants,
}

impl PipelineRecipe {
    /// The whole WGSL.
    pub fn source(&self) -> String {
        source(self.shader, self.format, self.table)
    }
}

/// The pipelines of one device and format.
#[derive(Debug)]
pub struct Pipelines {
    gpu: Gpu,
    format: TexelFormat,
    layouts: [wgpu::BindGroupLayout; 2],
    modules: BTreeMap<(Shader, Table), wgpu::ShaderModule>,
    made: BTreeMap<Key, wgpu::ComputePipeline>,
    cache: PipelineCache,
}

impl Pipelines {
    /// No pipeline yet.
    ///
    /// # Errors
    /// What the device says of the bind group layouts.
    pub fn new(gpu: &Gpu, format: TexelFormat) -> Result<Self, GpuError> {
        Self::with_cache(gpu, format, PipelineCache::default())
    }

    /// No pipeline yet, but those of a cache at hand.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_cache(gpu: &Gpu, format: TexelFormat, cache: PipelineCache) -> Result<Self, GpuError> {
        let layouts = gpu.scoped("creating bind group layouts", || {
            [Table::Uniform, Table::Storage].map(|table| bind_group_layout(gpu, format, table))
        })?;
        Ok(Self { gpu: gpu.clone(), format, layouts, modules: BTreeMap::new(), made: BTreeMap::new(), cache })
    }

    /// The pipelines made.
    pub fn recipes(&self) -> Vec<PipelineRecipe> {
        let recipe = |(shader, table, constants): &Key| PipelineRecipe {
            shader: *shader,
            format: self.format,
            table: *table,
            constants: constants.iter().map(|&(name, bits)| (name, f64::from_bits(bits))).collect(),
        };
        self.made.keys().map(recipe).collect()
    }

    pub(super) fn layout(&self, table: Table) -> &wgpu::BindGroupLayout {
        &self.layouts[table as usize]
    }

    /// The pipeline of a shader with these constants, made if it is the first of its kind.
    pub(super) fn get(
        &mut self,
        shader: Shader,
        constants: &Constants,
        table: Table,
    ) -> Result<wgpu::ComputePipeline, GpuError> {
        let mut bits: Vec<_> = constants.iter().map(|&(name, value)| (name, value.to_bits())).collect();
        bits.sort_unstable();
        let key = (shader, table, bits);
        if let Some(pipeline) = self.made.get(&key) {
            return Ok(pipeline.clone());
        }
        if let Some(pipeline) = self.cache.get(&self.gpu, self.format, &key) {
            self.made.insert(key, pipeline.clone());
            return Ok(pipeline);
        }
        let module = match self.modules.get(&(shader, table)) {
            Some(module) => module.clone(),
            None => {
                let made = self.gpu.scoped(&format!("compiling shader {}", shader.name), || {
                    trusted_module(&self.gpu.device, shader.name, source(shader, self.format, table))
                })?;
                self.modules.insert((shader, table), made.clone());
                made
            }
        };
        let pipeline = self.gpu.scoped(&format!("creating pipeline {} {constants:?}", shader.name), || {
            let layout = self.gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(shader.name),
                bind_group_layouts: &[Some(self.layout(table))],
                immediate_size: 0,
            });
            self.gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(shader.name),
                layout: Some(&layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants,
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        })?;
        self.cache.keep(&self.gpu, self.format, &key, &pipeline);
        self.made.insert(key, pipeline.clone());
        Ok(pipeline)
    }
}

fn bind_group_layout(gpu: &Gpu, format: TexelFormat, table: Table) -> wgpu::BindGroupLayout {
    let texture = |binding, access| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::StorageTexture {
            access,
            format: texture_format(format),
            view_dimension: wgpu::TextureViewDimension::D2,
        },
        count: None,
    };
    let words = wgpu::BindGroupLayoutEntry {
        binding: 0,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match table {
                Table::Uniform => wgpu::BufferBindingType::Uniform,
                Table::Storage => wgpu::BufferBindingType::Storage { read_only: true },
            },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    let read = wgpu::StorageTextureAccess::ReadOnly;
    gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("texpool"),
        entries: &[
            words,
            texture(1, wgpu::StorageTextureAccess::WriteOnly),
            texture(2, read),
            texture(3, read),
            texture(4, read),
        ],
    })
}

/// Compiles WGSL of our own without run-time checks.
#[expect(unsafe_code, reason = "only shaders of this package come here: their loops end, their divisors are not zero")]
fn trusted_module(device: &wgpu::Device, label: &str, source: String) -> wgpu::ShaderModule {
    let descriptor =
        wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(source.into()) };
    // SAFETY: the source is one of this package's kernels. Their loops are bounded by extents that the planner checked,
    // their divisors are extents, never zero, and they index no array but the table.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}
