//! Defines an operator: its name, the shape of its result, and the operands that must be part of the model.
//! Independent of tensors, values and the order of nodes.

mod shape_error;
pub(super) mod shapes;
pub(super) mod window;

pub use shape_error::ShapeError;

use crate::graph::Shape;

/// Definition of an operator. No method has a default.
pub(crate) trait OpSchema {
    /// Returns the name from the TensorFlow Lite schema, or the name that fits that schema's style; for operators
    /// that only ONNX has, the ONNX name.
    fn name(&self) -> &'static str;

    /// Returns the shape of the result for operands of the shapes `inputs`. If the operator does not determine it,
    /// `stated` gives the shape and is checked for validity.
    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError>;

    /// Returns where the values of the result come from.
    fn origin(&self) -> Origin;
}

/// Origin of the values of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Each is a value of an operand.
    Moved,
    /// They are computed from the operands, any of which may be computed in turn.
    Computed,
    /// They are computed with operands that must be part of the model, because these are packed once before any run:
    /// the index and the name of each.
    Weights(&'static [(usize, &'static str)]),
}

/// The operands of convolutions and fully connected layers that must be part of the model.
pub(super) const WEIGHTS_AND_BIAS: [(usize, &str); 2] = [(1, "weights"), (2, "bias")];
