//! What a session of a compiled model will take of the device's memory, reckoned without a device.

use std::collections::BTreeSet;

use super::{
    io_texture::io_texture,
    model::{CompiledModel, Lowering},
    options::{CompileOptions, WeightFormat, WeightStorage},
    transfer_buffers::TransferBuffers,
    weight_format::packings,
};
use crate::{
    graph::{Graph, TensorId},
    kernels::{EpilogueParams, UNIFORM_WORDS},
    ops,
    plan::{Plan, RowTable, TexelFormat},
    schedule::{Schedule, StepKind, StorageKind},
};

/// Bytes that go to the device or back at a time, where they are loaded or lie in textures of their own.
/// `Queue::write_texture` would take as much for each call, and give it back only after a submission. Measured on lavapipe, 14 MiB: 4.7 ms in pieces of 64 KiB, 1.6 ms of 256 KiB, 2.0 ms of 1 MiB.
pub(crate) const PIECE: u64 = 256 << 10;

/// Bytes that no session asks for: zeros that wgpu keeps on each device (512 KiB and 304 bytes, wgpu 30), and what drivers
/// leave out for alignment (16 KiB of MobileNet v2 on lavapipe, doubled).
const DRIVER: u64 = 544 << 10;

/// Bytes of a step's parameters without row tables, rounded up to where the next may begin: 10 groups of four words that
/// all kernels have, and as many as the largest kernel has of its own.
const BLOCK: u64 = 320;

/// Bytes of a texel of words.
const WORDS_BYTES: u64 = 16;

/// What the bytes of a model on a device depend on beside its steps and its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceFormat {
    /// Where weights are while it runs.
    pub(super) weights: WeightStorage,
    /// How those are stored that stay on the device.
    pub(super) weight_format: WeightFormat,
    /// Of all other texels.
    pub(super) texels: TexelFormat,
    /// The largest extent of a texture.
    pub(super) max_extent: u32,
}

impl DeviceFormat {
    /// As a model is compiled.
    pub(super) const fn of(options: &CompileOptions) -> Self {
        let CompileOptions { weights, weight_format, format, limits, .. } = options;
        Self { weights: *weights, weight_format: *weight_format, texels: *format, max_extent: limits.max_extent }
    }
}

/// What lies on the device beside the pool, as far as it follows from what is streamed: the bytes of each allocation.
pub(super) fn beside_pool(graph: &Graph, schedule: &Schedule, format: DeviceFormat) -> Vec<u64> {
    let DeviceFormat { weights: weights_in, weight_format, texels: format, max_extent } = format;
    let texel = format.texel_bytes();
    // A texture has whole rows, of at most so many texels.
    let texture = |texels: u64, bytes: u64| if texels > 0 { texels.next_multiple_of(1024) * bytes } else { 0 };
    let [texels, words] = resident_weights(graph, schedule, weight_format, format);
    let weights = [texture(texels, texel), texture(words, WORDS_BYTES)];
    // Zeros, and the texel for what dispatches leave open.
    let mut all = vec![DRIVER, texel];
    all.extend(weights);
    let io_bytes = |tensor: TensorId| io_texture(graph.shape(tensor), format, max_extent).bytes();
    for storage in &schedule.storages {
        let (Some(tensor), false) = (storage.tensor(), matches!(storage.kind, StorageKind::Intermediate(_))) else {
            continue;
        };
        all.push(io_bytes(tensor));
        // Large ones share one buffer on the way in.
        all.push(match (storage.kind, io_bytes(tensor)) {
            (StorageKind::Input(_), bytes) if bytes > PIECE => 0,
            (_, bytes) => bytes.min(PIECE),
        });
    }
    let large_input = graph.inputs.iter().any(|&input| !schedule.is_pooled(input) && io_bytes(input) > PIECE);
    if weights != [0, 0] || large_input {
        all.push(PIECE);
    }
    for kind in [StepKind::Upload, StepKind::Download] {
        let steps = schedule.steps.iter().filter(|step| step.kind == kind);
        let texels = steps.map(|step| step.rows.len().max(1) as u64 * u64::from(schedule.storages[step.to].row_texels));
        all.extend(TransferBuffers::new(weights_in).taken(texels.sum::<u64>() * texel));
    }
    all.retain(|&bytes| bytes > 0);
    all
}

