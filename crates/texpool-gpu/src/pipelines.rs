//! Compute pipelines: each is compiled once and shared by all dispatches with the same shader and constants.

#[cfg(not(target_arch = "wasm32"))]
use std::borrow::Cow;
use std::{
    collections::{BTreeMap, HashMap},
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use super::{DispatchBinding, Gpu, GpuError, ParamBinding, param_binding, process::Process, tensor_memory::MemoryKind};
#[cfg(not(target_arch = "wasm32"))]
use super::{
    specialised::{specialised, specialised_unrolled},
    unrolled,
};
use texpool_ops::kernels::{Constants, Shader};
use texpool_plan::TexelFormat;

/// Returns the complete WGSL of a pipeline: declarations of the parameters and of the textures, the storage format of
/// values, and then all sources in [`Shader::source`], concatenated. Weights are outside the pool.
pub fn source(shader: Shader, format: TexelFormat, table: ParamBinding, own: DispatchBinding) -> String {
    source_in(MemoryKind::Textures, shader, (format, weight_texels(shader, format, false)), table, own)
}

/// Returns the format of a shader's weights; in texels of bytes, only a pool of bytes holds any.
const fn weight_texels(shader: Shader, format: TexelFormat, byte_weights: bool) -> TexelFormat {
    match (byte_weights, shader.weights().is_words()) {
        (true, _) => TexelFormat::Rgba8Uint,
        (false, true) => TexelFormat::Rgba32Uint,
        (false, false) => format.of_floats(),
    }
}

/// Returns the complete WGSL of a pipeline for tensors in a kind of memory, with the formats of tensors and weights.
fn source_in(
    memory: MemoryKind,
    shader: Shader,
    (format, weights): (TexelFormat, TexelFormat),
    table: ParamBinding,
    own: DispatchBinding,
) -> String {
    let conversions = match format {
        TexelFormat::Rgba32Float => [texpool_shaders::shared::FORMAT_F32, texpool_shaders::shared::VALUE_TEXELS],
        TexelFormat::Rgba16Float => [texpool_shaders::shared::FORMAT_F16, texpool_shaders::shared::VALUE_TEXELS],
        TexelFormat::Rgba32Uint => [texpool_shaders::shared::FORMAT_WORDS, texpool_shaders::shared::VALUE_TEXELS],
        TexelFormat::Rgba8Uint => [texpool_shaders::shared::FORMAT_BYTES, ""],
    };
    let words = shader.weights().is_words();
    let bindings = param_binding::declarations(table, own) + &memory.declarations(format, weights, words);
    [&bindings, conversions[0], conversions[1], &shader.source()].concat()
}

/// Key of a pipeline within a device and format: the shader, whether it reads [weights from
/// bytes](texpool_ops::kernels::Dispatch::byte_weights), and its constants, sorted by name, with their values as bits.
type Key = (Shader, bool, ParamBinding, Vec<(&'static str, u64)>);
/// Key with the device ([`Gpu::number`]) and the format.
type DeviceKey = (u64, TexelFormat, Key);

/// Cache of pipelines that sessions share, so that several models on a device compile each kernel once. Clones share
/// the same pipelines, which live until the last clone is dropped.
#[derive(Clone, Debug, Default)]
pub struct SharedPipelines {
    made: Arc<PipelineCache>,
}

#[derive(Debug)]
struct PipelineCache {
    process: Process,
    pipelines: Mutex<HashMap<DeviceKey, wgpu::ComputePipeline>>,
}

impl Default for PipelineCache {
    fn default() -> Self {
        Self { process: Process::current(), pipelines: Mutex::default() }
    }
}

impl Drop for PipelineCache {
    fn drop(&mut self) {
        // A forked process must not touch the handles of its parent's device, so they are leaked.
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

/// Description of a compiled pipeline, sufficient for another compiler to compile it again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PipelineRecipe {
    /// The kernel.
    pub shader: Shader,
    /// Texel format of its textures.
    pub format: TexelFormat,
    /// Memory of its dispatches' parameter blocks.
    pub table: ParamBinding,
    /// Binding of its dispatches' individual parameters.
    pub own: DispatchBinding,
    /// True if its weights are in texels of bytes.
    pub byte_weights: bool,
    /// Values of its `override` constants.
    pub constants: Constants,
}

impl PipelineRecipe {
    /// Returns the complete WGSL.
    pub fn source(&self) -> String {
        let formats = (self.format, weight_texels(self.shader, self.format, self.byte_weights));
        source_in(MemoryKind::Textures, self.shader, formats, self.table, self.own)
    }
}

/// Returns whether a kernel counts clamped values (16-bit formats only) or clamped indices (any format).
pub(super) fn counts(format: TexelFormat, shader: Shader) -> bool {
    format == TexelFormat::Rgba16Float || shader.is_counting()
}

/// Binding number of the counter buffer.
pub(super) const COUNTERS: u32 = 6;

/// Layouts shared by all pipelines with the same memory for blocks, the same weight format (texels or words), and the
/// same answer to whether they count.
#[derive(Debug)]
struct Layouts {
    group: wgpu::BindGroupLayout,
    /// Shared by all these pipelines, so that bind groups stay bound when the pipeline changes.
    pipeline: wgpu::PipelineLayout,
}

/// Pipelines of one device and texel format.
#[derive(Debug)]
pub struct Pipelines {
    gpu: Gpu,
    memory: MemoryKind,
    format: TexelFormat,
    own: DispatchBinding,
    /// Layouts for weights as texels, as words, and as texels of the pool; in each pair, first without counters, then
    /// with.
    uniform: [[Layouts; 2]; 3],
    storage: [[Layouts; 2]; 3],
    made: BTreeMap<Key, wgpu::ComputePipeline>,
    cache: SharedPipelines,
}

impl Pipelines {
    /// Creates an empty set of pipelines with its own cache.
    ///
    /// # Errors
    /// Errors of the device about the bind group layouts.
    pub fn new(gpu: &Gpu, format: TexelFormat) -> Result<Self, GpuError> {
        Self::with_cache(gpu, format, SharedPipelines::default())
    }

    /// Creates an empty set of pipelines that uses and fills `cache`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_cache(gpu: &Gpu, format: TexelFormat, cache: SharedPipelines) -> Result<Self, GpuError> {
        Self::in_memory(MemoryKind::Textures, gpu, format, cache)
    }

    /// Version of `with_cache` for tensors in a kind of memory. A cache serves one kind.
    pub(super) fn in_memory(
        memory: MemoryKind,
        gpu: &Gpu,
        format: TexelFormat,
        cache: SharedPipelines,
    ) -> Result<Self, GpuError> {
        let own = DispatchBinding::of(&gpu.device);
        let [uniform, storage] = gpu.scoped("creating bind group layouts", || {
            let storage = wgpu::BufferBindingType::Storage { read_only: true };
            let weights = [format.of_floats(), TexelFormat::Rgba32Uint, format];
            let tensors = weights.map(|weights| memory.layout(format, weights));
            [wgpu::BufferBindingType::Uniform, storage].map(|block| {
                tensors.map(|tensors| [false, true].map(|counted| layouts(gpu, tensors, block, own, counted)))
            })
        })?;
        Ok(Self { gpu: gpu.clone(), memory, format, own, uniform, storage, made: BTreeMap::new(), cache })
    }

    /// Returns descriptions of all pipelines in use.
    pub fn recipes(&self) -> Vec<PipelineRecipe> {
        let recipe = |(shader, byte_weights, table, constants): &Key| PipelineRecipe {
            shader: *shader,
            byte_weights: *byte_weights,
            format: self.format,
            table: *table,
            own: self.own,
            constants: constants.iter().map(|&(name, bits)| (name, f64::from_bits(bits))).collect(),
        };
        self.made.keys().map(recipe).collect()
    }

    /// Returns the number of pipelines in use.
    pub(super) fn len(&self) -> usize {
        self.made.len()
    }

    pub(super) fn layout(&self, kernel: (Shader, bool), table: ParamBinding) -> &wgpu::BindGroupLayout {
        &self.layouts(kernel, table).group
    }

    fn layouts(&self, (shader, byte_weights): (Shader, bool), table: ParamBinding) -> &Layouts {
        let [texels, words, bytes] = match table {
            ParamBinding::Uniform(_) => &self.uniform,
            ParamBinding::Storage => &self.storage,
        };
        let [plain, counted] = match (byte_weights, shader.weights().is_words()) {
            (true, _) => bytes,
            (false, true) => words,
            (false, false) => texels,
        };
        if counts(self.format, shader) { counted } else { plain }
    }

    /// Returns whether pipelines of a shader bind the counter buffer.
    pub(super) fn counts(&self, shader: Shader) -> bool {
        counts(self.format, shader)
    }

    /// Returns the pipeline of a shader with these constants; compiles it on first use.
    pub(super) fn get(
        &mut self,
        (shader, byte_weights): (Shader, bool),
        constants: &Constants,
        table: ParamBinding,
    ) -> Result<wgpu::ComputePipeline, GpuError> {
        // Values as bits, because bits have a total order. Sorted, because the order of constants does not matter.
        let mut bits: Vec<_> = constants.iter().map(|&(name, value)| (name, value.to_bits())).collect();
        bits.sort_unstable();
        let key = (shader, byte_weights, table, bits);
        if let Some(pipeline) = self.made.get(&key) {
            return Ok(pipeline.clone());
        }
        let shared = (self.gpu.number(), self.format, key.clone());
        if let Some(pipeline) = self.cache.get(&shared) {
            self.made.insert(key, pipeline.clone());
            return Ok(pipeline);
        }
        let _span = tracing::debug_span!("pipeline", kernel = shader.name()).entered();
        // The cache is not locked while compiling: two sessions may compile the same kernel, and either pipeline will
        // do.
        let formats = (self.format, weight_texels(shader, self.format, byte_weights));
        let text = source_in(self.memory, shader, formats, table, self.own);
        let (module, constants) = self.gpu.scoped(&format!("compiling shader {}", shader.name()), || {
            let (source, constants) = shader_source(&self.gpu, text, constants);
            (trusted_module(&self.gpu.device, shader, source), constants)
        })?;
        let pipeline = self.gpu.scoped(&format!("creating pipeline {} {constants:?}", shader.name()), || {
            self.gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(shader.name()),
                layout: Some(&self.layouts((shader, byte_weights), table).pipeline),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    // Not needed: kernels write workgroup memory before they read it.
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
    tensors: [wgpu::BindGroupLayoutEntry; 4],
    block: wgpu::BufferBindingType,
    own: DispatchBinding,
    counted: bool,
) -> Layouts {
    let params = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![params(0, block, false)];
    entries.extend(tensors);
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

/// Compiles a shader that is no kernel, with wgpu's checks and the bindings that its text declares.
pub(super) fn checked_pipeline(gpu: &Gpu, what: &str, source: String) -> Result<wgpu::ComputePipeline, GpuError> {
    gpu.scoped(what, || {
        let source = wgpu::ShaderSource::Wgsl(source.into());
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(what), source };
        gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(what),
            layout: None,
            module: &gpu.device.create_shader_module(descriptor),
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    })
}

/// Returns the source of a pipeline, and the constants that it still needs: none, if it was
/// [specialised](super::specialised) for them.
#[cfg(not(target_arch = "wasm32"))]
fn shader_source(gpu: &Gpu, text: String, constants: &Constants) -> (wgpu::ShaderSource<'static>, Constants) {
    let module = match unrolled::is_needed(&gpu.device.adapter_info()) {
        true => specialised_unrolled(&text, constants),
        false => specialised(&text, constants),
    };
    match module {
        Ok(module) => (wgpu::ShaderSource::Naga(Cow::Owned(module)), Constants::new()),
        // wgpu says where the text is wrong.
        Err(_) => (wgpu::ShaderSource::Wgsl(text.into()), constants.clone()),
    }
}

/// Returns the text of a pipeline and its constants; a browser compiles WGSL only.
#[cfg(target_arch = "wasm32")]
fn shader_source(_: &Gpu, text: String, constants: &Constants) -> (wgpu::ShaderSource<'static>, Constants) {
    (wgpu::ShaderSource::Wgsl(text.into()), constants.clone())
}

/// Compiles our own WGSL without run-time checks. This is safe because of the following properties; each names the
/// code that enforces it:
///
/// 1. **The source is part of this package**, and so are its parameters: only `kernels` creates [`Shader`] and
///    [`Dispatch`](texpool_ops::kernels::Dispatch). A dispatch comes from `ops::dispatches`, which checks its arguments, or
///    from functions such as `ops::lower`, which `Session::from_compiled` calls after the checks of 2 and 3.
/// 2. **The graph is valid**: no extent is zero, each node's result has the shape that follows from its operands, and
///    attributes that divide are not zero. Enforced by `graph::check`.
/// 3. **Nothing wraps in 32 bits**: tensors have fewer than 2^30 elements. Attributes that no extent bounds (strides,
///    dilations, paddings, windows) are below 2^29, so that an extent with its padding stays below 2^31, and so do a
///    dilated window and twice the period of a mirrored pad. Enforced by `ops::check`. A tensor has at most as many
///    texels as elements, so neither texels nor invocations wrap. Weights are checked against the texture's limit
///    (`gpu/weights.rs`).
/// 4. **Loops end**: their bounds are extents of 2 or attributes of 3, their steps are at least one, and a bound plus a
///    step does not wrap.
/// 5. **Divisors are not zero**: they are extents, strides, dilations, groups, or products of extents.
/// 6. **Indices are in range**:
///    - Parameter blocks: a row number is below `B * H` of its tensor, and the table has either one start per row, or a
///      single start and a mask that reduces every index to it (`kernels/context.rs`). The kernel that reads the
///      parameters also writes them, and a block is bound with the length of its words (`gpu/params.rs`).
///    - Arrays of a shader: blocks are at most `MAX_PIXELS` by `MAX_SLICES` (`kernels/block.rs`), columns of a
///      depthwise window at most `MAX_COLUMNS` (`ops/depthwise/kernel.rs`), taps 4, lanes of a workgroup `LANES`,
///      slices of a recurrent cell at most `TEXELS` (`ops/recurrent/mod.rs`), and a lane has every `LANES`th of them.
///      Lanes of a texel are masked to two bits.
///    - Counters: the buffer is sized for the highest node that a dispatch counts for (`gpu/program.rs`).
///    - *Computed* indices, in gathers and samples, are clamped to the operand's extent, whatever their value.
/// 7. **Texels are inside their texture**: there is room for a full row after each row start (`kernels/context.rs`), in
///    a texture whose width and size `Program::new` verifies; as many weights are read as were packed.
///
/// The plan ensures that tensors do not overlap (`plan::check`, `plan::check_rows`). That matters for correct results,
/// but not for memory safety. We do not rely on robust access. On devices that have it (wgpu requests
/// `robustBufferAccess` and `robustImageAccess` from Vulkan; Direct3D always has it), an out-of-range access would read
/// zeros and write nothing.
#[expect(unsafe_code, reason = "only shaders of this package come here, with params that were checked")]
fn trusted_module(device: &wgpu::Device, shader: Shader, source: wgpu::ShaderSource<'_>) -> wgpu::ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor { label: Some(shader.name()), source };
    // SAFETY: loops end, divisors are not zero and indices are inside, for the reasons above.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}
