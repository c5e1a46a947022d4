//! Places the weights that stay on the device into textures, group by group, with as few textures as possible.

use texpool_ops::{
    graph::{Graph, IdVec, NodeId, NodeSet},
    kernels::{SectionRole, WeightPacking, WeightPlace},
    ops::{NodeSections, WeightGroup, WeightGroups},
};
use texpool_plan::{TexelFormat, TextureSpec};

/// Maximum width of weight textures, unless one group's weights would become too high. Chosen because at 8192 rows,
/// which core WebGPU allows, a texture of this width holds 8 million texels.
const MAX_WIDTH: usize = 1024;
/// Minimum size of a texture row, in bytes: WebGPU requires that buffers copied to textures have rows of a multiple
/// of this (`COPY_BYTES_PER_ROW_ALIGNMENT`).
const MIN_ROW_BYTES: usize = 256;

/// The weights that stay on the device, with their locations.
#[derive(Debug)]
pub struct ResidentWeights {
    /// The groups, each stored in one piece.
    pub groups: Vec<WeightGroup>,
    /// Texture of each group.
    pub textures: Vec<usize>,
    /// Width, height and format of each texture.
    pub specs: Vec<TextureSpec>,
    /// Location of each node's weights.
    pub places: IdVec<NodeId, WeightPlace>,
}

impl ResidentWeights {
    /// Places the weights of all nodes except `streamed`, which are packed as `packings` and else as `texels`. A
    /// texture has at most `max_extent` texels in each direction, unless one node has more weights.
    pub fn new(
        graph: &Graph,
        packings: &IdVec<NodeId, WeightPacking>,
        streamed: &NodeSet,
        texels: TexelFormat,
        max_extent: u32,
    ) -> Self {
        let mut layouts = WeightLayouts::new(max_extent);
        let WeightGroups { groups, nodes } =
            WeightGroups::new(graph, packings, layouts.most(), |id| !streamed.contains(id));
        let add = |group: &WeightGroup| {
            let format = if group.packing.is_words() { TexelFormat::Rgba32Uint } else { texels.of_floats() };
            layouts.add(format, usize::try_from(group.texels).unwrap_or(usize::MAX))
        };
        let bases: Vec<(usize, usize)> = groups.iter().map(add).collect();
        let specs = layouts.specs();
        let place = |(id, sections): (NodeId, &Option<NodeSections>)| {
            let packing = packings.get(id).copied().unwrap_or_default();
            // Nodes without weights get a place that is never read.
            let Some(NodeSections { group, sections }) = sections else {
                return WeightPlace { packing, ..WeightPlace::default() };
            };
            let (texture, base) = bases[*group];
            // Beyond 32 bits, the upload reports an error.
            let at = |texel: u64| u32::try_from((base as u64).saturating_add(texel)).unwrap_or(u32::MAX);
            let (mut starts, mut end) = ([at(0); SectionRole::COUNT], 0);
            for &(role, index) in sections {
                let section = &groups[*group].sections[index];
                starts[role as usize] = at(section.start);
                end = end.max(at(section.start + section.texels));
            }
            let shift = specs.get(texture).map_or(0, TextureSpec::shift);
            WeightPlace { texture, starts, end, skipped: 0, shift, packing, bytes_from: None }
        };
        let places = nodes.iter_enumerated().map(place).collect();
        let textures = bases.iter().map(|&(texture, _)| texture).collect();
        Self { textures, specs, places, groups }
    }
}

/// Consecutive locations of groups of weights, in as few textures as possible.
#[derive(Debug)]
struct WeightLayouts {
    /// Maximum extent of a texture.
    limit: usize,
    capacity: usize,
    /// Format and number of texels of each texture.
    textures: Vec<(TexelFormat, usize)>,
}

impl WeightLayouts {
    /// Creates a layout without textures; their extents may be up to `max_extent`.
    fn new(max_extent: u32) -> Self {
        let limit = max_extent as usize;
        Self { limit, capacity: MAX_WIDTH.saturating_mul(limit), textures: Vec::new() }
    }

    /// Returns the number of texels of the largest texture.
    const fn most(&self) -> u64 {
        widest_texture(self.limit) as u64 * self.limit as u64
    }

    /// Adds a group's texels after those of the previous groups. Returns their texture and the first of them.
    fn add(&mut self, format: TexelFormat, texels: usize) -> (usize, usize) {
        // Uses the last texture of this format.
        let mut texture = self.textures.iter().rposition(|&(other, _)| other == format).unwrap_or(0);
        // All weights of a group must be in one texture.
        let used = self.textures.get(texture).filter(|(other, _)| *other == format).map(|&(_, used)| used);
        if texels > 0 && used.is_none_or(|used| used.saturating_add(texels) > self.capacity) {
            texture = self.textures.len();
            self.textures.push((format, 0));
        }
        let base = self.textures.get(texture).map_or(0, |&(_, used)| used);
        if let Some((_, used)) = self.textures.get_mut(texture) {
            *used = used.saturating_add(texels);
        }
        (texture, base)
    }

    /// Returns width, height and format of each texture.
    fn specs(&self) -> Vec<TextureSpec> {
        self.textures.iter().map(|&(format, texels)| self.spec(format, texels)).collect()
    }

    fn spec(&self, format: TexelFormat, texels: usize) -> TextureSpec {
        let width = texels.isqrt().next_power_of_two().clamp(MIN_ROW_BYTES / format.texel_bytes() as usize, MAX_WIDTH);
        // One group's weights may exceed the maximum height at that width, as in VGG-19's first dense layer.
        let width = width.max(texels.div_ceil(self.limit.max(1)).next_power_of_two());
        let height = u32::try_from(texels.div_ceil(width)).unwrap_or(u32::MAX);
        TextureSpec { width: u32::try_from(width).unwrap_or(u32::MAX), height, format }
    }
}

/// Returns the width of the widest texture within a limit. Widths are powers of two, because kernels locate texels by
/// shift and mask.
pub const fn widest_texture(limit: usize) -> usize {
    (limit + 1).next_power_of_two() / 2
}
