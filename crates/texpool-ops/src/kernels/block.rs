//! Amount of work per invocation: larger blocks load less, smaller ones leave more invocations to run in parallel.
//!
//! # What is best depends on the device
//!
//! Software devices have the blocks that were measured on lavapipe. Nothing of that applies to a GPU, which hides the
//! time of loads by other invocations and spills what its registers do not hold. GPUs have the blocks that others ship
//! for them, as facts from these files of <https://github.com/google-ai-edge/LiteRT> at commit 7d88950ea4
//! (`gpu_info.cc` at 19dc33729b, `util.cc` at 4699995689):
//!
//! - `tflite/delegates/gpu/common/tasks/conv_generic.cc`, functions `GuessBestParams`, `GetRecommendedBlockSize` and
//!   `GetConvParamsForA9AndHigher`: the block of each vendor, and when it shrinks;
//! - `tflite/delegates/gpu/common/task/util.cc`, function `GetRecommendedBlockSizeForConv`: the texels for each core at
//!   which Mali's blocks shrink, of Bifrost's third generation and Valhall;
//! - `tflite/delegates/gpu/common/gpu_info.cc`, functions `GetComputeUnitsCount`, `GetApproximateComputeUnitsCount` and
//!   `GetWaveSize`.
//!
//! Numbers are those for arithmetic in 32 bits, since kernels compute in 32 bits whatever they store. Blocks of columns
//! and rows of pixels there are blocks of as many pixels here, which follow each other in dense order. Eight slices,
//! for PowerVR, are four here, the most that shaders have.

use super::{Constants, wgsl::shared_constants};
use crate::graph::{BlockSize, Blocks, DeviceClass, LayerKind};

shared_constants! {
    /// The largest block that shaders support.
    LIMITS:
    MAX_PIXELS = 8,
    MAX_SLICES = 4,
}

/// Kind of a block. Kernels of different kinds differ in speed, so each kind of a convolution has its own
/// cost classes (`ops/conv/kernel.rs`). The kind depends on the layer alone, not on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// One pixel, because there are too few for more.
    FewPixels,
    /// One slice, because there are no more.
    OneSlice,
    /// Long sums, for which GPUs and measured blocks may have the largest block.
    LongSums,
    /// The block of all others.
    Usual,
}

/// Returns the reason for the block that a kernel's constants state, for reports. `None` for a kernel without blocks of
/// pixels and slices.
pub fn block_reason(blocks: Blocks, constants: &Constants) -> Option<&'static str> {
    let constant = |wanted: &str| constants.iter().find(|(name, _)| *name == wanted).map(|&(_, value)| value as u32);
    let block = (constant("PIXELS")?, constant("SLICES")?);
    if blocks.is_tuned() {
        return Some("`texpool tune` measured which ones are fastest on this device");
    }
    if blocks.class() != DeviceClass::Software {
        return Some("others ship such blocks for devices of this class, smaller ones for layers with few texels");
    }
    Some(match block {
        (1, _) => "there are only one or two pixels, so an invocation computes one and up to four slices",
        (_, 1) => "there is one large slice, so an invocation computes eight pixels of it",
        _ => "blocks of two slices are nearly as fast as those of four, and need no second pipeline",
    })
}

/// A convolution, fully connected layer or product, as far as its block depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    /// Pixels of the result.
    pub(crate) pixels: usize,
    /// Slices of the result.
    pub(crate) slices: usize,
    /// Slices that each tap multiplies.
    pub(crate) depth: usize,
    /// True without windows, strides and padding.
    pub(crate) is_pointwise: bool,
}

/// Slices of a tap from which sums count as long.
const LONG_SUMS: usize = 96;

/// Texels of a result below which a layer is small: 8 of the smallest blocks for each of 2048 lanes, which a GPU of 32
/// compute units with 64 lanes has. Measured blocks of small layers are kept apart from those of others. Chosen by
/// judgement.
const SMALL_LAYER: usize = 16384;

