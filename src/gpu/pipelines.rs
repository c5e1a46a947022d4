//! Pipelines: compiled once, shared by all dispatches that agree on shader and constants.

use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    DispatchBinding, Gpu, GpuError, ParamBinding, param_binding,
    process::Process,
    texture_format::{WORDS, texture_format},
};
use crate::{
    kernels::{Constants, Shader},
    plan::TexelFormat,
};

/// The whole WGSL of a pipeline: where a dispatch's block lies and where what it alone is told, how values are stored, then
/// all that [`Shader::source`] names, one after another.
pub fn source(shader: Shader, format: TexelFormat, table: ParamBinding, own: DispatchBinding) -> String {
    let format = match format {
        TexelFormat::Rgba32Float => include_str!("../../shaders/shared/format_f32.wgsl"),
        TexelFormat::Rgba16Float => include_str!("../../shaders/shared/format_f16.wgsl"),
        TexelFormat::Rgba32Uint => include_str!("../../shaders/shared/format_words.wgsl"),
    };
    [&param_binding::declarations(table, own), format, &shader.source()].concat()
}

/// What tells pipelines apart. Constants by name and bits.
type Key = (Shader, ParamBinding, Vec<(&'static str, u64)>);
/// The device is named by [`Gpu::number`].
type DeviceKey = (u64, TexelFormat, Key);

/// Pipelines that sessions share: who runs many models on a device compiles each kernel once. Clones hold the same
/// pipelines; they live as long as the last of them.
#[derive(Clone, Debug, Default)]
pub struct SharedPipelines {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    process: Process,
    pipelines: Mutex<HashMap<DeviceKey, wgpu::ComputePipeline>>,
}

impl Default for Made {
    fn default() -> Self {
        Self { process: Process::current(), pipelines: Mutex::default() }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What a fork has of its parent's device is not touched.
        if self.process.was_forked() {
            mem::forget(mem::take(self.pipelines.get_mut().unwrap_or_else(PoisonError::into_inner)));
        }
    }
}

impl SharedPipelines {
    fn get(&self, key: &DeviceKey) -> Option<wgpu::ComputePipeline> {
        self.made.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn keep(&self, key: DeviceKey, pipeline: &wgpu::ComputePipeline) {
        self.made.pipelines.lock().unwrap_or_else(PoisonError::into_inner).insert(key, pipeline.clone());
    }
}

/// A pipeline that was made: what another compiler would need to make it again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PipelineRecipe {
    /// The kernel.
    pub shader: Shader,
    /// Texel format of its textures.
    pub format: TexelFormat,
    /// Where the blocks of its dispatches lie.
    pub table: ParamBinding,
    /// Where what each of them alone is told lies.
    pub own: DispatchBinding,
    /// Its `override` constants.
    pub constants: Constants,
}

impl PipelineRecipe {
    /// The whole WGSL.
    pub fn source(&self) -> String {
        source(self.shader, self.format, self.table, self.own)
    }
}

/// Whether a kernel counts what it clamps: values in 16 bits, indices in any format.
pub(super) fn counts(format: TexelFormat, shader: Shader) -> bool {
    format == TexelFormat::Rgba16Float || shader.is_counting()
}

/// The binding of the counts.
pub(super) const COUNTERS: u32 = 6;

/// What all pipelines have in common whose blocks lie in one kind of memory, whose weights are texels, or words, and which
/// count something, or nothing.
#[derive(Debug)]
struct Layouts {
    group: wgpu::BindGroupLayout,
    /// One for all, so that what is bound stays so from a pipeline to the next.
    pipeline: wgpu::PipelineLayout,
}

/// The pipelines of one device and format.
#[derive(Debug)]
pub struct Pipelines {
    gpu: Gpu,
    format: TexelFormat,
    own: DispatchBinding,
    /// For weights as texels, then as words; of either those that count nothing, then those that do.
    uniform: [[Layouts; 2]; 2],
    storage: [[Layouts; 2]; 2],
    modules: BTreeMap<(Shader, ParamBinding), wgpu::ShaderModule>,
    made: BTreeMap<Key, wgpu::ComputePipeline>,
    cache: SharedPipelines,
}

impl Pipelines {
    /// No pipeline yet.
    ///
    /// # Errors
    /// What the device says of the bind group layouts.
    pub fn new(gpu: &Gpu, format: TexelFormat) -> Result<Self, GpuError> {
        Self::with_cache(gpu, format, SharedPipelines::default())
    }

    /// No pipeline yet, but those of a cache at hand.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_cache(gpu: &Gpu, format: TexelFormat, cache: SharedPipelines) -> Result<Self, GpuError> {
        let own = DispatchBinding::of(&gpu.device);
        let [uniform, storage] = gpu.scoped("creating bind group layouts", || {
            let storage = wgpu::BufferBindingType::Storage { read_only: true };
            let weights = [texture_format(format), WORDS];
            let formats = |weights| (texture_format(format), weights);
            [wgpu::BufferBindingType::Uniform, storage].map(|block| {
                weights.map(|weights| [false, true].map(|counted| layouts(gpu, formats(weights), block, own, counted)))
            })
        })?;
        let (modules, made) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { gpu: gpu.clone(), format, own, uniform, storage, modules, made, cache })
    }

    /// The pipelines made.
    pub fn recipes(&self) -> Vec<PipelineRecipe> {
        let recipe = |(shader, table, constants): &Key| PipelineRecipe {
            shader: *shader,
            format: self.format,
            table: *table,
            own: self.own,
            constants: constants.iter().map(|&(name, bits)| (name, f64::from_bits(bits))).collect(),
        };
        self.made.keys().map(recipe).collect()
    }

    pub(super) fn layout(&self, shader: Shader, table: ParamBinding) -> &wgpu::BindGroupLayout {
        &self.layouts(shader, table).group
    }

    fn layouts(&self, shader: Shader, table: ParamBinding) -> &Layouts {
        let [texels, words] = match table {
            ParamBinding::Uniform(_) => &self.uniform,
            ParamBinding::Storage => &self.storage,
        };
        let [plain, counted] = if shader.weights().is_words() { words } else { texels };
        if counts(self.format, shader) { counted } else { plain }
    }

    /// Whether pipelines of a shader have the counts bound.
    pub(super) fn counts(&self, shader: Shader) -> bool {
        counts(self.format, shader)
    }

    /// The pipeline of a shader with these constants, made if it is the first of its kind.
    pub(super) fn get(
        &mut self,
        shader: Shader,
        constants: &Constants,
        table: ParamBinding,
    ) -> Result<wgpu::ComputePipeline, GpuError> {
        // As bits, which have a total order, and sorted, since another order of constants makes no other pipeline.
        let mut bits: Vec<_> = constants.iter().map(|&(name, value)| (name, value.to_bits())).collect();
        bits.sort_unstable();
        let key = (shader, table, bits);
        if let Some(pipeline) = self.made.get(&key) {
            return Ok(pipeline.clone());
        }
        let shared = (self.gpu.number(), self.format, key.clone());
        if let Some(pipeline) = self.cache.get(&shared) {
            self.made.insert(key, pipeline.clone());
            return Ok(pipeline);
        }
        // Nothing is locked meanwhile: two sessions may compile the same kernel, and either pipeline will do.
        let module = match self.modules.get(&(shader, table)) {
            Some(module) => module.clone(),
            None => {
                let made = self.gpu.scoped(&format!("compiling shader {}", shader.name()), || {
                    trusted_module(&self.gpu.device, shader, source(shader, self.format, table, self.own))
                })?;
                self.modules.insert((shader, table), made.clone());
                made
            }
        };
        let pipeline = self.gpu.scoped(&format!("creating pipeline {} {constants:?}", shader.name()), || {
            self.gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(shader.name()),
                layout: Some(&self.layouts(shader, table).pipeline),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants,
                    // Kernels write what they read of it.
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        })?;
        self.cache.keep(shared, &pipeline);
        self.made.insert(key, pipeline.clone());
        Ok(pipeline)
    }
}

