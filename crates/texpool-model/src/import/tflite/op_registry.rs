//! Types for the table of supported TensorFlow Lite operators. The row of each operator is next to the function that
//! lowers it (`lower/`).
//!
//! Contains no specific operators.

use super::{opcode, operator_lowering::OperatorLowering};
use crate::import::{error::Problem, op_registry::Support};

/// Adds the nodes that compute the results, or turns the results into constants.
type Lower = fn(&mut OperatorLowering<'_, '_>) -> Result<(), Problem>;

/// Description of an operator in the support matrix.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) enum Described {
    /// Same as that of the ONNX operator with this name; both share a row.
    LikeOnnx(&'static str),
    /// ONNX has no equivalent operator.
    Alone(Support),
}

/// Number of results of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultCount {
    None,
    One,
    /// One or more.
    Several,
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct TfLiteOpEntry {
    /// Name as in the schema, or `CUSTOM` followed by the name of a custom operator.
    pub(in crate::import) name: &'static str,
    pub(in crate::import) described: Described,
    pub(super) lower: Lower,
    pub(super) results: ResultCount,
}

impl TfLiteOpEntry {
    /// A row for an operator with one result.
    pub(super) const fn new(name: &'static str, described: Described, lower: Lower) -> Self {
        Self { name, described, lower, results: ResultCount::One }
    }

    /// Allows any number of results.
    pub(super) const fn several_results(self) -> Self {
        Self { results: ResultCount::Several, ..self }
    }

    /// For an operator without results.
    pub(super) const fn no_results(self) -> Self {
        Self { results: ResultCount::None, ..self }
    }

    /// Returns the name, and the code in the schema.
    pub(in crate::import) fn coded(&self) -> Option<(&'static str, i32)> {
        opcode::code(self.name).map(|code| (self.name, code))
    }
}
