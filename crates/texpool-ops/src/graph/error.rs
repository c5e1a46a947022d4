//! Errors of building and checking a graph.

use super::{ElementType, Shape, ShapeError, TensorId};
use texpool_plan::printable;

/// An error in a graph.
///
/// ```
/// use texpool::graph::{CheckError, GraphBuilder, Unary, check};
///
/// let mut b = GraphBuilder::new("twice");
/// let x = b.input("x", &[4])?;
/// let y = b.unary("y", Unary::Sqrt, x)?;
/// let mut graph = b.finish(&[y])?;
/// graph.outputs.push(y);
/// let error = check(&graph).unwrap_err();
/// assert!(matches!(error, CheckError::Output { .. }));
/// assert_eq!(error.to_string(), "output `y` is there twice");
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A tensor with an extent of zero.
    #[error("tensor `{}` is empty: {dims:?}", printable(tensor))]
    Empty {
        /// Name of the tensor.
        tensor: String,
        /// Its extents.
        dims: Vec<usize>,
    },
    /// A tensor of more than [`MAX_ELEMENTS`](super::MAX_ELEMENTS) elements.
    #[error("tensor `{}` is too large: {dims:?} is more than 2^31 elements", printable(tensor))]
    TooLarge {
        /// Name of the tensor.
        tensor: String,
        /// Its extents.
        dims: Vec<usize>,
    },
    /// A tensor whose stated extents and shape have different numbers of elements.
    #[error("tensor `{}`: {dims:?} and {shape} are not the same elements", printable(tensor))]
    Dims {
        /// Name of the tensor.
        tensor: String,
        /// Extents as stated.
        dims: Vec<usize>,
        /// Extents as computed with.
        shape: Shape,
    },
    /// A tensor whose host permutation belongs to a different number of elements.
    #[error("tensor `{}`: its order is not one of {dims:?}", printable(tensor))]
    HostPermutation {
        /// Name of the tensor.
        tensor: String,
        /// Extents as stated.
        dims: Vec<usize>,
    },
    /// A constant whose values are too few or too many.
    #[error("constant `{}` has {found} bytes, {expected} are needed", printable(tensor))]
    Constant {
        /// Name of the tensor.
        tensor: String,
        /// Bytes needed for its shape and element type.
        expected: usize,
        /// Bytes present.
        found: usize,
    },
    /// A scale and a zero point that are not possible for the tensor's integer type.
    #[error("tensor `{}` is of {element_type} and quantised, but {reason}", printable(tensor))]
    Quantization {
        /// Name of the tensor.
        tensor: String,
        /// Type of its elements.
        element_type: ElementType,
        /// The reason.
        reason: &'static str,
    },
    /// A tensor id outside the graph's tensors.
    #[error("{}: there is no tensor {id}", printable(place))]
    NoSuchTensor {
        /// The node, or the graph's inputs or outputs.
        place: String,
        /// The id.
        id: TensorId,
    },
    /// A tensor written by two nodes, or an input or constant that is written by a node.
    #[error("node {node} {operator}: tensor `{}` has a value already", printable(tensor))]
    Rewritten {
        /// The second node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of the tensor.
        tensor: String,
    },
    /// A tensor that is read before it has a value: nodes out of order, a cycle, or no producer at all.
    #[error("node {node} {operator}: tensor `{}` has no value yet (nodes out of order, or a cycle)", printable(tensor))]
    Unset {
        /// The reader, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of the tensor.
        tensor: String,
    },
    /// An operand that must be part of the model is computed.
    #[error("node {node} {operator}: the {role} `{}` must be constant", printable(tensor))]
    NotConstant {
        /// The node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Weights, bias or alpha.
        role: &'static str,
        /// Name of the tensor.
        tensor: String,
    },
    /// Operands that the operator cannot take.
    #[error("node {node} {operator}, `{}`: {source}", printable(tensor))]
    Shape {
        /// The node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of the result.
        tensor: String,
        /// The reason.
        source: Box<ShapeError>,
    },
    /// A result whose shape differs from the inferred one.
    #[error("node {node} {operator}: `{}` is {stated}, its operands give {inferred}", printable(tensor))]
    Disagrees {
        /// The node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of the result.
        tensor: String,
        /// The shape it has.
        stated: Shape,
        /// The shape it should have.
        inferred: Box<Shape>,
    },
    /// An epilogue that does not fit the result.
    #[error(
        "node {node} {operator}: the epilogue's `{}`, {found}, does not fit a result of {result}",
        printable(tensor)
    )]
    Epilogue {
        /// The node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of the epilogue's tensor.
        tensor: String,
        /// Its shape.
        found: Shape,
        /// Shape of the result.
        result: Box<Shape>,
    },
    /// A requantisation whose bounds are in the wrong order or beyond 12 bits.
    #[error("node {node} {operator}: it requantises to {least}..={most}, which must be within -2048..=2047")]
    Requantize {
        /// The node, by [`Node::op_index`](super::Node::op_index).
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Smallest integer.
        least: i16,
        /// Largest integer.
        most: i16,
    },
    /// A graph input that is a constant or is listed twice.
    #[error("input `{}` is {what}", printable(tensor))]
    Input {
        /// Name of the tensor.
        tensor: String,
        /// The problem.
        what: &'static str,
    },
    /// A graph output that no node computes or that is listed twice.
    #[error("output `{}` is {what}", printable(tensor))]
    Output {
        /// Name of the tensor.
        tensor: String,
        /// The problem.
        what: &'static str,
    },
    /// A variable that does not fit its input and output.
    #[error("variable `{}` is {what}", printable(variable))]
    Variable {
        /// Name of the variable.
        variable: String,
        /// The problem.
        what: &'static str,
    },
    /// A graph without outputs.
    #[error("the graph has no outputs")]
    NoOutputs,
}

/// Why a graph could not be built.
///
/// ```
/// use texpool::graph::{Act, Binary, BuildError, GraphBuilder};
///
/// let mut b = GraphBuilder::new("misfit");
/// let (x, y) = (b.input("x", &[1, 4, 4, 3])?, b.input("y", &[1, 4, 4, 2])?);
/// let error = b.binary("sum", Binary::Add, x, y, Act::None).unwrap_err();
/// assert!(matches!(error, BuildError::Shape { node: 0, .. }));
/// assert_eq!(error.to_string(), "node 0 ADD, `sum`: 1x4x4x3 and 1x4x4x2 do not broadcast");
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Operands that the operator cannot take.
    #[error("node {node} {operator}, `{}`: {source}", printable(name))]
    Shape {
        /// Index the node would have had.
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of its result.
        name: String,
        /// The reason.
        source: Box<ShapeError>,
    },
    /// An operand id that does not belong to this builder.
    #[error("node {node} {operator}, `{}`: there is no tensor {id}", printable(name))]
    NoSuchTensor {
        /// Index the node would have had.
        node: usize,
        /// Its operator.
        operator: &'static str,
        /// Name of its result.
        name: String,
        /// The id.
        id: TensorId,
    },
    /// Extents that do not fit into four: there are more than four, not counting ones in front.
    #[error("tensor `{}`: {dims:?} has more than four extents", printable(name))]
    Rank {
        /// Name of the tensor.
        name: String,
        /// Its extents.
        dims: Vec<usize>,
    },
    /// The finished graph is not valid.
    #[error(transparent)]
    Check(#[from] CheckError),
}
