//! What the two formats' tables of operators say in the same words. Each format has a table of its own
//! (`onnx/op_registry.rs`, `tflite/op_registry.rs`), whose rows stand beside the functions that lower them; from both
//! tables together the support matrix is written (`matrix.rs`), and the tests take what they must cover.
//!
//! Names no operator.

/// Elements that an operator takes, beside indices and the like: floats of 32 or 16 bits, and what floats hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    Floats,
    /// Floats and integers.
    Numbers,
    /// Floats, integers and truth values.
    All,
    Truths,
    /// Floats and the 8, 16 or 32 bits that stand for them.
    Quantised,
}
pub(super) use Types::{All, Floats, Numbers, Quantised, Truths};

impl Types {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Floats => "float",
            Self::Numbers => "float, int",
            Self::All => "float, int, bool",
            Self::Truths => "bool",
            Self::Quantised => "float, 8 to 32 bits with a scale",
        }
    }
}

/// What is supported of an operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Support {
    pub(super) types: Types,
    /// Kernels that compute it; `none` if nothing is computed.
    pub(super) kernels: &'static str,
    /// What is not supported of it, in words.
    pub(super) limits: &'static str,
}

impl Support {
    /// Without limits.
    pub(super) const fn new(types: Types, kernels: &'static str) -> Self {
        Self { types, kernels, limits: "" }
    }

    pub(super) const fn limits(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }
}
