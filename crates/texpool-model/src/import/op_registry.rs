//! Types shared by the operator tables of both formats. Each format has a separate table (`onnx/op_registry.rs`,
//! `tflite/op_registry.rs`), whose rows are next to the functions that lower the operators. The support matrix
//! (`matrix.rs`) is generated from both tables, and the tests derive the operators to cover from them.
//!
//! Contains no specific operators.

/// Element types that an operator supports for its main operands (not for indices and the like). Floats have 32 or 16
/// bits; other types are held in floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    Floats,
    /// Floats and integers.
    Numbers,
    /// Floats, integers and truth values.
    All,
    Truths,
    Integers,
    /// Floats, and quantised integers of 8, 16 or 32 bits.
    Quantised,
    /// Integers of 8 bits.
    Bytes,
}
pub(super) use Types::{All, Bytes, Floats, Integers, Numbers, Quantised, Truths};

impl Types {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Floats => "float",
            Self::Numbers => "float, int",
            Self::All => "float, int, bool",
            Self::Truths => "bool",
            Self::Integers => "int",
            Self::Quantised => "float, 8 to 32 bits with a scale",
            Self::Bytes => "8-bit int",
        }
    }

    /// Returns whether known integers of 8 bits are read as the bytes that the file holds.
    pub(super) const fn keeps_bytes(self) -> bool {
        matches!(self, Self::Quantised | Self::Bytes)
    }
}

/// Support of an operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Support {
    pub(super) types: Types,
    /// Kernels that compute it, or `none` if nothing is computed.
    pub(super) kernels: &'static str,
    /// Limitations, as text.
    pub(super) limits: &'static str,
}

impl Support {
    /// Full support.
    pub(super) const fn new(types: Types, kernels: &'static str) -> Self {
        Self { types, kernels, limits: "" }
    }

    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }
}
