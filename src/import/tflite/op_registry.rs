//! TensorFlow Lite's operators as they are read: the row of each stands beside the function that lowers it (`lower/`),
//! and this is the only place where a file's operator is looked up.
//!
//! Names no operator.

use super::{opcode, operator_lowering::OperatorLowering};
use crate::import::{error::Problem, op_registry::Support};

/// Adds the nodes that compute the results, or makes them constants.
type Lower = fn(&mut OperatorLowering<'_, '_>) -> Result<(), Problem>;

/// What the support matrix says of an operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) enum Described {
    /// What it says of ONNX's operator of that name, in whose row it stands.
    LikeOnnx(&'static str),
    /// ONNX has no such operator.
    Alone(Support),
}

/// An operator.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct TfLiteOpEntry {
    /// As the schema writes it; or `CUSTOM` and the name of a custom operator.
    pub(in crate::import) name: &'static str,
    pub(in crate::import) described: Described,
    pub(super) lower: Lower,
    /// Whether it may have several results.
    pub(super) several_results: bool,
}

impl TfLiteOpEntry {
    /// An operator of one result.
    pub(super) const fn new(name: &'static str, described: Described, lower: Lower) -> Self {
        Self { name, described, lower, several_results: false }
    }

    /// With any number of results.
    pub(super) const fn several_results(self) -> Self {
        Self { several_results: true, ..self }
    }

    /// Its name and its code in the schema.
    pub(in crate::import) fn coded(&self) -> Option<(&'static str, i32)> {
        opcode::code(self.name).map(|code| (self.name, code))
    }
}
