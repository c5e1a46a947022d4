//! Groups of channels of a convolution, in texels: whole texels are read and multiplied, whatever their lanes' groups.

/// How the channels of a convolution's operand and result fall into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Channels of the result.
    pub(crate) out: usize,
    /// Channels of the result in a group.
    pub(crate) out_group: usize,
    /// Channels of the operand in a group.
    pub(crate) in_group: usize,
}

impl Groups {
    /// The groups of a convolution from `input` channels to `out` in `groups`, of which there is one at least.
    pub(crate) fn new(input: usize, out: usize, groups: usize) -> Self {
        let groups = groups.max(1);
        Self { out, out_group: (out / groups).max(1), in_group: input / groups }
    }

    /// First slice of the operand that slice `slice` of the result needs.
    pub(crate) fn first(&self, slice: usize) -> usize {
        (slice * 4 / self.out_group) * self.in_group / 4
    }

    /// Slices of the operand that any `block` slices of the result together need.
    pub(crate) fn span(&self, block: usize) -> usize {
        let needed = |slice: usize| {
            let last_channel = ((slice + block) * 4).min(self.out).saturating_sub(1);
            ((last_channel / self.out_group + 1) * self.in_group).div_ceil(4).saturating_sub(self.first(slice))
        };
        // The most that any block needs: with one span for all, places of weights follow by multiplication.
        (0..self.out.div_ceil(4)).step_by(block.max(1)).map(needed).max().unwrap_or(1)
    }
}
