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

    /// Returns the index and the name of each operand that must be part of the model, because it is packed once
    /// before any run.
    fn constant_operands(&self) -> &'static [(usize, &'static str)];

    /// Returns whether each value of the result is a value of an operand.
    fn moves_only(&self) -> bool;
}

/// The operands of convolutions and fully connected layers that must be part of the model.
pub(super) const WEIGHTS_AND_BIAS: [(usize, &str); 2] = [(1, "weights"), (2, "bias")];
