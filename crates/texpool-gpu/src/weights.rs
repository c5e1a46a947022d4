//! Weights that stay on the device: packed group by group into as few textures as the device allows, and uploaded once
//! for all sessions of a model.

use std::{
    collections::BTreeMap,
    mem,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{
    Clamp, ClampedValues, Gpu, GpuError, Role, TextureSet,
    account::Account,
    allocations::{Allocations, WEIGHTS},
    packed_weights::PackedWeights,
    staging::Staging,
    textures::row_bytes,
    transfer::Transfer,
    wait::Wait,
    weight_source::WeightSource,
};
use texpool_compile::{CompiledModel, ResidentWeights, piece_bytes, widest_texture};
use texpool_ops::{
    graph::{IdVec, NodeId, TensorId},
    kernels::WeightPlace,
};
use texpool_plan::{TexelFormat, TextureSpec};
use tracing::Instrument;

/// Weights of a model on a device.
#[derive(Debug)]
pub(super) struct WeightTextures {
    textures: TextureSet,
    /// Place of each node's weights; texture indices refer to `textures`.
    places: IdVec<NodeId, WeightPlace>,
    /// Weights that are uploaded in every run.
    packed: PackedWeights,
    /// Constants with values that their textures do not hold.
    clamped: Vec<ClampedValues>,
    bytes: u64,
}

impl WeightTextures {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn packed(&self) -> &PackedWeights {
        &self.packed
    }

    /// Returns the constants with values that their textures do not hold.
    pub(super) fn clamped(&self) -> &[ClampedValues] {
        &self.clamped
    }

    pub(super) fn allocations(&self) -> &Allocations {
        self.textures.allocations()
    }

    /// Adds the textures to a set; returns the place of each node's weights in that set.
    pub(super) fn add_to(&self, textures: &mut TextureSet) -> IdVec<NodeId, WeightPlace> {
        let numbers: Vec<usize> = (0..self.textures.len())
            .map(|index| textures.push(self.textures.spec(index), self.textures.texture(index).clone()))
            .collect();
        let place = |place: &WeightPlace| {
            // Nodes without weights get a place that is never read.
            let texture = numbers.get(place.texture).copied().unwrap_or_default();
            WeightPlace { texture, ..*place }
        };
        self.places.iter().map(place).collect::<Vec<_>>().into()
    }
}

/// Weights shared by the sessions of one model, for as long as at least one session exists. Clones share the same
/// weights.
#[derive(Clone, Debug, Default)]
pub struct SharedWeights {
    held: Arc<Mutex<Weak<WeightTextures>>>,
    /// Folder for the packed weights that are uploaded in every run; they stay in memory if `None`.
    folder: Option<Arc<Path>>,
}

impl SharedWeights {
    /// Keeps packed weights that are uploaded in every run in a file in `folder`; the file is written if it does not
    /// exist yet. Each read is verified against checksums, and a damaged or truncated file is packed again.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn kept_in(folder: impl Into<Arc<Path>>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }

    /// Returns the weights on the device, or uploads them. `account` tracks the memory during the upload.
    pub(super) async fn get(
        &self,
        gpu: &Gpu,
        wait: Wait,
        compiled: &Arc<CompiledModel>,
        account: &Account,
    ) -> Result<Arc<WeightTextures>, GpuError> {
        if let Some(held) = self.lock().upgrade() {
            return Ok(held);
        }
        // The lock is not held during the upload, since a task may be suspended. If two sessions upload at once, one
        // result is dropped.
        let upload = upload(gpu, wait, compiled, account, self.folder.as_deref());
        let made = Arc::new(upload.instrument(tracing::debug_span!("weights")).await?);
        // Shared only after the device has confirmed them.
        gpu.settle().await?;
        let mut held = self.lock();
        if let Some(other) = held.upgrade() {
            return Ok(other);
        }
        *held = Arc::downgrade(&made);
        Ok(made)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Weak<WeightTextures>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Uploads the weights that stay on the device, and packs the others, which are uploaded in every run.
async fn upload(
    gpu: &Gpu,
    wait: Wait,
    compiled: &Arc<CompiledModel>,
    account: &Account,
    folder: Option<&Path>,
) -> Result<WeightTextures, GpuError> {
    let source = WeightSource::new(compiled);
    let graph = source.graph;
    let streamed = compiled.schedule().streamed();
    let limit = gpu.device.limits().max_texture_dimension_2d;
    let ResidentWeights { groups, textures: texture_of_group, specs, places } = source.resident(&streamed, limit);
    let (widest, limit) = (widest_texture(limit as usize) as u64, u64::from(limit));
    for group in &groups {
        if let Some(first) = group.sections.first().filter(|_| group.texels > widest * limit) {
            let node = &graph.nodes[first.node];
            return Err(GpuError::Limit {
                what: format!("the weights of operator {} ({})", node.op_index, node.op.name()),
                node: Some(node.op_index),
                limit: "maxTextureDimension2D",
                needed: group.texels.div_ceil(widest),
                allowed: limit,
            });
        }
    }
    let mut textures = TextureSet::new(gpu);
    for &spec in &specs {
        textures.create(WEIGHTS, spec, Role::Weights)?;
    }
    let mut writer =
        TexelWriter { gpu, wait, account, textures: &textures, texture: 0, row: 0, bytes: Vec::new(), transfer: None };
    // Fills one texture after another, each from its start.
    for texture in 0..specs.len() {
        for (group, _) in groups.iter().zip(&texture_of_group).filter(|&(_, &place)| place == texture) {
            for piece in source.pieces(group) {
                writer.write(texture, &piece).await?;
            }
        }
    }
    writer.flush().await?;
    let bytes = specs.iter().map(TextureSpec::bytes).sum();
    let packed = PackedWeights::new(compiled, &source, &streamed, folder);
    let clamped = clamped_constants(&source, compiled.rounded_beyond());
    Ok(WeightTextures { textures, places, packed, clamped, bytes })
}

/// Writes texels sequentially, a few rows at a time.
struct TexelWriter<'a> {
    gpu: &'a Gpu,
    wait: Wait,
    account: &'a Account,
    textures: &'a TextureSet,
    texture: usize,
    /// The first row that is not written yet.
    row: u32,
    /// Pending bytes, to be written from that row on.
    bytes: Vec<u8>,
    /// Transfer buffer, once created for the current texture.
    transfer: Option<Transfer>,
}

impl TexelWriter<'_> {
    async fn write(&mut self, texture: usize, mut bytes: &[u8]) -> Result<(), GpuError> {
        if texture != self.texture {
            self.flush().await?;
            (self.texture, self.row, self.transfer) = (texture, 0, None);
        }
        // Whole rows, so that each piece starts at the beginning of a row.
        let most = piece_bytes(self.textures.spec(texture)) as usize;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(most - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.bytes.len() == most {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), GpuError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let Self { gpu, wait, textures, texture, .. } = *self;
        let (what, spec) = ("an upload of weights", textures.spec(texture));
        let transfer = match &mut self.transfer {
            Some(transfer) => transfer,
            none => {
                let staging = Staging::new(Arc::clone(textures.allocations()));
                none.insert(Transfer::new(gpu, &staging, what, spec)?)
            }
        };
        self.account.note(gpu, Some(textures.allocations()));
        // The last row may be incomplete.
        let mut bytes = mem::take(&mut self.bytes);
        let span = tracing::debug_span!("upload", bytes = bytes.len() as u64);
        bytes.resize(bytes.len().next_multiple_of(row_bytes(spec)), 0);
        transfer
            .write_rows(gpu, wait, what, (textures.texture(texture), spec), self.row, &bytes)
            .instrument(span)
            .await?;
        self.row += (bytes.len() / row_bytes(spec)) as u32;
        bytes.clear();
        self.bytes = bytes;
        Ok(())
    }
}

/// Returns the constants with finite values that are stored as the largest 16-bit float, in the order of the graph's
/// tensors. `rounded` has the counts of weights that are 16-bit floats already because they were rounded.
///
/// Counts the elements of the model and not packed texels. So a constant counts once however many nodes share it, and
/// the counts are the same for weights that a file of packed weights holds already.
fn clamped_constants(source: &WeightSource<'_>, rounded: &BTreeMap<TensorId, u64>) -> Vec<ClampedValues> {
    let graph = source.graph;
    let mut counts: BTreeMap<TensorId, u64> = BTreeMap::new();
    for (id, node) in graph.nodes.iter_enumerated() {
        for (index, tensor) in node.operands().enumerate() {
            let Some(constant) = &graph.tensors[tensor].constant else { continue };
            // Only the weights themselves are packed as words, not biases and alphas.
            let is_texels = index != 1 || !source.packing(id).is_words();
            if is_texels && source.format == TexelFormat::Rgba16Float && !rounded.contains_key(&tensor) {
                counts.entry(tensor).or_insert_with(|| constant.beyond_half());
            } else if let Some(&count) = rounded.get(&tensor) {
                counts.insert(tensor, count);
            }
        }
    }
    let clamped = counts.into_iter().filter(|&(_, count)| count > 0).map(|(tensor, count)| ClampedValues {
        clamp: Clamp::Saturated,
        node: None,
        op: "constant",
        tensor: graph.tensors[tensor].name.clone(),
        count,
    });
    clamped.collect()
}
