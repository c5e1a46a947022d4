//! A program: dispatches bound to textures, ready to be encoded run after run.

use std::{collections::HashMap, ops::Range};

#[cfg(not(target_arch = "wasm32"))]
use super::wait::{Wait, now};
use super::{
    DispatchBinding, Gpu, GpuError, Pipelines, TextureSet,
    allocations::TABLES,
    params::{BlockPlace, OwnParams, ParamRange, Params},
    pipelines::COUNTERS,
    tensor_memory::TensorMemory,
};
use texpool_ops::{
    graph::DeviceClass,
    kernels::{COUNTS_PER_NODE, Dispatch},
};
use texpool_plan::TexelFormat;

/// Number of bind groups cached per changing texture; a camera alternates between two or three. They keep the
/// textures alive.
const KEPT: usize = 4;

/// Dispatches over a texture set, in order.
#[derive(Debug)]
pub struct Program {
    bound: Vec<Bound>,
    /// Bind groups of the dispatches; those of an operator mostly share one. An entry whose textures may change is
    /// `None` until they are bound.
    groups: Vec<Option<wgpu::BindGroup>>,
    rebindable: Vec<Rebindable>,
    table_bytes: u64,
    /// Counters that kernels increment during a run, grouped by node. `None` if no kernel counts anything.
    counters: Option<wgpu::Buffer>,
}

#[derive(Debug)]
struct Bound {
    label: &'static str,
    pipeline: wgpu::ComputePipeline,
    /// Index of the bind group.
    group: usize,
    params: OwnParams,
    grid: [u32; 2],
}

/// Bind groups that use the same set of changing textures.
#[derive(Debug)]
struct Rebindable {
    /// Indices of the changing textures.
    textures: Vec<usize>,
    /// Index of each bind group, with its bindings.
    groups: Vec<(usize, Bindings)>,
    /// Cached bind groups for earlier textures, most recently used first.
    kept: Vec<(Vec<wgpu::Texture>, Vec<wgpu::BindGroup>)>,
}

/// Resources of a bind group.
#[derive(Debug)]
struct Bindings {
    /// Kernel of one dispatch that uses the group, for errors.
    label: &'static str,
    block: ParamRange,
    /// Buffer that is bound with a dynamic offset per dispatch.
    offsets: Option<ParamRange>,
    layout: wgpu::BindGroupLayout,
    /// Texture indices for bindings 1 to 4.
    textures: [usize; 4],
    /// Counter buffer, if the kernel counts anything.
    counters: Option<wgpu::Buffer>,
}

impl Bindings {
    fn group(&self, gpu: &Gpu, memory: TensorMemory<'_>) -> Result<wgpu::BindGroup, GpuError> {
        let entry = |binding: u32, texture: usize| wgpu::BindGroupEntry { binding, resource: memory.binding(texture) };
        let [output, input, weights, second] = self.textures;
        let mut entries = vec![
            wgpu::BindGroupEntry { binding: 0, resource: self.block.binding() },
            entry(1, output),
            entry(2, input),
            entry(3, weights),
            entry(4, second),
        ];
        if let Some(offsets) = &self.offsets {
            entries.push(wgpu::BindGroupEntry { binding: DispatchBinding::BINDING, resource: offsets.binding() });
        }
        if let Some(counters) = &self.counters {
            entries.push(wgpu::BindGroupEntry { binding: COUNTERS, resource: counters.as_entire_binding() });
        }
        gpu.scoped(&format!("binding {}", self.label), || {
            let (label, layout) = (Some(self.label), &self.layout);
            gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries: &entries })
        })
    }
}

/// Textures for bindings that a dispatch does not use.
#[derive(Clone, Copy)]
struct Spares {
    tensor: usize,
    weights: usize,
}

impl Spares {
    fn new(textures: &mut TextureSet, format: TexelFormat) -> Result<Self, GpuError> {
        Ok(Self { tensor: textures.spare(format)?, weights: textures.spare(format.of_floats())? })
    }
}