/// Texels of the weights that stay on the device: those that lie in texels of the pool's format, and those in words.
fn resident_weights(graph: &Graph, schedule: &Schedule, weights: WeightFormat, format: TexelFormat) -> [u64; 2] {
    let streamed = schedule.streamed();
    let packings = packings(graph, weights, format, |id| streamed.contains(id));
    let firsts = ops::same_weights(graph, &packings, |id| !streamed.contains(id));
    let mut all = [0, 0];
    for ((id, node), &packing) in graph.nodes.iter_enumerated().zip(packings.iter()) {
        if !streamed.contains(id) && firsts[id] == id {
            all[usize::from(packing.is_words())] += ops::packed_weight_texels(graph, node, packing);
        }
    }
    all
}

/// Bytes of the device's memory that a session of a plan takes, by itself on its device, reckoned from above.
pub(super) fn planned_bytes(graph: &Graph, schedule: &Schedule, plan: &Plan, format: DeviceFormat) -> u64 {
    plan.bytes() + beside_pool(graph, schedule, format).iter().sum::<u64>() + tables(graph, schedule, plan)
}

impl CompiledModel {
    /// Bytes of the weights that stay on the device, as they are packed there.
    pub fn resident_weight_bytes(&self) -> u64 {
        let Self { graph, schedule, format, .. } = self;
        let [texels, words] = resident_weights(graph, schedule, self.lowering.weight_format, *format);
        texels * format.texel_bytes() + words * WORDS_BYTES
    }

    /// Bytes of the device's memory that a session of it takes, by itself on its device: pool, weights, inputs and outputs,
    /// tables, buffers for transfers, and half a MiB that wgpu keeps on each device. Reckoned from above by some tens of
    /// kilobytes; [`Session::memory`](crate::Session::memory) says what it came to.
    pub fn device_bytes(&self) -> u64 {
        let Lowering { weights, weight_format, .. } = self.lowering;
        let max_extent = self.limits.max_extent;
        let format = DeviceFormat { weights, weight_format, texels: self.format, max_extent };
        planned_bytes(&self.graph, &self.schedule, &self.plan, format)
    }

    /// The buffers that uploads in the middle of a run go through, and as many for downloads.
    #[cfg(feature = "gpu")]
    pub(crate) fn transfer_buffers(&self) -> TransferBuffers {
        TransferBuffers::new(self.lowering.weights)
    }
}

/// Parameters and row tables: of each operator, or size of its tiles, a block; rows that lie anywhere take a word each, wherever
/// an operator reads or writes them.
pub(super) fn tables(graph: &Graph, schedule: &Schedule, plan: &Plan) -> u64 {
    let rows = |tensor: TensorId| -> u64 {
        let Some(Some(storage)) = schedule.storage_of.get(tensor).copied() else { return 4 };
        match schedule.record(storage).and_then(|record| plan.placements.get(record)).map(|placed| &placed.rows) {
            Some(RowTable::Ring { .. } | RowTable::Scattered { .. }) => 4 * graph.shape(tensor).rows() as u64,
            _ => 4,
        }
    };
    let (mut all, mut longest) = (0, 0);
    let mut seen = BTreeSet::new();
    for step in schedule.steps.iter().filter(|step| !step.kind.is_transfer()) {
        let node = &graph.nodes[step.node];
        // Tiles of an operator's weights that are as large as each other share a block, but for where PReLU's alphas lie.
        let alphas = EpilogueParams::new(graph, node, 0).reads_weights();
        let tile = if alphas { step.slices.start } else { step.slices.len() as u32 };
        if !seen.insert((step.node, tile)) {
            continue;
        }
        let dispatches = ops::dispatch_rows(graph, node).len() as u64;
        let block = BLOCK + node.operands().chain([node.output]).map(rows).sum::<u64>();
        all += (block * dispatches).next_multiple_of(64);
        longest = longest.max(block);
    }
    // Behind the last block there is room for the longest that a shader may see.
    all + UNIFORM_WORDS.map(|words| 4 * u64::from(words)).into_iter().find(|&bytes| longest <= bytes).unwrap_or(0)
}
