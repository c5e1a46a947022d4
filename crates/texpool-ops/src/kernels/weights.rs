//! Weights of a node in a texture: their packing, the sections that are packed from certain constants, and the division
//! of these by slices of the result.

use std::{fmt, ops::Range};

use crate::graph::{Constant, Graph, TensorId};

/// Packing of a node's weights in their texture. Values other than the weights themselves (biases, scales, alphas)
/// are stored as four 32-bit floats per texel in a texture of words, and as ordinary texels otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WeightPacking {
    /// Texels of the pool's format, four weights each.
    #[default]
    Texels,
    /// 16-bit floats in words, eight weights per texel.
    Halves,
    /// 8-bit integers in words, sixteen weights per texel. Before the weights of each slice of the result come a
    /// scale and a zero point for each of its channels.
    Bytes,
}

impl WeightPacking {
    /// All packings.
    pub const ALL: [Self; 3] = [Self::Texels, Self::Halves, Self::Bytes];

    /// Returns whether the texture consists of words (`Rgba32Uint`, regardless of the pool's format). The bits pass
    /// through no float conversion between writing and reading, so they are the same on every device.
    pub const fn is_words(self) -> bool {
        match self {
            Self::Texels => false,
            Self::Halves | Self::Bytes => true,
        }
    }

    /// Returns the number of pool texels that hold as many weights as one texel of this packing.
    pub(crate) const fn per_texel(self) -> usize {
        match self {
            Self::Texels => 1,
            Self::Halves => 2,
            Self::Bytes => 4,
        }
    }

    /// Returns the number of texels for one slice of the result, including scales and zero points, if its weights
    /// take `of_pool` texels in the pool's format.
    pub(crate) const fn slice_texels(self, of_pool: usize) -> usize {
        let scale_texels = match self {
            Self::Texels | Self::Halves => 0,
            Self::Bytes => 2,
        };
        scale_texels + of_pool.div_ceil(self.per_texel())
    }
}

/// An operand of an operator, as weights per channel of the result. Packed as texels, the weights of each slice
/// of the result are contiguous, with one channel per lane; the biases follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelWeights {
    /// Position of the operand.
    pub(crate) operand: usize,
    /// Axis of the operand `[B, H, W, C]` that corresponds to the channels of the result.
    pub(crate) axis: usize,
    /// Number of texels per slice.
    pub(crate) slice_texels: usize,
}

/// Produces weight texels in pieces, each computed on demand, so that large weights are never packed all at once.
pub type WeightPieces<'a> = Box<dyn Iterator<Item = Vec<[f32; 4]>> + Send + 'a>;

/// Use of a section by a node's kernel. If nothing else is said, the sections of a node are stored in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionRole {
    /// The operator's own weights, such as the windows of a convolution.
    Own,
    /// The third operand, as a whole tensor.
    Third,
    /// The biases of an operator, one texel per slice of the result.
    Biases,
    /// The constant of the epilogue's first function, with equally many texels for each slice of the result: one of
    /// PReLU's alphas, or the factors of a requantisation.
    FirstConstant,
    /// The constant of the epilogue's second function, likewise.
    ThenConstant,
}

impl SectionRole {
    /// Number of roles.
    pub const COUNT: usize = 5;
    /// Roles of the constants of the epilogue's functions, in their order.
    pub(crate) const EPILOGUE: [Self; 2] = [Self::FirstConstant, Self::ThenConstant];
}

/// Order in which the elements of constants become texels.
///
/// The texels depend on nothing but the layout and the constants, so that equal sections of several nodes can be
/// stored once. Layouts are equal if their `Debug` texts are, so these must show every field.
pub trait SectionLayout: fmt::Debug + Send + Sync {
    /// Returns the number of texels in the pool's format.
    fn texels(&self) -> u64;

    /// Packs the constants, piece by piece.
    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a>;
}

/// A part of a node's weights that is packed from certain constants in a certain layout.
#[derive(Debug)]
pub struct WeightSection {
    /// The section's use in the kernel.
    pub role: SectionRole,
    pub(crate) constants: Vec<TensorId>,
    /// Order and number of the texels.
    pub layout: Box<dyn SectionLayout>,
}

impl WeightSection {
    /// Creates a section of these constants.
    pub(crate) fn new(role: SectionRole, constants: Vec<TensorId>, layout: impl SectionLayout + 'static) -> Self {
        Self { role, constants, layout: Box::new(layout) }
    }

    /// Returns the constants in a graph, or `None` if one of them is computed there.
    pub fn constants<'a>(&self, graph: &'a Graph) -> Option<Vec<&'a Constant>> {
        self.constants.iter().map(|&tensor| graph.tensors[tensor].constant.as_ref()).collect()
    }

    /// Packs the section as texels.
    pub fn pieces<'a>(&self, graph: &'a Graph) -> WeightPieces<'a> {
        match self.constants(graph) {
            Some(constants) => self.layout.pieces(&constants),
            None => Box::new(std::iter::empty()),
        }
    }
}

/// Division of a node's [sections](super::WeightSection), in each of which all slices of the result have equally many
/// texels. A subset of the slices is a contiguous range of every section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightSections {
    slices: u32,
    block: u32,
    texels: Vec<u32>,
}

impl WeightSections {
    /// Creates a layout with one section per entry of `texels`, which gives the texels per slice. An invocation
    /// computes `block` slices.
    pub(crate) fn new(slices: usize, block: usize, texels: &[usize]) -> Self {
        let texels = texels.iter().map(|&texels| texels as u32).collect();
        Self { slices: slices as u32, block: block as u32, texels }
    }

    /// Adds a section with `rows` texels per slice.
    pub(crate) fn with_rows(mut self, rows: usize) -> Self {
        self.texels.push(rows as u32);
        self
    }

    /// Applies `packing` to the texels of the first section.
    pub(crate) fn packed(mut self, packing: WeightPacking) -> Self {
        if let Some(first) = self.texels.first_mut() {
            *first = packing.slice_texels(*first as usize) as u32;
        }
        self
    }

    /// Returns the total number of texels.
    pub fn all(&self) -> u64 {
        u64::from(self.slices) * self.slice_texels()
    }

    /// Returns the number of texels per slice, over all sections.
    pub fn slice_texels(&self) -> u64 {
        self.texels.iter().copied().map(u64::from).sum()
    }

    /// Divides the slices into tiles of at most `most` texels; a tile has at least as many slices as an invocation
    /// computes.
    pub fn tiles(&self, most: u64) -> impl Iterator<Item = Range<u32>> + use<> {
        // An invocation computes all slices of its block, so only the last tile may end within a block.
        let blocks = most / (self.slice_texels() * u64::from(self.block)).max(1);
        let slices = self.slices;
        let length = u32::try_from(blocks).unwrap_or(u32::MAX).max(1).saturating_mul(self.block).min(slices.max(1));
        (0..slices.div_ceil(length)).map(move |tile| tile * length..((tile + 1) * length).min(slices))
    }

    /// Returns the texels of some slices: one range per section, among the texels of all slices, section by section.
    pub fn ranges(&self, slices: &Range<u32>) -> Vec<Range<usize>> {
        let mut base = 0;
        let section = |&texels: &u32| {
            let [from, to] = [slices.start, slices.end].map(|slice| base + slice as usize * texels as usize);
            base += self.slices as usize * texels as usize;
            from..to
        };
        self.texels.iter().map(section).collect()
    }

    /// Returns the number of texels of the first section before those of `slice`.
    pub fn skipped(&self, slice: u32) -> u32 {
        self.texels.first().map_or(0, |&texels| texels * slice)
    }
}
