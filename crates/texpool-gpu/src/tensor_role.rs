//! Role of a tensor in the model's interface.

use std::fmt;

/// Distinguishes inputs and outputs of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorRole {
    /// The caller provides its values.
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
