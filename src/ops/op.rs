//! What a node computes: one of the operators, with its attributes. Every extent is `[B, H, W, C]`
//! ([`Shape`](crate::graph::Shape)); every padding is explicit.

use super::schema::{OpSchema, ShapeError};
use crate::graph::Shape;

/// Writes [`Op`] from the table of operators.
macro_rules! op {
    (attributes { $($module:ident::$name:ident,)* } none { $($plain_module:ident::$plain:ident,)* }) => {
        $(pub use super::$module::$name;)*
        $(pub use super::$plain_module::$plain;)*

        /// What a node computes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $(#[doc = concat!("See [`", stringify!($name), "`](type@", stringify!($name), ").")] $name($name),)*
            $(#[doc = concat!("See [`", stringify!($plain), "`](type@", stringify!($plain), ").")] $plain,)*
        }

        /// The names of all operators, as the variants of [`Op`] have them.
        pub const OPERATORS: &[&str] = &[$(stringify!($name),)* $(stringify!($plain),)*];

        impl Op {
            fn schema(&self) -> &dyn OpSchema {
                match self {
                    $(Self::$name(operator) => operator,)*
                    $(Self::$plain => &$plain,)*
                }
            }
        }

        $(impl From<$name> for Op {
            fn from(operator: $name) -> Self {
                Self::$name(operator)
            }
        })*
    };
}

operators!(op);

impl Op {
    /// The operator's name as the TensorFlow Lite schema writes it or would, or as ONNX does where only it has one.
    pub fn name(&self) -> &'static str {
        self.schema().name()
    }

    /// Whether each value of the result is a value of an operand.
    pub fn moves_only(&self) -> bool {
        self.schema().moves_only()
    }

    /// Operands that must be part of the model, and what they are called: they are packed once, before any run.
    pub(crate) fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        self.schema().constant_operands()
    }
}

/// The shape that `op` gives for operands of the shapes `inputs`.
///
/// Where the operator leaves its result's shape open (reshape, resize, slice, tile, transposed convolution, and the
/// outer extents of a fully connected layer), `stated` decides, and is checked for being possible.
///
/// # Errors
/// If the operator cannot take such operands, or cannot give `stated`.
pub fn infer(op: &Op, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    op.schema().shape(inputs, stated)
}
