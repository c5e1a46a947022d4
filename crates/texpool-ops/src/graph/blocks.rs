//! Choice of blocks for the kernels of a graph: the class of the device, and what was measured on it.

use std::fmt;

use super::DeviceClass;

/// A block: the pixels and the slices of four channels that an invocation computes.
///
/// ```
/// use texpool_ops::graph::BlockSize;
///
/// assert_eq!(BlockSize::new(4, 2).map(|block| block.to_string()), Some("4x2".to_owned()));
/// // Shaders compute at most 8 pixels by 4 slices, and powers of two of each.
/// assert!(BlockSize::new(16, 2).is_none() && BlockSize::new(4, 3).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "[u8; 2]", into = "[u8; 2]"))]
pub struct BlockSize {
    pixels: u8,
    slices: u8,
}

impl BlockSize {
    /// All blocks that shaders can compute, by pixels and then by slices.
    pub const ALL: [Self; 12] = {
        let mut all = [Self { pixels: 1, slices: 1 }; 12];
        let mut index = 0;
        while index < all.len() {
            all[index] = Self { pixels: 1 << (index / 3), slices: 1 << (index % 3) };
            index += 1;
        }
        all
    };

    /// Returns the block of `pixels` by `slices`, or `None` if no shader can compute it.
    pub fn new(pixels: u8, slices: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|block| (block.pixels, block.slices) == (pixels, slices))
    }

    /// Pixels.
    pub const fn pixels(self) -> usize {
        self.pixels as usize
    }

    /// Slices.
    pub const fn slices(self) -> usize {
        self.slices as usize
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.pixels, self.slices)
    }
}

impl From<BlockSize> for [u8; 2] {
    fn from(BlockSize { pixels, slices }: BlockSize) -> Self {
        [pixels, slices]
    }
}

impl TryFrom<[u8; 2]> for BlockSize {
    type Error = String;

    fn try_from([pixels, slices]: [u8; 2]) -> Result<Self, String> {
        Self::new(pixels, slices)
            .ok_or_else(|| format!("no shader computes blocks of {pixels} pixels by {slices} slices"))
    }
}

/// Kind of a convolution or fully connected layer, within which one block is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum LayerKind {
    /// One or two pixels, as a classifier's last layer has.
    FewPixels,
    /// At most four channels in the result.
    OneSlice,
    /// Products over the channels of single pixels.
    Pointwise,
    /// Like [`Pointwise`](Self::Pointwise), with few texels in the result: large blocks would leave most of a device
    /// idle.
    PointwiseSmall,
    /// Products over at least 384 channels.
    PointwiseDeep,
    /// Like [`PointwiseDeep`](Self::PointwiseDeep), with few texels.
    PointwiseDeepSmall,
    /// Windows, strides or padding.
    Window,
    /// Like [`Window`](Self::Window), with few texels.
    WindowSmall,
    /// Windows over at least 384 channels.
    WindowDeep,
    /// Like [`WindowDeep`](Self::WindowDeep), with few texels.
    WindowDeepSmall,
}

impl LayerKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::FewPixels,
        Self::OneSlice,
        Self::Pointwise,
        Self::PointwiseSmall,
        Self::PointwiseDeep,
        Self::PointwiseDeepSmall,
        Self::Window,
        Self::WindowSmall,
        Self::WindowDeep,
        Self::WindowDeepSmall,
    ];

    /// Returns a description, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FewPixels => "one or two pixels",
            Self::OneSlice => "up to four channels",
            Self::Pointwise => "pointwise",
            Self::PointwiseSmall => "pointwise, small",
            Self::PointwiseDeep => "pointwise, deep",
            Self::PointwiseDeepSmall => "pointwise, deep, small",
            Self::Window => "window",
            Self::WindowSmall => "window, small",
            Self::WindowDeep => "window, deep",
            Self::WindowDeepSmall => "window, deep, small",
        }
    }
}

/// Blocks of the kernels of a graph: those of a class of devices, except where others were measured to be faster.
///
/// ```
/// use texpool_ops::graph::{BlockSize, Blocks, DeviceClass, LayerKind};
///
/// let mut blocks = Blocks::of(DeviceClass::Intel);
/// assert_eq!(blocks.to_string(), "intel");
/// blocks.tune(LayerKind::Window, BlockSize::new(2, 2));
/// assert_eq!(blocks.tuned(LayerKind::Window), BlockSize::new(2, 2));
/// assert_eq!(blocks.to_string(), "intel, tuned");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Blocks {
    class: DeviceClass,
    /// Measured blocks, by the order of [`LayerKind::ALL`].
    tuned: [Option<BlockSize>; LayerKind::ALL.len()],
}

impl Blocks {
    /// Returns the blocks of a class.
    pub const fn of(class: DeviceClass) -> Self {
        Self { class, tuned: [None; LayerKind::ALL.len()] }
    }

    /// Returns the class.
    pub const fn class(&self) -> DeviceClass {
        self.class
    }

    /// Sets the measured block of a kind, or returns to that of the class.
    pub fn tune(&mut self, kind: LayerKind, block: Option<BlockSize>) {
        self.tuned[kind as usize] = block;
    }

    /// Returns the measured block of a kind.
    pub const fn tuned(&self, kind: LayerKind) -> Option<BlockSize> {
        self.tuned[kind as usize]
    }

    /// Returns whether any block was measured.
    pub fn is_tuned(&self) -> bool {
        self.tuned.iter().any(Option::is_some)
    }
}

/// Writes the name of the class, and whether some blocks were measured.
impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name())?;
        if self.is_tuned() { f.write_str(", tuned") } else { Ok(()) }
    }
}
