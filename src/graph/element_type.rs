//! Types of elements.

use std::fmt;

/// Type of a tensor's elements in a file. What is computed with is 32-bit floats, which hold the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// Whether elements are floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }

    /// Whether elements are integers; truth values are none.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bool)
    }

    /// Its name, as Rust writes it: `f32`, `u8`, `bool`.
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

    /// The least and the greatest integer of the type.
    pub(crate) fn range(self) -> (i64, i64) {
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

    /// Whether it has all integers of another type, as far as floats hold them: those have 25 bits with their sign.
    pub(crate) fn has_all_of(self, other: Self) -> bool {
        let bounds = |of: Self| {
            let (least, greatest) = of.range();
            let least = if of == Self::U64 { 0 } else { least };
            (least.max(-(1 << f32::MANTISSA_DIGITS)), greatest.min(1 << f32::MANTISSA_DIGITS))
        };
        let ((least, greatest), (other_least, other_greatest)) = (bounds(self), bounds(other));
        least <= other_least && greatest >= other_greatest
    }

    /// What an integer of 64 bits becomes in this type: its low bits.
    pub(crate) fn wrap(self, value: i64) -> i64 {
        match self {
            Self::I8 => (value as i8).into(),
            Self::U8 => (value as u8).into(),
            Self::I16 => (value as i16).into(),
            Self::U16 => (value as u16).into(),
            Self::I32 => (value as i32).into(),
            Self::U32 => (value as u32).into(),
            Self::Bool => (value != 0).into(),
            // Whatever an `i64` holds: 64 bits are the most that integers are computed with, and floats have no such
            // bounds.
            Self::I64 | Self::U64 | Self::F32 | Self::F16 => value,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