impl Program {
    /// Compiles and binds the dispatches. Bindings that a dispatch does not use get a texture of one texel.
    ///
    /// # Errors
    /// Errors of the device, an exceeded limit, or [`GpuError::Texture`] if the dispatches were built for other
    /// textures.
    pub fn new(
        gpu: &Gpu,
        textures: &mut TextureSet,
        pipelines: &mut Pipelines,
        format: TexelFormat,
        dispatches: &[Dispatch],
    ) -> Result<Self, GpuError> {
        Self::with_rebindable(gpu, textures, pipelines, format, dispatches, &[])
    }

    /// Version of `new` for textures that will be replaced later: [`bind`](Self::bind) creates the bind groups that
    /// use textures in `changing`.
    pub(super) fn with_rebindable(
        gpu: &Gpu,
        textures: &mut TextureSet,
        pipelines: &mut Pipelines,
        format: TexelFormat,
        dispatches: &[Dispatch],
        changing: &[usize],
    ) -> Result<Self, GpuError> {
        let spares = Spares::new(textures, format)?;
        Self::bound(gpu, (textures, spares), TensorMemory::Textures(textures), pipelines, dispatches, changing)
    }

    /// Version of `new` for a buffer in place of each texture of the set, which has the texture's texels in their order.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn in_buffers(
        gpu: &Gpu,
        (textures, buffers): (&mut TextureSet, &[wgpu::Buffer]),
        pipelines: &mut Pipelines,
        format: TexelFormat,
        dispatches: &[Dispatch],
    ) -> Result<Self, GpuError> {
        let spares = Spares::new(textures, format)?;
        Self::bound(gpu, (textures, spares), TensorMemory::Buffers(buffers), pipelines, dispatches, &[])
    }

    /// Compiles and binds dispatches that were built for `textures`, with their tensors in `memory`. `spares` are for
    /// bindings that a dispatch does not use.
    fn bound(
        gpu: &Gpu,
        (textures, spares): (&TextureSet, Spares),
        memory: TensorMemory<'_>,
        pipelines: &mut Pipelines,
        dispatches: &[Dispatch],
        changing: &[usize],
    ) -> Result<Self, GpuError> {
        let params = Params::upload(gpu, &textures.allocations().label(TABLES), dispatches)?;
        let counters = counters(gpu, textures, pipelines, dispatches)?;
        let mut made = Self {
            bound: Vec::with_capacity(dispatches.len()),
            groups: Vec::new(),
            rebindable: Vec::new(),
            table_bytes: params.bytes() + counters.as_ref().map_or(0, wgpu::Buffer::size),
            counters,
        };
        let mut groups: HashMap<(BlockPlace, [usize; 4], bool), usize> = HashMap::new();
        let compiles_late = gpu.blocks().class() == DeviceClass::Software;
        for (dispatch, (&block, &own)) in dispatches.iter().zip(params.blocks.iter().zip(&params.own)) {
            let label = dispatch.shader.name();
            // Shaders run without bounds checks, so the textures must match those that the parameters were computed
            // for.
            for reach in dispatch.reach.iter() {
                textures.check_reach(reach)?;
            }
            let kernel = (dispatch.shader, dispatch.byte_weights && dispatch.weights.is_some());
            let compiled = pipelines.len();
            let pipeline = pipelines.get(kernel, &dispatch.constants, block.binding)?;
            let is_new = pipelines.len() > compiled;
            let [input, second] = [dispatch.input, dispatch.second].map(|texture| texture.unwrap_or(spares.tensor));
            let bound = [dispatch.output, input, dispatch.weights.unwrap_or(spares.weights), second];
            let counts = pipelines.counts(dispatch.shader);
            let group = match groups.get(&(block, bound, counts)) {
                Some(&group) => group,
                None => {
                    let layout = pipelines.layout(kernel, block.binding).clone();
                    let (block, offsets) = (params.block(block)?, params.offsets());
                    let counters = made.counters.clone().filter(|_| counts);
                    made.add_group(
                        gpu,
                        memory,
                        changing,
                        Bindings { label, block, offsets, layout, textures: bound, counters },
                    )?
                }
            };
            groups.insert((block, bound, counts), group);
            let bound = Bound { label, pipeline, group, params: own, grid: dispatch.grid() };
            if compiles_late && is_new {
                bound.compile(gpu, &made.groups)?;
            }
            made.bound.push(bound);
        }
        Ok(made)
    }

    /// Creates a bind group, or reserves an entry if it uses a changing texture. Returns its index.
    fn add_group(
        &mut self,
        gpu: &Gpu,
        memory: TensorMemory<'_>,
        changing: &[usize],
        bindings: Bindings,
    ) -> Result<usize, GpuError> {
        let index = self.groups.len();
        let touched: Vec<usize> =
            changing.iter().copied().filter(|texture| bindings.textures.contains(texture)).collect();
        if touched.is_empty() {
            self.groups.push(Some(bindings.group(gpu, memory)?));
            return Ok(index);
        }
        self.groups.push(None);
        match self.rebindable.iter_mut().find(|one| one.textures == touched) {
            Some(one) => one.groups.push((index, bindings)),
            None => self.rebindable.push(Rebindable {
                textures: touched,
                groups: vec![(index, bindings)],
                kept: Vec::new(),
            }),
        }
        Ok(index)
    }

    /// Binds the changing textures that are in the set now. Textures that were bound recently reuse their cached bind
    /// groups.
    pub(super) fn bind(&mut self, gpu: &Gpu, textures: &TextureSet) -> Result<(), GpuError> {
        for one in &mut self.rebindable {
            let now = one.textures.iter().map(|&texture| textures.texture(texture));
            let same = |(held, _): &(Vec<wgpu::Texture>, _)| held.iter().eq(now.clone());
            match one.kept.iter().position(same) {
                // Bound last time, so it still is.
                Some(0) => continue,
                Some(at) => one.kept[..=at].rotate_right(1),
                None => {
                    let made =
                        one.groups.iter().map(|(_, bindings)| bindings.group(gpu, TensorMemory::Textures(textures)));
                    let made = made.collect::<Result<Vec<_>, _>>()?;
                    one.kept.truncate(KEPT - 1);
                    one.kept.insert(0, (now.cloned().collect(), made));
                }
            }
            let held = one.kept.first().into_iter().flat_map(|(_, groups)| groups);
            for ((index, _), group) in one.groups.iter().zip(held) {
                self.groups[*index] = Some(group.clone());
            }
        }
        Ok(())
    }

    /// Drops cached bind groups that use texture `changing`, so that they do not keep earlier textures alive.
    pub(super) fn forget(&mut self, changing: usize) {
        for one in self.rebindable.iter_mut().filter(|one| one.textures.contains(&changing)) {
            one.kept.clear();
            for (index, _) in &one.groups {
                self.groups[*index] = None;
            }
        }
    }

    /// Returns the number of dispatches.
    pub fn len(&self) -> usize {
        self.bound.len()
    }

    /// Returns the size of the parameter and counter buffers, in bytes.
    pub(super) const fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    /// Returns true without dispatches.
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty()
    }

    /// Iterates over the kernel names of the dispatches.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.bound.iter().map(|dispatch| dispatch.label)
    }

    /// Returns the counts since the first dispatch was last encoded: [`COUNTS_PER_NODE`] for each node of the graph.
    pub(super) const fn counters(&self) -> Option<&wgpu::Buffer> {
        self.counters.as_ref()
    }

    /// Resets the counters if the first dispatch is among `which`.
    fn begin_counting(&self, which: &Range<usize>, encoder: &mut wgpu::CommandEncoder) {
        if let Some(counters) = self.counters.as_ref().filter(|_| which.contains(&0)) {
            encoder.clear_buffer(counters, 0, None);
        }
    }

    /// Encodes all dispatches into one pass.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        self.encode_some(encoder, 0..self.len());
    }

    /// Encodes some of the dispatches into one pass.
    pub(super) fn encode_some(&self, encoder: &mut wgpu::CommandEncoder, which: Range<usize>) {
        // One pass suffices: each dispatch is a separate usage scope, so wgpu inserts barriers between them.
        let descriptor = wgpu::ComputePassDescriptor { label: Some("texpool"), timestamp_writes: None };
        self.begin_counting(&which, encoder);
        let mut pass = encoder.begin_compute_pass(&descriptor);
        for dispatch in self.bound.get(which).into_iter().flatten() {
            dispatch.encode(&self.groups, &mut pass);
        }
    }

    /// Encodes some of the dispatches, each into a separate pass that writes two consecutive timestamps to `queries`.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn encode_timed(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        which: Range<usize>,
        queries: &wgpu::QuerySet,
    ) {
        self.begin_counting(&which, encoder);
        for (dispatch, i) in self.bound.get(which).into_iter().flatten().zip(0u32..) {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(dispatch.label),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: queries,
                    beginning_of_pass_write_index: Some(2 * i),
                    end_of_pass_write_index: Some(2 * i + 1),
                }),
            });
            dispatch.encode(&self.groups, &mut pass);
        }
    }

    /// Runs some of the dispatches once, each in a separate pass, and waits.
    ///
    /// # Errors
    /// Errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&self, gpu: &Gpu, which: Range<usize>) -> Result<(), GpuError> {
        let submitted = gpu.scoped("running", || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            self.begin_counting(&which, &mut encoder);
            for dispatch in self.bound.get(which).into_iter().flatten() {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                dispatch.encode(&self.groups, &mut pass);
            }
            gpu.submit([encoder.finish()])
        })?;
        now(gpu.done(Wait::Block, &submitted, "some steps of the model"))
    }
}

