//! How a caller names an input or output.

use std::fmt;

use super::{Error, TensorInfo};
use crate::{gpu::TensorRole, plan::printable};

/// An input or output by its name, or by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorKey<'a> {
    /// By its name, which must be the only one.
    Name(&'a str),
    /// By its index among the inputs, or outputs.
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

/// The index of the input or output that a key means.
pub(super) fn find(role: TensorRole, tensors: &[TensorInfo], key: TensorKey<'_>) -> Result<usize, Error> {
    let known = || tensors.iter().map(|tensor| tensor.name.clone()).collect();
    match key {
        TensorKey::Index(index) if index < tensors.len() => Ok(index),
        TensorKey::Index(index) => Err(Error::NoSuchTensor { role, key: WantedTensor::Index(index), known: known() }),
        TensorKey::Name(name) => {
            let indices: Vec<usize> = (0..tensors.len()).filter(|&i| tensors[i].name == name).collect();
            match indices[..] {
                [index] => Ok(index),
                [] => Err(Error::NoSuchTensor { role, key: WantedTensor::Name(name.to_owned()), known: known() }),
                _ => Err(Error::AmbiguousName { role, name: name.to_owned(), indices }),
            }
        }
    }
}

/// What was asked for where there is no such tensor.
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
