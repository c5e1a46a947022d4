//! What an operator is: its name, the shape of its result, which operands the model must hold. Knows no tensors, no
//! values and no order of nodes.

mod shape_error;
pub(super) mod shapes;
pub(super) mod window;

pub use shape_error::ShapeError;

use crate::graph::Shape;

/// What an operator is. Nothing has a default.
pub(crate) trait OpSchema {
    /// Its name as the TensorFlow Lite schema writes it or would, or as ONNX does where only it has one.
    fn name(&self) -> &'static str;

    /// The shape of its result for operands of the shapes `inputs`. Where the operator leaves it open, `stated`
    /// decides, and is checked for being possible.
    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError>;

    /// Operands that must be part of the model, and what they are called: they are packed once, before any run.
    fn constant_operands(&self) -> &'static [(usize, &'static str)];

    /// Whether each value of the result is a value of an operand.
    fn moves_only(&self) -> bool;
}

/// The operands of convolutions and fully connected layers that must be part of the model.
pub(super) const WEIGHTS_AND_BIAS: [(usize, &str); 2] = [(1, "weights"), (2, "bias")];