fn layouts(
    gpu: &Gpu,
    (format, weights): (wgpu::TextureFormat, wgpu::TextureFormat),
    block: wgpu::BufferBindingType,
    own: DispatchBinding,
    counted: bool,
) -> Layouts {
    let texture = |binding, format, access| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::StorageTexture { access, format, view_dimension: wgpu::TextureViewDimension::D2 },
        count: None,
    };
    let params = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let read = wgpu::StorageTextureAccess::ReadOnly;
    let mut entries = vec![
        params(0, block, false),
        texture(1, format, wgpu::StorageTextureAccess::WriteOnly),
        texture(2, format, read),
        texture(3, weights, read),
        texture(4, format, read),
    ];
    if counted {
        entries.push(params(COUNTERS, wgpu::BufferBindingType::Storage { read_only: false }, false));
    }
    let immediate_size = match own {
        DispatchBinding::Immediates => DispatchBinding::BYTES,
        DispatchBinding::Uniform => {
            entries.push(params(DispatchBinding::BINDING, wgpu::BufferBindingType::Uniform, true));
            0
        }
    };
    let group = gpu
        .device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("texpool"), entries: &entries });
    let pipeline = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("texpool"),
        bind_group_layouts: &[Some(&group)],
        immediate_size,
    });
    Layouts { group, pipeline }
}

