//! Plans: the textures, and for each row of each tensor the texel at which it starts.

use super::layout::LayoutKind;

/// Texel format of a pool texture.
///
/// ```
/// use texpool_plan::TexelFormat;
///
/// let halves = TexelFormat::Rgba16Float;
/// assert_eq!((halves.texel_bytes(), halves.float_bits(), halves.max_exact_integer()), (8, 16, 2048));
/// // Words hold the bits of 32-bit floats, so they represent the same integers.
/// assert_eq!(TexelFormat::Rgba32Uint.max_exact_integer(), TexelFormat::Rgba32Float.max_exact_integer());
/// let bytes = TexelFormat::Rgba8Uint;
/// assert_eq!((bytes.texel_bytes(), bytes.texels_of_words(), bytes.of_floats()), (4, 4, TexelFormat::Rgba32Float));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum TexelFormat {
    /// Four 32-bit floats, 16 bytes per texel.
    Rgba32Float,
    /// Four 16-bit floats, 8 bytes per texel. Arithmetic stays in 32 bits.
    Rgba16Float,
    /// Four 32-bit words, 16 bytes per texel. They hold the bits of 32-bit floats, or packed weights of fewer bits.
    Rgba32Uint,
    /// Four bytes, 4 bytes per texel. A tensor of 8-bit integers takes a texel for four of them. Any other tensor takes
    /// four texels for four 32-bit floats. Arithmetic stays in 32 bits.
    Rgba8Uint,
}

impl TexelFormat {
    /// Returns the bytes per texel.
    pub const fn texel_bytes(self) -> u64 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint => 16,
            Self::Rgba16Float => 8,
            Self::Rgba8Uint => 4,
        }
    }

    /// Returns the bits per float.
    pub const fn float_bits(self) -> u8 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint | Self::Rgba8Uint => 32,
            Self::Rgba16Float => 16,
        }
    }

    /// Returns the largest integer up to which a tensor of floats represents all integers exactly: 2^24 or 2^11. Above
    /// it some integers lie between two floats.
    pub const fn max_exact_integer(self) -> u32 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint | Self::Rgba8Uint => 1 << f32::MANTISSA_DIGITS,
            // 10 bits of fraction, and the implicit leading bit.
            Self::Rgba16Float => 1 << 11,
        }
    }

    /// Returns the number of texels of the pool that hold four words of 32 bits, as weights in the pool need: four texels
    /// of bytes, or one of any other format.
    pub const fn texels_of_words(self) -> u32 {
        match self {
            Self::Rgba8Uint => 4,
            Self::Rgba32Float | Self::Rgba16Float | Self::Rgba32Uint => 1,
        }
    }

    /// Returns the format of floats beside the pool: that of the pool, or 32-bit floats beside a pool of bytes. Weights that
    /// stay on the device have it, and devices are measured with it.
    pub const fn of_floats(self) -> Self {
        match self {
            Self::Rgba8Uint => Self::Rgba32Float,
            format => format,
        }
    }
}

/// A texture of the pool. Texel `i` is at `(i mod width, i / width)`.
///
/// ```
/// use texpool_plan::{TexelFormat, TextureSpec};
///
/// let texture = TextureSpec { width: 256, height: 3, format: TexelFormat::Rgba16Float };
/// assert_eq!((texture.texels(), texture.bytes(), texture.shift()), (768, 6144, 8));
/// assert_eq!((texture.format.texel_bytes(), texture.format.float_bits()), (8, 16));
/// assert_eq!(texture.format.max_exact_integer(), 2048);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TextureSpec {
    /// Width in texels, a power of two.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Texel format.
    pub format: TexelFormat,
}

