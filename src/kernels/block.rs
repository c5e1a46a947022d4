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
    /// Measured on lavapipe: 8x2 is within a tenth of 8x4, which compiles twice as long and pays off only where the
    /// sums are long. One pixel or two fill no block of eight, so such layers (a classifier's last) take one pixel and
    /// up to four slices.
    pub(crate) fn for_convolution(pixels: usize, slices: usize, depth: usize) -> Self {
        match (pixels, slices) {
            // Rounded up, for the sake of fewer pipelines: the shader stores no slice past the last.
            (0..=2, _) => Self { pixels: 1, slices: (MAX_SLICES as usize).min(slices.next_power_of_two()) },
            (_, 1) => Self { pixels: MAX_PIXELS as usize, slices: 1 },
            (_, 4..) if depth >= 96 => Self { pixels: MAX_PIXELS as usize, slices: MAX_SLICES as usize },
            _ => Self { pixels: MAX_PIXELS as usize, slices: 2 },
        }
    }
}
