//! How a node's weights are divided by the slices of its result, where its kernel can compute some of them.

use std::ops::Range;

use super::{StepContext, WeightPacking};

/// The texels of a node's weights: sections one after another, in each of which every slice of the result has as many.
/// Those of some slices are a part of every section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightSections {
    slices: u32,
    block: u32,
    texels: Vec<u32>,
}

impl WeightSections {
    /// Of so many slices, of which an invocation computes `block`; `texels` of a slice in each section.
    pub(crate) fn new(slices: usize, block: usize, texels: &[usize]) -> Self {
        let texels = texels.iter().map(|&texels| texels as u32).collect();
        Self { slices: slices as u32, block: block as u32, texels }
    }

    /// Another section, of a texel a slice.
    pub(crate) fn with_channels(mut self) -> Self {
        self.texels.push(1);
        self
    }

    /// The same where the texels of the first section are packed so.
    pub(crate) fn packed(mut self, packing: WeightPacking) -> Self {
        if let Some(first) = self.texels.first_mut() {
            *first = packing.slice_texels(*first as usize) as u32;
        }
        self
    }

    /// Texels of all slices.
    pub fn all(&self) -> u64 {
        u64::from(self.slices) * self.slice_texels()
    }

    /// Texels of a slice, in all sections.
    pub fn slice_texels(&self) -> u64 {
        self.texels.iter().copied().map(u64::from).sum()
    }

    /// The slices in tiles of at most so many texels, or of the fewest slices that a tile can have.
    pub fn tiles(&self, most: u64) -> impl Iterator<Item = Range<u32>> + use<> {
        // An invocation computes all slices of its block, so only the last tile may end within one.
        let blocks = most / (self.slice_texels() * u64::from(self.block)).max(1);
        let slices = self.slices;
        let length = u32::try_from(blocks).unwrap_or(u32::MAX).max(1).saturating_mul(self.block).min(slices.max(1));
        (0..slices.div_ceil(length)).map(move |tile| tile * length..((tile + 1) * length).min(slices))
    }

    /// Where the texels of some slices lie among those of all: a range of each section.
    pub fn ranges(&self, slices: &Range<u32>) -> Vec<Range<usize>> {
        let mut base = 0;
        let section = |&texels: &u32| {
            let [from, to] = [slices.start, slices.end].map(|slice| base + slice as usize * texels as usize);
            base += self.slices as usize * texels as usize;
            from..to
        };
        self.texels.iter().map(section).collect()
    }

    /// Texels of the first section in front of those of `slice`.
    pub fn skipped(&self, slice: u32) -> u32 {
        self.texels.first().map_or(0, |&texels| texels * slice)
    }
}

impl StepContext<'_> {
    /// Where the biases and the epilogue's alphas begin, as a kernel counts that adds the slice to either: behind the
    /// weights of the step's slices, of which each has so many texels of the pool.
    pub(crate) fn behind_weights(&self, slice_texels: usize) -> [usize; 2] {
        let Range { start, end } = self.slices;
        let bias = end as usize * self.weights.packing.slice_texels(slice_texels) - start as usize;
        [bias, bias + self.slices.len()]
    }
}