impl TextureSpec {
    /// Returns the number of texels.
    pub const fn texels(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Returns the size in bytes, `width * height * texel`.
    pub const fn bytes(&self) -> u64 {
        self.texels() * self.format.texel_bytes()
    }

    /// Returns the base-two logarithm of the width: texel `i` is at `(i & (width - 1), i >> shift)`.
    pub const fn shift(&self) -> u32 {
        self.width.trailing_zeros()
    }
}

/// For each row of a tensor, the texel at which it starts. Each row has `row_texels` texels.
///
/// The first two forms describe regular tables with less memory. Kernels always get a list of starts.
///
/// ```
/// use texpool_plan::RowTable;
///
/// // Six rows of 8 texels, of which three are alive at a time.
/// let table = RowTable::Ring { base: 100, rows: 6, row_texels: 8, ring: 3 };
/// assert_eq!((table.rows(), table.row_texels(), table.start(4)), (6, 8, 108));
/// assert!(table.starts().eq([100, 108, 116, 100, 108, 116]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "form", rename_all = "snake_case"))]
pub enum RowTable {
    /// The rows follow each other from `base`.
    Whole {
        /// First texel of row 0.
        base: u32,
        /// Rows of the tensor.
        rows: u32,
        /// Texels per row.
        row_texels: u32,
    },
    /// A ring buffer of rows: row `r` starts at `base + (r mod ring) * row_texels`.
    Ring {
        /// First texel of row 0.
        base: u32,
        /// Rows of the tensor.
        rows: u32,
        /// Texels per row.
        row_texels: u32,
        /// Number of rows in the ring.
        ring: u32,
    },
    /// A separate start for each row.
    Scattered {
        /// First texel of each row.
        row_starts: Vec<u32>,
        /// Texels per row.
        row_texels: u32,
    },
}

impl RowTable {
    /// Returns the number of rows, `B * H` of the tensor.
    pub fn rows(&self) -> u32 {
        match self {
            Self::Whole { rows, .. } | Self::Ring { rows, .. } => *rows,
            Self::Scattered { row_starts, .. } => row_starts.len() as u32,
        }
    }

    /// Returns the texels per row, `ceil(C / 4) * W` of the tensor.
    pub const fn row_texels(&self) -> u32 {
        match self {
            Self::Whole { row_texels, .. } | Self::Ring { row_texels, .. } | Self::Scattered { row_texels, .. } => {
                *row_texels
            }
        }
    }

    /// Returns the first texel of row `row`.
    ///
    /// # Panics
    /// If `row` is outside a scattered table, or if `ring` is 0.
    pub fn start(&self, row: u32) -> u32 {
        match self {
            Self::Whole { base, row_texels, .. } => base + row * row_texels,
            Self::Ring { base, row_texels, ring, .. } => base + (row % ring) * row_texels,
            Self::Scattered { row_starts, .. } => row_starts[row as usize],
        }
    }

    /// Returns all row starts in order, as they are uploaded for the kernels.
    pub fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.rows()).map(|row| self.start(row))
    }
}

/// Texture, rows and live range of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placement {
    /// Index of the tensor's usage record.
    pub record: usize,
    /// Index into [`Plan::textures`].
    pub texture: usize,
    /// Row table of the tensor in that texture.
    pub rows: RowTable,
    /// First step that uses the tensor.
    pub first: usize,
    /// Last step that uses it, inclusive.
    pub last: usize,
}

/// The textures, and the placement of each tensor: all memory information that a runtime needs.
///
/// ```
/// use texpool_plan::{LayoutKind, Placement, Plan, RowTable, TexelFormat, TextureSpec};
///
/// // Written by hand: a tensor of 16 rows of 32 texels, alive during steps 0 and 1.
/// let rows = RowTable::Whole { base: 0, rows: 16, row_texels: 32 };
/// let plan = Plan {
///     strategy: "by hand".to_owned(),
///     problem: LayoutKind::SharedObjects,
///     textures: vec![TextureSpec { width: 64, height: 8, format: TexelFormat::Rgba32Float }],
///     placements: vec![Placement { record: 0, texture: 0, rows, first: 0, last: 1 }],
/// };
/// assert_eq!(plan.bytes(), 8192);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan {
    /// Name of the strategy that found it.
    pub strategy: String,
    /// The problem that it solves, which determines its rules.
    pub problem: LayoutKind,
    /// Textures of the pool.
    pub textures: Vec<TextureSpec>,
    /// A placement for each usage record, in record order.
    pub placements: Vec<Placement>,
}

impl Plan {
    /// Returns the size of the pool in bytes: the sum of its textures.
    pub fn bytes(&self) -> u64 {
        self.textures.iter().map(TextureSpec::bytes).sum()
    }
}
