//! Counts the device memory that a session of a compiled model needs, without a device. Adds up every texture and
//! buffer that the session creates, at the moment when most of them exist.

use super::{
    allocator_blocks::block_bytes,
    device_format::DeviceFormat,
    tables::table_buffers,
    transfer_buffers::{TransferBuffers, Way},
    weight_textures::ResidentWeights,
};
use crate::{
    model::{CompiledModel, Lowering},
    schedule::{Schedule, StepKind, StorageKind},
};
use texpool_ops::{
    graph::{Graph, Op},
    ops::WeightGroup,
};
use texpool_plan::{Plan, TexelFormat, TextureSpec};

/// Chunk size in bytes for uploading weights, and for transferring inputs and outputs that have textures outside the
/// pool. `Queue::write_texture` would allocate as much per call and free it only after a submission. Measured on
/// lavapipe, 14 MiB: 4.7 ms in pieces of 64 KiB, 1.6 ms of 256 KiB, 2.0 ms of 1 MiB.
pub const PIECE: u64 = 256 << 10;

/// Bytes that wgpu 30 allocates on each device for internal use: a zero buffer for clearing textures, and 304 bytes
/// more.
pub(crate) const WGPU: [u64; 2] = [512 << 10, 304];

/// Upper limit on the bytes that the allocator skips to align a texture or buffer. Measured on lavapipe.
const ALIGNMENT: u64 = 256;

/// Lavapipe rounds textures up to multiples of this many rows, and rows to multiples of this many bytes, because it
/// lays textures out in tiles of four by four texels. The rounding of other drivers cannot be known without a device.
const TEXTURE_ROWS: u32 = 4;
const ROW_BYTES: u64 = 64;

/// Returns the size of the pieces in which a texture is written, in bytes. A piece consists of whole rows.
pub fn piece_bytes(spec: TextureSpec) -> u64 {
    let row = u64::from(spec.width) * spec.format.texel_bytes();
    spec.bytes().min((PIECE - PIECE % row.max(1)).max(row))
}

/// Returns the memory that the driver reserves for a texture.
fn texture_bytes(spec: TextureSpec) -> u64 {
    let row = u64::from(spec.width.next_multiple_of(TEXTURE_ROWS)) * spec.format.texel_bytes();
    let rows = u64::from(spec.height).next_multiple_of(u64::from(TEXTURE_ROWS));
    row.next_multiple_of(ROW_BYTES) * rows + ALIGNMENT
}

/// Returns the memory that the driver reserves for a buffer.
const fn buffer_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(ROW_BYTES) + ALIGNMENT
}

/// Sizes of a session's allocations outside the pool and the tables.
#[derive(Clone, Debug)]
pub(crate) struct BesidePool {
    /// Allocations that exist for the whole lifetime of a session.
    resident: Vec<u64>,
    /// Size of the buffer that exists only while weights are loaded, before the pool is created.
    loading: u64,
    /// Allocations that exist while the model runs: textures of inputs and outputs, and transfer buffers.
    running: Vec<u64>,
}

impl BesidePool {
    pub(crate) fn new(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> Self {
        // Dispatches bind textures of one texel to the bindings that they do not use.
        let of_weights = Some(format.texels.of_floats()).filter(|&other| other != format.texels);
        let spare = |format| TextureSpec { width: 1, height: 1, format };
        let spares = [format.texels].into_iter().chain(of_weights).map(spare);
        let weights = format.resident_weights(graph, schedule).specs;
        let loading = weights.iter().map(|&spec| buffer_bytes(piece_bytes(spec))).max().unwrap_or(0);
        let resident = WGPU.into_iter().chain(spares.chain(weights).map(texture_bytes)).collect();
        let buffers = transfers(schedule, format).chain(count_buffers(graph, format));
        let running = io_allocations(graph, schedule, format).chain(buffers.map(buffer_bytes));
        Self { resident, loading, running: running.collect() }
    }

    /// Returns the peak memory in bytes, for a pool of `pool` bytes and tables of `tables` bytes.
    pub(crate) fn most(&self, pool: u64, tables: u64) -> u64 {
        let resident: u64 = self.resident.iter().sum();
        // The queue uploads tables through a staging buffer of the same size.
        let placing = pool + 2 * tables;
        let running = pool + tables + self.running.iter().sum::<u64>();
        resident + self.loading.max(placing).max(running)
    }

    /// Returns the size of each allocation outside the pool and the tables that exists while the model runs.
    pub(crate) fn while_running(&self) -> impl Iterator<Item = u64> + '_ {
        self.resident.iter().chain(&self.running).copied()
    }
}

/// Returns the memory that the driver reserves for each texture of the pool.
pub(crate) fn pool_allocations(plan: &Plan) -> impl Iterator<Item = u64> + '_ {
    plan.textures.iter().map(|&spec| texture_bytes(spec))
}