impl Layer {
    /// Returns the kind of the block, which is the same on every device.
    fn kind(&self) -> BlockKind {
        match (self.pixels, self.slices) {
            (0..=2, _) => BlockKind::FewPixels,
            (_, 1) => BlockKind::OneSlice,
            (_, 4..) if self.depth >= LONG_SUMS => BlockKind::LongSums,
            _ => BlockKind::Usual,
        }
    }

    /// Returns the kind of which blocks are measured.
    pub(crate) fn layer_kind(&self) -> LayerKind {
        let is_small = self.texels() < SMALL_LAYER;
        match (self.kind(), self.is_pointwise, is_small) {
            (BlockKind::FewPixels, ..) => LayerKind::FewPixels,
            (BlockKind::OneSlice, ..) => LayerKind::OneSlice,
            (BlockKind::LongSums, true, true) => LayerKind::PointwiseDeepSmall,
            (BlockKind::LongSums, true, false) => LayerKind::PointwiseDeep,
            (BlockKind::LongSums, false, true) => LayerKind::WindowDeepSmall,
            (BlockKind::LongSums, false, false) => LayerKind::WindowDeep,
            (BlockKind::Usual, true, true) => LayerKind::PointwiseSmall,
            (BlockKind::Usual, true, false) => LayerKind::Pointwise,
            (BlockKind::Usual, false, true) => LayerKind::WindowSmall,
            (BlockKind::Usual, false, false) => LayerKind::Window,
        }
    }

    const fn texels(&self) -> usize {
        self.pixels.saturating_mul(self.slices)
    }
}

/// Blocks of a class of GPUs.
struct ClassBlocks {
    /// Compute units that stand in for those of the device, which WebGPU does not report.
    units: usize,
    /// Blocks `[pixels, slices]` of layers that have fewer texels for each unit, in increasing order.
    smaller: &'static [(usize, [usize; 2])],
    /// Block of layers with more.
    largest: [usize; 2],
}

impl ClassBlocks {
    const fn always(largest: [usize; 2]) -> Self {
        Self { units: 1, smaller: &[], largest }
    }

    /// Returns the blocks of a class; `None` for software devices, whose blocks do not depend on the amount of work.
    ///
    /// The compute units are those of larger devices of each class rather than of smaller ones: a block that is too
    /// small loads some values twice, one that is too large leaves units without work. For Adreno 4 (730 and 5xx;
    /// LiteRT has 1 to 6), for Mali 10 (G710 and G715; 4 to 16), for Apple 8 (M1; 3 to 6 in phones, up to 76). NVIDIA's
    /// and AMD's 32 are judgement.
    const fn of(class: DeviceClass) -> Option<Self> {
        Some(match class {
            DeviceClass::Software => return None,
            // By warps of 32 lanes for each unit: 2, 4 and 8 of the largest block.
            DeviceClass::Nvidia => Self {
                units: 32,
                smaller: &[(2 * 32 * 8, [1, 1]), (4 * 32 * 8, [1, 2]), (8 * 32 * 8, [1, 4])],
                largest: [2, 4],
            },
            // By waves of 64 lanes for each unit: 1, 2 and 4 of the largest block. Each halves it, slices first.
            DeviceClass::Amd => Self {
                units: 32,
                smaller: &[(64 * 8, [1, 1]), (2 * 64 * 8, [2, 1]), (4 * 64 * 8, [4, 1])],
                largest: [4, 2],
            },
            // By waves of 64 lanes for each unit: 6, 12 and 24 of the smallest block.
            DeviceClass::Adreno => {
                Self { units: 4, smaller: &[(6 * 64, [1, 1]), (12 * 64, [2, 1]), (24 * 64, [2, 2])], largest: [4, 2] }
            }
            DeviceClass::Mali => Self { units: 10, smaller: &[(256, [1, 1]), (12 * 256, [2, 1])], largest: [2, 2] },
            // By groups of 32 lanes for each unit: 16, 32 and 64 of the smallest block.
            DeviceClass::Apple => {
                Self { units: 8, smaller: &[(16 * 32, [1, 1]), (32 * 32, [2, 1]), (64 * 32, [2, 2])], largest: [2, 4] }
            }
            DeviceClass::PowerVr | DeviceClass::Intel | DeviceClass::Unknown => Self::always([1, 4]),
        })
    }

