//! Divides a node's weights by slices of its result, for kernels that can compute a subset of the slices.

use std::ops::Range;

use super::WeightPacking;

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

    /// Adds a section with one texel per slice.
    pub(crate) fn with_channels(mut self) -> Self {
        self.texels.push(1);
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
