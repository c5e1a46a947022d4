//! Channel groups of a convolution in terms of texels: whole texels are read and multiplied, independent of the
//! groups of their lanes.

/// Division of a convolution's input and output channels into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Number of output channels.
    pub(crate) out: usize,
    /// Output channels per group.
    pub(crate) out_group: usize,
    /// Input channels per group.
    pub(crate) in_group: usize,
}

impl Groups {
    /// Creates the groups of a convolution with `input` input channels and `out` output channels; at least one group.
    pub(crate) fn new(input: usize, out: usize, groups: usize) -> Self {
        let groups = groups.max(1);
        Self { out, out_group: (out / groups).max(1), in_group: input / groups }
    }

    /// Returns the first input slice that output slice `slice` needs.
    pub(crate) fn first(&self, slice: usize) -> usize {
        (slice * 4 / self.out_group) * self.in_group / 4
    }

    /// Returns the maximum number of input slices that a block of `block` output slices needs.
    pub(crate) fn span(&self, block: usize) -> usize {
        let needed = |slice: usize| {
            let last_channel = ((slice + block) * 4).min(self.out).saturating_sub(1);
            ((last_channel / self.out_group + 1) * self.in_group).div_ceil(4).saturating_sub(self.first(slice))
        };
        // All blocks use the same span, so that weight offsets can be computed by multiplication.
        (0..self.out.div_ceil(4)).step_by(block.max(1)).map(needed).max().unwrap_or(1)
    }
}