/// Returns the memory that the driver reserves for each table buffer of a plan.
pub(crate) fn table_allocations(
    graph: &Graph,
    schedule: &Schedule,
    plan: &Plan,
    format: DeviceFormat,
) -> impl Iterator<Item = u64> {
    table_buffers(graph, schedule, plan, format).into_iter().filter(|&bytes| bytes > 0).map(buffer_bytes)
}

/// Returns the sizes of the input and output textures outside the pool, and of the buffers that transfer their
/// values.
fn io_allocations(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> impl Iterator<Item = u64> {
    let (mut textures, mut buffers) = (Vec::new(), Vec::new());
    // All large inputs share one buffer. Large outputs share one buffer per piece size.
    let (mut largest, mut read) = (0, Vec::new());
    for storage in &schedule.storages {
        let Some(tensor) = storage.tensor() else { continue };
        let spec = format.io_texture(graph, tensor);
        let piece = piece_bytes(spec);
        match storage.kind {
            StorageKind::Intermediate(_) => continue,
            StorageKind::Input(_) if spec.bytes() > PIECE => largest = piece.max(largest),
            StorageKind::Output(_) if spec.bytes() > PIECE && read.contains(&piece) => {}
            StorageKind::Output(_) if spec.bytes() > PIECE => read.push(piece),
            StorageKind::Input(_) | StorageKind::Output(_) => buffers.push(spec.bytes()),
        }
        textures.push(texture_bytes(spec));
    }
    let large = read.into_iter().chain([largest]).filter(|&bytes| bytes > 0);
    textures.into_iter().chain(buffers.into_iter().chain(large).map(buffer_bytes))
}

/// Returns the sizes of the buffers for transfers in the middle of a run.
fn transfers(schedule: &Schedule, format: DeviceFormat) -> impl Iterator<Item = u64> {
    let texel = format.texels.texel_bytes();
    let transfer = |kind: StepKind| match kind {
        StepKind::Upload => Some(Way::Upload),
        StepKind::Download => Some(Way::Download),
        StepKind::Compute | StepKind::PadBorder => None,
    };
    let steps = schedule.steps.iter().filter_map(|step| {
        let rows = step.rows.len().max(1) as u64;
        Some((transfer(step.kind)?, rows * u64::from(schedule.storages[step.to].row_texels) * texel))
    });
    let steps: Vec<(Way, u64)> = steps.collect();
    TransferBuffers::new(format.weights).sizes(&steps, texel).into_iter()
}

/// Returns the sizes of the buffer in which kernels count clamped values, with two words per node, and of its
/// readback buffer. They exist if texels have 16 bits, or if the graph computes indices.
fn count_buffers(graph: &Graph, format: DeviceFormat) -> impl Iterator<Item = u64> {
    let looks_up = |op: &Op| matches!(op, Op::Gather(_) | Op::GatherElements(_));
    let counts = format.texels == TexelFormat::Rgba16Float || graph.nodes.iter().any(|node| looks_up(&node.op));
    counts.then_some([8 * graph.nodes.len() as u64; 2]).into_iter().flatten()
}

impl CompiledModel {
    pub(crate) fn device_format(&self) -> DeviceFormat {
        let Lowering { weights, weight_format, .. } = self.lowering;
        DeviceFormat { weights, weight_format, texels: self.format, max_extent: self.limits.max_extent }
    }

    /// Returns the size of the weights that stay on the device, in bytes, as packed there. What several nodes share is
    /// counted once.
    pub fn resident_weight_bytes(&self) -> u64 {
        let ResidentWeights { groups, textures, specs, .. } =
            self.device_format().resident_weights(&self.graph, &self.schedule);
        let bytes = |(group, texture): (&WeightGroup, usize)| group.texels * specs[texture].format.texel_bytes();
        groups.iter().zip(textures).map(bytes).sum()
    }

    /// Returns the peak device memory of a session of this model in bytes, if it is the only session on its device.
    /// This includes the pool, weights, inputs and outputs, tables, transfer buffers, and half a MiB that wgpu keeps
    /// on each device. Each allocation is counted as lavapipe rounds it, plus 256 bytes for alignment. Other drivers
    /// may round textures differently; `Session::memory` reports the actual size.
    pub fn device_bytes(&self) -> u64 {
        let Self { graph, schedule, plan, .. } = self;
        let format = self.device_format();
        let tables = table_allocations(graph, schedule, plan, format).sum();
        BesidePool::new(graph, schedule, format).most(pool_allocations(plan).sum(), tables)
    }

    /// Returns the total size of the allocator blocks that hold everything a run has on the device.
    pub(crate) fn block_bytes(&self) -> u64 {
        let Self { graph, schedule, plan, .. } = self;
        let format = self.device_format();
        let tables = table_allocations(graph, schedule, plan, format);
        let beside = BesidePool::new(graph, schedule, format);
        block_bytes(beside.while_running().chain(pool_allocations(plan)).chain(tables))
    }

    /// Returns the buffers for uploads in the middle of a run; downloads use an equal set.
    pub fn transfer_buffers(&self) -> TransferBuffers {
        TransferBuffers::new(self.lowering.weights)
    }
}
