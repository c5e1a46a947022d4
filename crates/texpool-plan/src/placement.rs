//! Plans: textures, and for each row of each tensor the texel at which it starts.

use super::layout::LayoutKind;

/// Texel format of a pool texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum TexelFormat {
    /// Four 32-bit floats, 16 bytes a texel.
    Rgba32Float,
    /// Four 16-bit floats, 8 bytes a texel; arithmetic stays in 32 bits.
    Rgba16Float,
    /// Four words, 16 bytes a texel: the bits of 32-bit floats, beside which weights of fewer bits have room.
    Rgba32Uint,
}

impl TexelFormat {
    /// Bytes of one texel.
    pub const fn texel_bytes(self) -> u64 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint => 16,
            Self::Rgba16Float => 8,
        }
    }

    /// Bits of a float.
    pub const fn float_bits(self) -> u8 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint => 32,
            Self::Rgba16Float => 16,
        }
    }

    /// The greatest whole number that a channel holds together with all smaller ones, 2^24 or 2^11: from there on some
    /// lie between two floats.
    pub const fn max_exact_integer(self) -> u32 {
        match self {
            Self::Rgba32Float | Self::Rgba32Uint => 1 << f32::MANTISSA_DIGITS,
            // 10 bits of a fraction, and the one in front of it.
            Self::Rgba16Float => 1 << 11,
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
    /// Texels the texture holds.
    pub const fn texels(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Bytes of the texture, `width * height * texel`.
    pub const fn bytes(&self) -> u64 {
        self.texels() * self.format.texel_bytes()
    }

    /// Base-two logarithm of the width: texel `i` is at `(i & (width - 1), i >> shift)`.
    pub const fn shift(&self) -> u32 {
        self.width.trailing_zeros()
    }
}

/// For each row of a tensor, the texel at which it starts. A row has `row_texels` texels.
///
/// The three forms say the same with less memory where they can; kernels get a list of starts in every case.
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
    /// Row after row from `base`.
    Whole {
        /// First texel of row 0.
        base: u32,
        /// Rows of the tensor.
        rows: u32,
        /// Texels of a row.
        row_texels: u32,
    },
    /// A ring buffer of rows: row `r` starts at `base + (r mod ring) * row_texels`.
    Ring {
        /// First texel of row 0.
        base: u32,
        /// Rows of the tensor.
        rows: u32,
        /// Texels of a row.
        row_texels: u32,
        /// Rows that the ring holds.
        ring: u32,
    },
    /// A start for each row.
    Scattered {
        /// First texel of each row.
        row_starts: Vec<u32>,
        /// Texels of a row.
        row_texels: u32,
    },
}

impl RowTable {
    /// Number of rows, `B * H` of the tensor.
    pub fn rows(&self) -> u32 {
        match self {
            Self::Whole { rows, .. } | Self::Ring { rows, .. } => *rows,
            Self::Scattered { row_starts, .. } => row_starts.len() as u32,
        }
    }

    /// Texels of one row, `ceil(C / 4) * W` of the tensor.
    pub const fn row_texels(&self) -> u32 {
        match self {
            Self::Whole { row_texels, .. } | Self::Ring { row_texels, .. } | Self::Scattered { row_texels, .. } => {
                *row_texels
            }
        }
    }

    /// First texel of row `row`.
    ///
    /// # Panics
    /// If `row` is not below [`rows`](Self::rows) of a scattered table, or `ring` is 0.
    pub fn start(&self, row: u32) -> u32 {
        match self {
            Self::Whole { base, row_texels, .. } => base + row * row_texels,
            Self::Ring { base, row_texels, ring, .. } => base + (row % ring) * row_texels,
            Self::Scattered { row_starts, .. } => row_starts[row as usize],
        }
    }

    /// All row starts in order, as they are uploaded for the kernels.
    pub fn starts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.rows()).map(|row| self.start(row))
    }
}

/// Where a tensor lies, and when it is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placement {
    /// Index of the tensor's usage record.
    pub record: usize,
    /// Index into [`Plan::textures`].
    pub texture: usize,
    /// Where each row starts in that texture.
    pub rows: RowTable,
    /// First step that uses the tensor.
    pub first: usize,
    /// Last step that uses it, inclusive.
    pub last: usize,
}

/// The textures, and the placement of each tensor: all that a runtime needs to know about memory.
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
    /// The problem that it solves, and so the rules that it keeps.
    pub problem: LayoutKind,
    /// The pool.
    pub textures: Vec<TextureSpec>,
    /// A placement for each usage record, in record order.
    pub placements: Vec<Placement>,
}

impl Plan {
    /// Bytes of the pool: the sum of its textures.
    pub fn bytes(&self) -> u64 {
        self.textures.iter().map(TextureSpec::bytes).sum()
    }
}
