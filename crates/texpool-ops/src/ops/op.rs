//! Operators with their attributes. Every extent is `[B, H, W, C]` ([`Shape`](crate::graph::Shape)); every padding is
//! explicit.

use super::schema::{OpSchema, Origin, ShapeError};
use crate::graph::Shape;

/// Generates [`Op`] from the table of operators.
macro_rules! op {
    (attributes { $($module:ident::$name:ident,)* } none { $($plain_module:ident::$plain:ident,)* }) => {
        $(pub use super::$module::$name;)*
        $(pub use super::$plain_module::$plain;)*

        /// The operator of a node.
        ///
        /// ```
        /// use texpool::graph::{Op, Transpose, Unary};
        ///
        /// let op = Op::from(Transpose { perm: [0, 3, 1, 2] });
        /// assert_eq!((op.name(), op.moves_only()), ("TRANSPOSE", true));
        /// assert!(Op::Reshape.moves_only() && !Op::Unary(Unary::Relu).moves_only());
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Op {
            $(#[doc = concat!("See [`", stringify!($name), "`](type@", stringify!($name), ").")] $name($name),)*
            $(#[doc = concat!("See [`", stringify!($plain), "`](type@", stringify!($plain), ").")] $plain,)*
        }

        /// Names of all operators, as in the variants of [`Op`].
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
    /// Returns the name from the TensorFlow Lite schema, or the name that fits that schema's style; for operators
    /// that only ONNX has, the ONNX name.
    pub fn name(&self) -> &'static str {
        self.schema().name()
    }

    /// Returns whether each value of the result is a value of an operand.
    pub fn moves_only(&self) -> bool {
        self.schema().origin() == Origin::Moved
    }

    /// Returns the index and the name of each operand that must be part of the model, because it is packed once
    /// before any run.
    pub(crate) fn constant_operands(&self) -> &'static [(usize, &'static str)] {
        match self.schema().origin() {
            Origin::Moved | Origin::Computed => &[],
            Origin::Weights(operands) => operands,
        }
    }
}

/// Returns the shape that `op` gives for operands of the shapes `inputs`.
///
/// Some operators do not determine the shape of their result: reshape, resize, slice, tile, transposed convolution,
/// and the outer extents of a fully connected layer. For these, `stated` gives the shape and is only checked for
/// validity.
///
/// # Errors
/// Fails if the operator cannot take such operands, or cannot produce the shape `stated`.
///
/// ```
/// use texpool::graph::{Op, Shape, Transpose, infer};
///
/// let x = Shape::new(1, 3, 224, 200);
/// // A transpose determines its result and ignores the stated shape; a reshape takes it.
/// assert_eq!(infer(&Transpose { perm: [0, 2, 3, 1] }.into(), &[x], x)?, Shape::new(1, 224, 200, 3));
/// let flat = Shape::new(1, 1, 1, 3 * 224 * 200);
/// assert_eq!(infer(&Op::Reshape, &[x], flat)?, flat);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
pub fn infer(op: &Op, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
    op.schema().shape(inputs, stated)
}
