//! Amount of work per invocation: larger blocks load less, smaller ones leave more invocations to run in parallel.

use super::{Constants, wgsl::shared_constants};

shared_constants! {
    /// The largest block that shaders support.
    LIMITS:
    MAX_PIXELS = 8,
    MAX_SLICES = 4,
}

/// Kind of a block. Kernels of different kinds differ in speed, so each kind of a convolution has its own
/// cost classes (`ops/conv/kernel.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// One pixel, because there are too few for more.
    FewPixels,
    /// One slice, because there are no more.
    OneSlice,
    /// The largest block, which pays off for long sums.
    LongSums,
    /// The block of all others.
    Usual,
}

/// Returns the reason for the block that a kernel's constants state, for reports. `None` for a kernel without blocks of
/// pixels and slices.
pub fn block_reason(constants: &Constants) -> Option<&'static str> {
    let constant = |wanted: &str| constants.iter().find(|(name, _)| *name == wanted).map(|&(_, value)| value as u32);
    Some(match (constant("PIXELS")?, constant("SLICES")?) {
        (1, _) => "there are only one or two pixels, so an invocation computes one and up to four slices",
        (_, 1) => "there is only one slice, so an invocation computes eight pixels of it",
        (_, MAX_SLICES) => {
            "the sums are long, so the largest block pays off: each value that is read is used most often"
        }
        _ => "blocks of two slices are nearly as fast as those of four, and compile in half the time",
    })
}

/// Output pixels and output slices per invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
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
        let kind = match (pixels, slices) {
            (0..=2, _) => BlockKind::FewPixels,
            (_, 1) => BlockKind::OneSlice,
            (_, 4..) if depth >= 96 => BlockKind::LongSums,
            _ => BlockKind::Usual,
        };
        let [pixels, slices] = match kind {
            // Rounded up to reduce the number of pipelines; the shader does not store slices past the last.
            BlockKind::FewPixels => [1, (MAX_SLICES as usize).min(slices.next_power_of_two())],
            BlockKind::OneSlice => [MAX_PIXELS as usize, 1],
            BlockKind::LongSums => [MAX_PIXELS as usize, MAX_SLICES as usize],
            BlockKind::Usual => [MAX_PIXELS as usize, 2],
        };
        Self { kind, pixels, slices }
    }
}
