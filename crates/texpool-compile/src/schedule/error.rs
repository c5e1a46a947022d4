//! Errors of scheduling a graph.

use texpool_ops::graph::TensorId;
use texpool_plan::printable;

/// Reason why a graph cannot be turned into steps. Importers and the rewriter never produce such graphs; hand-built
/// graphs may.
///
/// ```
/// use texpool_compile::schedule::ScheduleError;
///
/// let (op, tensor) = ("ADD", "skip".to_owned());
/// let error = ScheduleError::NotYetComputed { node: 4, op, tensor };
/// assert_eq!(error.to_string(), "node 4 (ADD): its operand `skip` is not computed before it");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A tensor id that does not exist in the graph.
    #[error("{place}: the graph has no tensor {tensor}")]
    UnknownTensor {
        /// Location of the reference: a node, the inputs or the outputs.
        place: String,
        /// The id.
        tensor: TensorId,
    },
    /// A node reads a tensor before it is computed, or one that is never computed.
    #[error("node {node} ({op}): its operand `{}` is not computed before it", printable(tensor))]
    NotYetComputed {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the operand.
        tensor: String,
    },
    /// A tensor is written by two nodes, or an input or a constant is written.
    #[error("node {node} ({op}): its result `{}` has a value already", printable(tensor))]
    WrittenTwice {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the result.
        tensor: String,
    },
    /// A graph output that no node computes.
    #[error("graph output {index} (`{}`) is computed by no node", printable(tensor))]
    OutputNotComputed {
        /// Index in [`Graph::outputs`](texpool_ops::graph::Graph::outputs).
        index: usize,
        /// Name of the tensor.
        tensor: String,
    },
    /// A tensor whose rows or texels do not fit into 32 bits.
    #[error("tensor `{}` ({shape}) has more than 2^32 - 1 texels", printable(tensor))]
    TooLarge {
        /// Name of the tensor.
        tensor: String,
        /// Shape of the tensor.
        shape: String,
    },
    /// Views would put two graph inputs or outputs into one texture.
    #[error(
        "`{}` and `{}` come in or go out, and views would put both in one texture",
        printable(first),
        printable(second)
    )]
    SharedTexture {
        /// Name of one.
        first: String,
        /// Name of the other.
        second: String,
    },
    /// A node marked as a view whose result cannot share its operand's texels.
    #[error("node {node} ({op}): cannot be a view, {why}")]
    NotAView {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// A concatenation or pad marked as written in place whose parts cannot be written there.
    #[error("node {node}: its parts cannot be written in place, {why}")]
    NotInPlace {
        /// Index of the node in the model file.
        node: usize,
        /// The reason.
        why: String,
    },
}