/// Compiles WGSL of our own without run-time checks. What that relies on, and where each of it is seen to:
///
/// 1. **The source is one of this package's**, and so are its params: [`Shader`] and [`Dispatch`](crate::kernels::Dispatch)
///    are made by `kernels` alone. A dispatch comes from `ops::dispatches`, which checks all that it is given, or
///    from `ops::lower` and its like, which `Session::from_compiled` calls after 2 and 3.
/// 2. **The graph is valid**: no extent is zero, each node's result has the shape that its operands give it, attributes
///    are not zero where they divide. `graph::check`.
/// 3. **Nothing wraps in 32 bits**: tensors have fewer than 2^30 elements, and attributes that no extent bounds (strides,
///    dilations, paddings, windows) are below 2^29, so that an extent with its padding is below 2^31, and so are a dilated
///    window and twice the period of a mirrored pad. `ops::check`. Texels of a tensor are no more than its elements,
///    so neither they nor invocations wrap; weights are counted against the texture's limit (`gpu/weights.rs`).
/// 4. **Loops end**: their bounds are extents of 2 or attributes of 3, their steps are at least one, and a bound plus a
///    step does not wrap.
/// 5. **Divisors are not zero**: they are extents, strides, dilations, groups, or products of extents.
/// 6. **Indices are inside**. The table's: a row number is below `B * H` of its tensor, and there are as many row starts,
///    or one which is all that the mask leaves (`kernels/context.rs`); parameters are written by the kernel that reads
///    them, and a block is bound with the length that its words are counted in (`gpu/params.rs`). Arrays of a shader: blocks
///    are at most `MAX_PIXELS` by `MAX_SLICES` (`kernels/block.rs`), a depthwise window's columns are at most `MAX_COLUMNS`
///    (`ops/depthwise/kernel.rs`), taps 4, lanes of a workgroup `LANES`, and lanes of a texel are cut to two bits.
///    Counts are as many as the greatest node asks for that a dispatch counts for (`gpu/program.rs`).
///    Indices that are *computed*, in gathers and samples, are clamped to the operand's extent, whatever number they are.
/// 7. **Texels are inside their texture**: each row that has a start has room behind it (`kernels/context.rs`), in a
///    texture as wide and as large as `Program::new` finds the bound one to be; weights are as many as were packed.
///
/// That rows lie where no other tensor does is the plan's business (`plan::check`, `plan::check_rows`), and a matter of
/// right answers only. Robust access is not relied on: where a device has it (wgpu asks Vulkan for `robustBufferAccess`
/// and `robustImageAccess`, Direct3D always has), an address outside would read zeros and write nothing.
#[expect(unsafe_code, reason = "only shaders of this package come here, with params that were checked")]
fn trusted_module(device: &wgpu::Device, shader: Shader, source: String) -> wgpu::ShaderModule {
    let source = wgpu::ShaderSource::Wgsl(source.into());
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(shader.name()), source };
    // SAFETY: loops end, divisors are not zero and indices are inside, for the reasons above.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}
