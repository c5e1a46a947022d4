//! Places the weights that stay on the device into textures, node by node, with as few textures as possible.

use crate::plan::{TexelFormat, TextureSpec};

/// Maximum width of weight textures, unless one node's weights would become too high. Chosen because at 8192 rows,
/// which core WebGPU allows, a texture of this width holds 8 million texels.
const MAX_WIDTH: usize = 1024;
/// Minimum size of a texture row, in bytes: WebGPU requires that buffers copied to textures have rows of a multiple
/// of this (`COPY_BYTES_PER_ROW_ALIGNMENT`).
const MIN_ROW_BYTES: usize = 256;

/// Consecutive locations of the nodes' weights, in as few textures as possible.
#[derive(Debug)]
pub(crate) struct WeightLayouts {
    /// Maximum extent of a texture.
    limit: usize,
    capacity: usize,
    /// Format and number of texels of each texture.
    textures: Vec<(TexelFormat, usize)>,
    /// Texture, first texel and number of texels of each node.
    places: Vec<(usize, usize, usize)>,
}

impl WeightLayouts {
    /// Creates a layout without textures; their extents may be up to `max_extent`.
    pub(crate) fn new(max_extent: u32) -> Self {
        let limit = max_extent as usize;
        Self { limit, capacity: MAX_WIDTH.saturating_mul(limit), textures: Vec::new(), places: Vec::new() }
    }

    /// Returns the largest power of two within the limit. Widths are powers of two, because kernels locate texels by
    /// shift and mask.
    #[cfg(feature = "gpu")]
    pub(crate) const fn widest(&self) -> usize {
        (self.limit + 1).next_power_of_two() / 2
    }

    /// Adds a node's texels after those of the previous nodes.
    pub(crate) fn add(&mut self, format: TexelFormat, texels: usize) {
        // Uses the last texture of this format.
        let mut texture = self.textures.iter().rposition(|&(other, _)| other == format).unwrap_or(0);
        // All weights of a node must be in one texture.
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

    /// Returns texture, first texel and number of texels of each added node.
    #[cfg(feature = "gpu")]
    pub(crate) fn places(&self) -> &[(usize, usize, usize)] {
        &self.places
    }

    /// Returns width, height and format of each texture.
    pub(crate) fn specs(&self) -> Vec<TextureSpec> {
        self.textures.iter().map(|&(format, texels)| self.spec(format, texels)).collect()
    }

    fn spec(&self, format: TexelFormat, texels: usize) -> TextureSpec {
        let width = texels.isqrt().next_power_of_two().clamp(MIN_ROW_BYTES / format.texel_bytes() as usize, MAX_WIDTH);
        // One operator's weights may exceed the maximum height at that width, as in VGG-19's first dense layer.
        let width = width.max(texels.div_ceil(self.limit.max(1)).next_power_of_two());
        let height = u32::try_from(texels.div_ceil(width)).unwrap_or(u32::MAX);
        TextureSpec { width: u32::try_from(width).unwrap_or(u32::MAX), height, format }
    }
}
