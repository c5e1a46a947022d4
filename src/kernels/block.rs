//! How much one invocation computes: larger blocks load less, smaller ones leave more to run side by side.

use super::wgsl::shared_constants;

shared_constants! {
    /// The largest block: what shaders have room for.
    LIMITS:
    MAX_PIXELS = 8,
    MAX_SLICES = 4,
}

/// Pixels by output slices of one invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) pixels: usize,
    pub(crate) slices: usize,
}

impl Block {
    /// The block for a convolution of so many output pixels, output slices, and input slices a tap.
    ///
    /// Timed layer by layer on lavapipe with the shapes of MobileNets: 8x2 is within a tenth of 8x4, which compiles twice
    /// as long and pays off only where sums are long, from 96 input slices on.
    pub(super) fn for_convolution(pixels: usize, slices: usize, depth: usize) -> Self {
        match (pixels, slices) {
            (0..=2, _) => Self { pixels: 1, slices: 4.min(slices.next_power_of_two()) },
            (_, 1) => Self { pixels: 8, slices: 1 },
            (_, 4..) if depth >= 96 => Self { pixels: 8, slices: 4 },
            _ => Self { pixels: 8, slices: 2 },
        }
    }
}