    fn block(&self, layer: &Layer) -> [usize; 2] {
        let a_unit = layer.texels() / self.units;
        let [pixels, slices] =
            self.smaller.iter().find(|&&(below, _)| a_unit < below).map_or(self.largest, |&(_, block)| block);
        [within(pixels, layer.pixels), slices.min(even_slices(layer.slices))]
    }
}

/// Returns the most slices of a block that computes few or none past the last slice.
const fn even_slices(slices: usize) -> usize {
    match slices {
        0 | 1 => 1,
        4 | 8.. => 4,
        _ => 2,
    }
}

/// Returns the part of a block's extent that a layer of this extent fills, as a power of two.
fn within(block: usize, extent: usize) -> usize {
    extent.clamp(1, block).next_power_of_two()
}

/// Output pixels and output slices per invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) pixels: usize,
    pub(crate) slices: usize,
}

impl Block {
    /// Returns the block for a layer on a device: the measured one if there is one, or that of its class.
    pub(crate) fn for_convolution(blocks: Blocks, layer: &Layer) -> Self {
        match blocks.tuned(layer.layer_kind()) {
            Some(size) => Self::measured(size, layer),
            None => Self::of_class(blocks.class(), layer),
        }
    }

    /// Returns the pixels and slices.
    pub(crate) fn size(self) -> BlockSize {
        let size = BlockSize::ALL.into_iter().find(|size| (size.pixels(), size.slices()) == (self.pixels, self.slices));
        size.unwrap_or(BlockSize::ALL[0])
    }

    /// Returns a measured block, without pixels and slices that the layer does not have.
    fn measured(size: BlockSize, layer: &Layer) -> Self {
        let (pixels, slices) = (within(size.pixels(), layer.pixels), within(size.slices(), layer.slices));
        Self { kind: layer.kind(), pixels, slices }
    }

    /// Returns the block for a layer on devices of a class.
    pub(crate) fn of_class(class: DeviceClass, layer: &Layer) -> Self {
        let kind = layer.kind();
        let [pixels, slices] = match ClassBlocks::of(class) {
            Some(blocks) => blocks.block(layer),
            None => of_software(kind, layer),
        };
        Self { kind, pixels, slices }
    }
}

/// Pixels times input slices from which a layer of one slice gets its own block on software devices. A smaller layer uses
/// the block of two slices and computes the second for nothing, which takes up to 0.1 ms on lavapipe. Another pipeline
/// would take 130 ms to compile.
const LARGE_SLICE: usize = 1 << 17;

