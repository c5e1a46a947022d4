//! The textures of the weights that stay on the device: node by node, in as few as have room for them.

use crate::plan::{TexelFormat, TextureSpec};

/// Width that weight textures do not exceed, unless one node's weights would be too high. Chosen: at 8192 rows, which
/// core WebGPU allows, that holds 8 million texels.
const MAX_WIDTH: usize = 1024;
/// Bytes of a row at least: what is copied from a buffer has rows of a multiple of them, as WebGPU asks
/// (`COPY_BYTES_PER_ROW_ALIGNMENT`).
const MIN_ROW_BYTES: usize = 256;

/// Nodes' texels one after another, in as few textures as have room for them.
#[derive(Debug)]
pub(crate) struct WeightLayouts {
    /// The largest extent of a texture.
    limit: usize,
    capacity: usize,
    /// The format of each texture, and its texels.
    textures: Vec<(TexelFormat, usize)>,
    /// Of each node its texture, its first texel, and how many there are.
    places: Vec<(usize, usize, usize)>,
}

impl WeightLayouts {
    /// No textures yet, whose extents may be so large.
    pub(crate) fn new(max_extent: u32) -> Self {
        let limit = max_extent as usize;
        Self { limit, capacity: MAX_WIDTH.saturating_mul(limit), textures: Vec::new(), places: Vec::new() }
    }

    /// The largest power of two within the limit, since kernels find a texel by shift and mask.
    #[cfg(feature = "gpu")]
    pub(crate) const fn widest(&self) -> usize {
        (self.limit + 1).next_power_of_two() / 2
    }

    /// Adds a node's texels behind those of the nodes before.
    pub(crate) fn add(&mut self, format: TexelFormat, texels: usize) {
        // The last one that holds such weights.
        let mut texture = self.textures.iter().rposition(|&(other, _)| other == format).unwrap_or(0);
        // The weights of a node lie in one texture.
        let held = self.textures.get(texture).filter(|(other, _)| *other == format).map(|&(_, held)| held);
        if texels > 0 && held.is_none_or(|held| held.saturating_add(texels) > self.capacity) {
            texture = self.textures.len();
            self.textures.push((format, 0));
        }
        let base = self.textures.get(texture).map_or(0, |&(_, held)| held);
        self.places.push((texture, base, texels));
        if let Some((_, held)) = self.textures.get_mut(texture) {
            *held = held.saturating_add(texels);
        }
    }

    /// Of each node that was added its texture, its first texel, and how many there are.
    #[cfg(feature = "gpu")]
    pub(crate) fn places(&self) -> &[(usize, usize, usize)] {
        &self.places
    }

    /// Width, height and format of each texture.
    pub(crate) fn specs(&self) -> Vec<TextureSpec> {
        self.textures.iter().map(|&(format, texels)| self.spec(format, texels)).collect()
    }

    fn spec(&self, format: TexelFormat, texels: usize) -> TextureSpec {
        let width = texels.isqrt().next_power_of_two().clamp(MIN_ROW_BYTES / format.texel_bytes() as usize, MAX_WIDTH);
        // One operator's weights may need more rows than there are at that width: those of VGG-19's first dense layer do.
        let width = width.max(texels.div_ceil(self.limit.max(1)).next_power_of_two());
        let height = u32::try_from(texels.div_ceil(width)).unwrap_or(u32::MAX);
        TextureSpec { width: u32::try_from(width).unwrap_or(u32::MAX), height, format }
    }
}
