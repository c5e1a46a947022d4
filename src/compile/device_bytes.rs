//! The bytes of the device's memory that a session of a compiled model takes, counted without a device: each texture and
//! each buffer that the session makes, at the moment when there are most of them.

use super::{
    allocator_blocks::block_bytes,
    device_format::DeviceFormat,
    model::{CompiledModel, Lowering},
    tables::table_buffers,
    transfer_buffers::{TransferBuffers, Way},
    weight_textures::WeightLayouts,
};
use crate::{
    graph::{Graph, Op},
    ops,
    plan::{Plan, TexelFormat, TextureSpec},
    schedule::{Schedule, StepKind, StorageKind},
};

/// Bytes that go to the device or back at a time, where they are loaded or lie in textures of their own.
/// `Queue::write_texture` would take as much for each call, and give it back only after a submission. Measured on lavapipe,
/// 14 MiB: 4.7 ms in pieces of 64 KiB, 1.6 ms of 256 KiB, 2.0 ms of 1 MiB.
pub(crate) const PIECE: u64 = 256 << 10;

/// What wgpu 30 keeps on each device for itself: zeros that it clears textures with, and 304 bytes more.
pub(super) const WGPU: [u64; 2] = [512 << 10, 304];

/// Bytes that the allocator leaves out in front of a texture or buffer at most, so that it begins where it may. Measured on
/// lavapipe.
const ALIGNMENT: u64 = 256;

/// Rows of a texture and bytes of each row that lavapipe rounds up to: it lays textures out in tiles of four by four
/// texels. How other drivers round is not known without a device.
const TEXTURE_ROWS: u32 = 4;
const ROW_BYTES: u64 = 64;

/// Bytes of a piece of a texture that is written piece by piece: whole rows.
pub(crate) fn piece_bytes(spec: TextureSpec) -> u64 {
    let row = u64::from(spec.width) * spec.format.texel_bytes();
    spec.bytes().min((PIECE - PIECE % row.max(1)).max(row))
}

/// What the driver sets aside for a texture.
fn texture_bytes(spec: TextureSpec) -> u64 {
    let row = u64::from(spec.width.next_multiple_of(TEXTURE_ROWS)) * spec.format.texel_bytes();
    let rows = u64::from(spec.height).next_multiple_of(u64::from(TEXTURE_ROWS));
    row.next_multiple_of(ROW_BYTES) * rows + ALIGNMENT
}

/// The same for a buffer.
const fn buffer_bytes(bytes: u64) -> u64 {
    bytes.next_multiple_of(ROW_BYTES) + ALIGNMENT
}

/// What a session makes beside the pool and the tables: the bytes of each allocation.
#[derive(Clone, Debug)]
pub(super) struct BesidePool {
    /// There from loading on.
    resident: Vec<u64>,
    /// There while weights are loaded, before there is a pool.
    loading: u64,
    /// There while the model runs: textures of inputs and outputs, and buffers that values go through.
    running: Vec<u64>,
}

impl BesidePool {
    pub(super) fn new(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> Self {
        // What dispatches leave open is bound to a texture of one texel.
        let spare = TextureSpec { width: 1, height: 1, format: format.texels };
        let weights = weight_textures(graph, schedule, format);
        let loading = weights.iter().map(|&spec| buffer_bytes(piece_bytes(spec))).max().unwrap_or(0);
        let resident = WGPU.into_iter().chain([spare].into_iter().chain(weights).map(texture_bytes)).collect();
        let buffers = transfers(schedule, format).chain(count_buffers(graph, format));
        let running = io_allocations(graph, schedule, format).chain(buffers.map(buffer_bytes));
        Self { resident, loading, running: running.collect() }
    }

    /// Bytes at the moment when there are most of them, with a pool and tables of so many.
    pub(super) fn most(&self, pool: u64, tables: u64) -> u64 {
        let resident: u64 = self.resident.iter().sum();
        // The queue uploads tables through a buffer of its own.
        let placing = pool + 2 * tables;
        let running = pool + tables + self.running.iter().sum::<u64>();
        resident + self.loading.max(placing).max(running)
    }

    /// What there is beside pool and tables while the model runs, one by one.
    pub(super) fn while_running(&self) -> impl Iterator<Item = u64> + '_ {
        self.resident.iter().chain(&self.running).copied()
    }
}

/// What the driver sets aside for a pool, texture by texture.
pub(super) fn pool_allocations(plan: &Plan) -> impl Iterator<Item = u64> + '_ {
    plan.textures.iter().map(|&spec| texture_bytes(spec))
}

