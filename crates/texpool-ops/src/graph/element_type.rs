//! Element types.

use std::fmt;

/// Type of a tensor's elements in a file. Computations use 32-bit floats for all of them.
///
/// Callers may match on it exhaustively: a new type has to be handled by each conversion.
///
/// ```
/// use texpool::graph::ElementType;
///
/// assert_eq!((ElementType::U8.name(), ElementType::U8.size(), ElementType::U8.range()), ("u8", 1, (0, 255)));
/// assert_eq!(ElementType::I8.wrap(200), -56);
/// assert!(ElementType::I16.has_all_of(ElementType::U8) && !ElementType::I8.has_all_of(ElementType::U8));
/// // Truth values are neither.
/// assert!(!ElementType::Bool.is_float() && !ElementType::Bool.is_integer());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// 32-bit float.
    F32,
    /// 16-bit float.
    F16,
    /// 8-bit integer with a sign.
    I8,
    /// 8-bit integer.
    U8,
    /// 16-bit integer with a sign.
    I16,
    /// 16-bit integer.
    U16,
    /// 32-bit integer with a sign.
    I32,
    /// 32-bit integer.
    U32,
    /// 64-bit integer with a sign.
    I64,
    /// 64-bit integer.
    U64,
    /// True or false, as one or zero.
    Bool,
}

impl ElementType {
    /// Returns whether this is a float type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }

    /// Returns whether this is an integer type. [`Bool`](Self::Bool) does not count.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bool)
    }

    /// Name of the type in Rust: `f32`, `u8`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::Bool => "bool",
        }
    }

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// Smallest and largest integer of the type.
    pub fn range(self) -> (i64, i64) {
        match self {
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::Bool => (0, 1),
            Self::I64 | Self::U64 | Self::F32 | Self::F16 => (i64::MIN, i64::MAX),
        }
    }

    /// Returns whether this type contains all integers of another type. Only compares integers that 32-bit floats
    /// hold exactly (magnitudes up to 2^24).
    pub fn has_all_of(self, other: Self) -> bool {
        let bounds = |of: Self| {
            let (least, greatest) = of.range();
            let least = if of == Self::U64 { 0 } else { least };
            (least.max(-(1 << f32::MANTISSA_DIGITS)), greatest.min(1 << f32::MANTISSA_DIGITS))
        };
        let ((least, greatest), (other_least, other_greatest)) = (bounds(self), bounds(other));
        least <= other_least && greatest >= other_greatest
    }

    /// Converts a 64-bit integer to this type by keeping its low bits.
    pub fn wrap(self, value: i64) -> i64 {
        match self {
            Self::I8 => (value as i8).into(),
            Self::U8 => (value as u8).into(),
            Self::I16 => (value as i16).into(),
            Self::U16 => (value as u16).into(),
            Self::I32 => (value as i32).into(),
            Self::U32 => (value as u32).into(),
            Self::Bool => (value != 0).into(),
            // Returned unchanged: integers are computed with at most 64 bits, and floats do not wrap.
            Self::I64 | Self::U64 | Self::F32 | Self::F16 => value,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
