//! Amount of work per invocation: larger blocks load less, smaller ones leave more invocations to run in parallel.

use super::wgsl::shared_constants;

shared_constants! {
    /// The largest block that shaders support.
    LIMITS:
    MAX_PIXELS = 8,
    MAX_SLICES = 4,
}

/// Output pixels and output slices per invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) pixels: usize,
    pub(crate) slices: usize,
}

impl Block {
    /// Returns the block for a convolution with this many output pixels, output slices, and input slices per tap.
    ///
    /// Measured on lavapipe: 8x2 is within a tenth of 8x4, which takes twice as long to compile and pays off only for
    /// long sums. One or two pixels cannot fill a block of eight, so such layers (a classifier's last) use one pixel
    /// and up to four slices.
    pub(crate) fn for_convolution(pixels: usize, slices: usize, depth: usize) -> Self {
        match (pixels, slices) {
            // Rounded up to reduce the number of pipelines; the shader does not store slices past the last.
            (0..=2, _) => Self { pixels: 1, slices: (MAX_SLICES as usize).min(slices.next_power_of_two()) },
            (_, 1) => Self { pixels: MAX_PIXELS as usize, slices: 1 },
            (_, 4..) if depth >= 96 => Self { pixels: MAX_PIXELS as usize, slices: MAX_SLICES as usize },
            _ => Self { pixels: MAX_PIXELS as usize, slices: 2 },
        }
    }
}