/// What it sets aside for the tables of a plan, buffer by buffer.
pub(super) fn table_allocations(
    graph: &Graph,
    schedule: &Schedule,
    plan: &Plan,
    format: DeviceFormat,
) -> impl Iterator<Item = u64> {
    table_buffers(graph, schedule, plan, format).into_iter().filter(|&bytes| bytes > 0).map(buffer_bytes)
}

/// The textures of inputs and outputs that lie beside the pool, and the buffers that their values go through.
fn io_allocations(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> impl Iterator<Item = u64> {
    let (mut textures, mut buffers) = (Vec::new(), Vec::new());
    // Large inputs share one buffer, and large outputs of one size another.
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

/// The buffers that values go through in the middle of a run.
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
    TransferBuffers::new(format.weights).made(&steps, texel).into_iter()
}

/// The weights that stay on the device, without those that nodes share with a node before them: the format of their
/// texels, and how many there are.
fn resident_weights(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> Vec<(TexelFormat, u64)> {
    let streamed = schedule.streamed();
    let packings = format.packings(graph, schedule);
    let firsts = ops::same_weights(graph, &packings, |id| !streamed.contains(id));
    let nodes = graph.nodes.iter_enumerated().zip(packings.iter());
    let resident = nodes.filter(|&((id, _), _)| !streamed.contains(id) && firsts[id] == id);
    let texels = resident.map(|((_, node), &packing)| {
        let format = if packing.is_words() { TexelFormat::Rgba32Uint } else { format.texels };
        (format, ops::packed_weight_texels(graph, node, packing))
    });
    texels.collect()
}

/// The buffer in which kernels count what they clamp, two words a node, and the one through which it is read: in 16 bits, and
/// where indices are computed.
fn count_buffers(graph: &Graph, format: DeviceFormat) -> impl Iterator<Item = u64> {
    let looks_up = |op: &Op| matches!(op, Op::Gather(_) | Op::GatherElements(_));
    let counts = format.texels == TexelFormat::Rgba16Float || graph.nodes.iter().any(|node| looks_up(&node.op));
    counts.then_some([8 * graph.nodes.len() as u64; 2]).into_iter().flatten()
}

/// The textures of the weights that stay on the device.
fn weight_textures(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> Vec<TextureSpec> {
    let mut layouts = WeightLayouts::new(format.max_extent);
    for (format, texels) in resident_weights(graph, schedule, format) {
        layouts.add(format, usize::try_from(texels).unwrap_or(usize::MAX));
    }
    layouts.specs()
}

impl CompiledModel {
    fn device_format(&self) -> DeviceFormat {
        let Lowering { weights, weight_format, .. } = self.lowering;
        DeviceFormat { weights, weight_format, texels: self.format, max_extent: self.limits.max_extent }
    }

    /// Bytes of the weights that stay on the device, as they are packed there.
    pub fn resident_weight_bytes(&self) -> u64 {
        let weights = resident_weights(&self.graph, &self.schedule, self.device_format());
        weights.into_iter().map(|(format, texels)| format.texel_bytes() * texels).sum()
    }

    /// Bytes of the device's memory that a session of it takes at most, by itself on its device: pool, weights, inputs and
    /// outputs, tables, buffers for transfers, and half a MiB that wgpu keeps on each device. Counted is what lavapipe sets
    /// aside for each of them, and 256 bytes each for alignment; other drivers may round textures otherwise, which
    /// [`Session::memory`](crate::Session::memory) says.
    pub fn device_bytes(&self) -> u64 {
        let Self { graph, schedule, plan, .. } = self;
        let format = self.device_format();
        let tables = table_allocations(graph, schedule, plan, format).sum();
        BesidePool::new(graph, schedule, format).most(pool_allocations(plan).sum(), tables)
    }

    /// Bytes of the blocks that the allocator takes from the driver for what a run of it has on the device.
    pub(super) fn block_bytes(&self) -> u64 {
        let Self { graph, schedule, plan, .. } = self;
        let format = self.device_format();
        let tables = table_allocations(graph, schedule, plan, format);
        let beside = BesidePool::new(graph, schedule, format);
        block_bytes(beside.while_running().chain(pool_allocations(plan)).chain(tables))
    }

    /// The buffers that uploads in the middle of a run go through, and as many for downloads.
    #[cfg(feature = "gpu")]
    pub(crate) fn transfer_buffers(&self) -> TransferBuffers {
        TransferBuffers::new(self.lowering.weights)
    }
}