/// Creates the counter buffer, sized for the highest node that a dispatch counts for. `None` if no dispatch counts.
fn counters(
    gpu: &Gpu,
    textures: &TextureSet,
    pipelines: &Pipelines,
    dispatches: &[Dispatch],
) -> Result<Option<wgpu::Buffer>, GpuError> {
    let counting = dispatches.iter().filter(|dispatch| pipelines.counts(dispatch.shader));
    let Some(last) = counting.map(|dispatch| dispatch.counted_node).max() else { return Ok(None) };
    let buffer = gpu.buffer(
        "counts",
        &wgpu::BufferDescriptor {
            label: Some(&textures.allocations().label(TABLES)),
            size: 4 * ((last + 1) * COUNTS_PER_NODE) as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        },
    )?;
    Ok(Some(buffer))
}

impl Bound {
    /// Makes a driver compile the pipeline now, in its own thread, if it would do so for the first dispatch: dispatches no
    /// workgroups. Does nothing if the bindings come later.
    fn compile(&self, gpu: &Gpu, groups: &[Option<wgpu::BindGroup>]) -> Result<(), GpuError> {
        if groups.get(self.group).and_then(Option::as_ref).is_none() {
            return Ok(());
        }
        gpu.scoped(&format!("compiling {}", self.label), || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.encode_grid(groups, &mut pass, [0, 0]);
            drop(pass);
            gpu.submit([encoder.finish()]);
        })
    }

    fn encode(&self, groups: &[Option<wgpu::BindGroup>], pass: &mut wgpu::ComputePass<'_>) {
        self.encode_grid(groups, pass, self.grid);
    }

    fn encode_grid(&self, groups: &[Option<wgpu::BindGroup>], pass: &mut wgpu::ComputePass<'_>, [x, y]: [u32; 2]) {
        let group = groups.get(self.group).and_then(Option::as_ref);
        pass.set_pipeline(&self.pipeline);
        match self.params {
            OwnParams::Immediates(words) => {
                pass.set_bind_group(0, group, &[]);
                pass.set_immediates(0, bytemuck::bytes_of(&words));
            }
            OwnParams::Offset(offset) => pass.set_bind_group(0, group, &[offset]),
        }
        pass.dispatch_workgroups(x, y, 1);
    }
}
