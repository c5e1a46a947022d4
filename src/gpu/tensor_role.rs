//! Which side of the model a tensor of the caller's is on.

use std::fmt;

/// Whether a tensor is an input or an output of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorRole {
    /// The caller gives it.
    Input,
    /// The model computes it.
    Output,
}

impl fmt::Display for TensorRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}
