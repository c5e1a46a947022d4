//! Weights: packed node by node into as few textures as the device allows, uploaded once for all sessions of a model.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{
    Gpu, GpuError, Role, TextureSet,
    allocations::Allocations,
    wait::{Submitted, Wait},
};
use crate::{
    graph::{Graph, IdVec, NodeId},
    kernels::WeightPlace,
    ops,
    plan::{TexelFormat, TextureSpec},
};

/// Texels uploaded at a time, 1 MiB in 32 bits. `Queue::write_texture` copies into staging memory that is freed only
/// after a submission, so uploading all weights at once would hold them twice. Chosen.
const UPLOAD_TEXELS: usize = 1 << 16;

/// Width that weight textures do not exceed, unless one node's weights would be too high. Chosen: at 8192 rows, which
/// core WebGPU allows, that holds 8 million texels.
const MAX_WIDTH: usize = 1024;

/// The weights of a model on a device.
#[derive(Debug)]
pub(super) struct WeightTextures {
    textures: TextureSet,
    /// Where each node's begin, by the numbers of `textures`.
    places: IdVec<NodeId, WeightPlace>,
    bytes: u64,
}

impl WeightTextures {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn allocations(&self) -> &Allocations {
        self.textures.allocations()
    }

    /// Adds the textures to a set; answers where each node's weights begin in it.
    pub(super) fn add_to(&self, textures: &mut TextureSet) -> IdVec<NodeId, WeightPlace> {
        let numbers: Vec<usize> = (0..self.textures.len())
            .map(|index| textures.push(self.textures.spec(index), self.textures.texture(index).clone()))
            .collect();
        let place = |place: &WeightPlace| {
            // Nodes without weights have places that nobody reads.
            let texture = numbers.get(place.texture).copied().unwrap_or_default();
            WeightPlace { texture, ..*place }
        };
        self.places.iter().map(place).collect::<Vec<_>>().into()
    }
}

/// The weights that the sessions of one model share, as long as one of them is there. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SharedWeights {
    held: Arc<Mutex<Weak<WeightTextures>>>,
}

impl SharedWeights {
    /// Those that are on the device, else new ones.
    pub(super) async fn get(
        &self,
        gpu: &Gpu,
        wait: Wait,
        graph: &Graph,
        format: TexelFormat,
    ) -> Result<Arc<WeightTextures>, GpuError> {
        if let Some(held) = self.lock().upgrade() {
            return Ok(held);
        }
        // Nothing is locked meanwhile, since a task may go to sleep: where two begin at once, one's are dropped.
        let made = Arc::new(upload(gpu, wait, graph, format).await?);
        // Shared once the device has agreed to them.
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

/// Uploads every node's weights.
async fn upload(gpu: &Gpu, wait: Wait, graph: &Graph, format: TexelFormat) -> Result<WeightTextures, GpuError> {
    let mut textures = TextureSet::new(gpu);
    let limit = gpu.device.limits().max_texture_dimension_2d as usize;
    let capacity = MAX_WIDTH * limit;
    // The largest power of two within the limit, since kernels find a texel by shift and mask.
    let widest = (limit + 1).next_power_of_two() / 2;
    let mut places = vec![WeightPlace::default(); graph.nodes.len()];
    let mut bytes = 0;
    let mut texels: Vec<[f32; 4]> = Vec::new();
    let mut first = 0;
    for (i, node) in graph.nodes.iter().enumerate() {
        let packed = ops::weights(graph, node);
        if packed.len() > widest * limit {
            return Err(GpuError::Limit {
                what: format!("the weights of operator {} ({})", node.op_index, node.op.name()),
                limit: "maxTextureDimension2D",
                needed: packed.len().div_ceil(widest) as u64,
                allowed: limit as u64,
            });
        }
        // The weights of a node lie in one texture.
        if texels.len() + packed.len() > capacity {
            bytes += store(gpu, wait, &mut textures, &mut texels, &mut places[first..i], format, limit).await?;
            first = i;
        }
        (places[i].base, places[i].texels) = (texels.len() as u32, packed.len() as u32);
        texels.extend(packed);
    }
    bytes += store(gpu, wait, &mut textures, &mut texels, &mut places[first..], format, limit).await?;
    Ok(WeightTextures { textures, places: places.into(), bytes })
}

/// Makes one texture of what was packed, if anything was, and notes it in the places of its nodes. Answers its bytes.
async fn store(
    gpu: &Gpu,
    wait: Wait,
    textures: &mut TextureSet,
    texels: &mut Vec<[f32; 4]>,
    places: &mut [WeightPlace],
    format: TexelFormat,
    limit: usize,
) -> Result<u64, GpuError> {
    if texels.is_empty() {
        return Ok(0);
    }
    let width = texels.len().isqrt().next_power_of_two().clamp(16, MAX_WIDTH);
    // One operator's weights may need more rows than there are at that width: those of VGG-19's first dense layer do.
    let width = width.max(texels.len().div_ceil(limit).next_power_of_two());
    let spec = TextureSpec { width: width as u32, height: texels.len().div_ceil(width) as u32, format };
    let texture = textures.create("weights", spec, Role::Weights)?;
    for place in places {
        (place.texture, place.shift) = (texture, spec.shift());
    }
    for (i, chunk) in texels.chunks(UPLOAD_TEXELS).enumerate() {
        // Widths are powers of two and below a chunk's length, so a chunk begins with a row.
        textures.write_rows(texture, (i * UPLOAD_TEXELS / width) as u32, chunk)?;
        // Ends the use of staging memory before more is taken.
        let index = gpu.scoped("uploading weights", || gpu.queue.submit([]))?;
        gpu.done(wait, &Submitted { index }, "an upload of weights").await?;
    }
    texels.clear();
    Ok(spec.bytes())
}
