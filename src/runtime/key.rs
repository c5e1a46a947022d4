//! Names or indices of inputs and outputs.

use std::fmt;

use texpool_plan::printable;

/// Identifies an input or output by name or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorKey<'a> {
    /// By its name, which must be unique.
    Name(&'a str),
    /// By its index among the inputs or outputs.
    Index(usize),
}

impl<'a> From<&'a str> for TensorKey<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for TensorKey<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

impl From<usize> for TensorKey<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl fmt::Display for TensorKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{}`", printable(name)),
            Self::Index(index) => index.fmt(f),
        }
    }
}

/// The key of a tensor that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedTensor {
    /// By its name.
    Name(String),
    /// By its index.
    Index(usize),
}

impl fmt::Display for WantedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => TensorKey::Name(name).fmt(f),
            Self::Index(index) => TensorKey::Index(*index).fmt(f),
        }
    }
}