/// Returns the block on software devices.
///
/// Measured on lavapipe: 8x2 is within a tenth of 8x4, which pays off only for long sums, and a second block is a second
/// set of pipelines to compile (`docs/design/kernels.md`, "First runs"). `texpool tune` measures both. One or two pixels
/// cannot fill a block of eight, so such layers (a classifier's last) use one pixel and up to four slices. Frames of a
/// signal are often four, of which a block of eight would compute each twice.
fn of_software(kind: BlockKind, layer: &Layer) -> [usize; 2] {
    let pixels = within(MAX_PIXELS as usize, layer.pixels);
    match kind {
        // Rounded up to reduce the number of pipelines; the shader does not store slices past the last.
        BlockKind::FewPixels => [1, within(MAX_SLICES as usize, layer.slices)],
        BlockKind::OneSlice if layer.pixels.saturating_mul(layer.depth) >= LARGE_SLICE => [pixels, 1],
        BlockKind::OneSlice | BlockKind::LongSums | BlockKind::Usual => [pixels, 2],
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, LARGE_SLICE, Layer, MAX_PIXELS, MAX_SLICES};
    use crate::graph::{BlockSize, Blocks, DeviceClass, LayerKind};

    const fn layer(edge: usize, channels: usize, depth: usize) -> Layer {
        Layer { pixels: edge * edge, slices: channels / 4, depth, is_pointwise: true }
    }

    fn block(class: DeviceClass, layer: &Layer) -> [usize; 2] {
        let Block { pixels, slices, .. } = Block::for_convolution(Blocks::of(class), layer);
        [pixels, slices]
    }

    /// The layers of ResNet-18 and of a segmentation network, with the block of each class.
    #[test]
    fn every_class_has_the_blocks_of_its_table() {
        use DeviceClass::{Adreno, Amd, Apple, Intel, Mali, Nvidia, PowerVr, Software, Unknown};
        let layers = [layer(112, 256, 64), layer(56, 64, 16), layer(14, 256, 64), layer(7, 512, 128), layer(2, 64, 16)];
        for (class, expected) in [
            (Software, [[8, 2], [8, 2], [8, 2], [8, 2], [4, 2]]),
            (Nvidia, [[2, 4], [1, 4], [1, 1], [1, 1], [1, 1]]),
            (Amd, [[4, 2], [4, 1], [1, 1], [1, 1], [1, 1]]),
            (Adreno, [[4, 2], [4, 2], [4, 2], [4, 2], [1, 1]]),
            (Mali, [[2, 2], [2, 2], [2, 1], [2, 1], [1, 1]]),
            (Apple, [[2, 4], [2, 4], [2, 2], [2, 1], [1, 1]]),
            (PowerVr, [[1, 4]; 5]),
            (Intel, [[1, 4]; 5]),
            (Unknown, [[1, 4]; 5]),
        ] {
            assert_eq!(layers.each_ref().map(|layer| block(class, layer)), expected, "{class:?}");
        }
    }

    /// Software devices keep what was measured on one, for each kind of layer.
    #[test]
    fn software_devices_have_the_blocks_of_lavapipe() {
        let of =
            |pixels, slices, depth| block(DeviceClass::Software, &Layer { pixels, slices, depth, is_pointwise: true });
        assert_eq!([of(1, 3, 100), of(2, 1, 1), of(3, 1, 200)], [[1, 4], [1, 1], [4, 2]]);
        assert_eq!([of(5, 4, 96), of(5, 4, 95), of(5, 3, 96)], [[8, 2], [8, 2], [8, 2]]);
        assert_eq!([of(3, 4, 96), of(4, 4, 95)], [[4, 2], [4, 2]]);
        assert_eq!([of(256, 1, 511), of(256, 1, 512)], [[8, 2], [8, 1]], "a small layer shares a pipeline");
    }

    /// Whatever the layer, shaders can compute the block, and it has no pixels and few slices past the last.
    #[test]
    fn blocks_are_those_that_shaders_compute() {
        let sizes = [1, 2, 3, 4, 5, 7, 8, 64, 1000, 1 << 30];
        for class in DeviceClass::ALL {
            for (pixels, slices) in sizes.into_iter().flat_map(|pixels| sizes.map(|slices| (pixels, slices))) {
                let layer = Layer { pixels, slices, depth: 100, is_pointwise: false };
                let [p, s] = block(class, &layer);
                assert!(BlockSize::new(p as u8, s as u8).is_some(), "{class:?}: {layer:?}: {p}x{s}");
                assert!(p <= MAX_PIXELS as usize && s <= MAX_SLICES as usize);
                let small = class == DeviceClass::Software && pixels.saturating_mul(layer.depth) < LARGE_SLICE;
                let most = slices.next_power_of_two().max(if small { 2 } else { 1 });
                assert!(s <= most, "{class:?}: {layer:?}: {p}x{s}");
            }
        }
    }

    /// A measured block replaces that of the class for its kind of layer alone, and fits the layer.
    #[test]
    fn measured_blocks_replace_those_of_the_class() {
        let mut blocks = Blocks::of(DeviceClass::Nvidia);
        blocks.tune(LayerKind::PointwiseSmall, BlockSize::new(8, 4));
        let of = |layer: &Layer| {
            let Block { pixels, slices, .. } = Block::for_convolution(blocks, layer);
            [pixels, slices]
        };
        assert_eq!(of(&layer(14, 256, 64)), [8, 4]);
        assert_eq!(of(&layer(2, 8, 64)), [4, 2], "four pixels and two slices are all there are");
        assert_eq!(of(&layer(112, 256, 64)), [2, 4], "this one is large");
        let window = Layer { is_pointwise: false, ..layer(14, 256, 64) };
        assert_eq!(of(&window), [1, 1]);
    }
}
