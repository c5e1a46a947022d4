//! Why a graph has no schedule.

use crate::{graph::TensorId, plan::printable};

/// A graph that cannot be put in steps. Importers and the rewriter make none of these; hand-built graphs may.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A tensor id that the graph does not have.
    #[error("{place}: the graph has no tensor {tensor}")]
    UnknownTensor {
        /// Where it stands: a node, the inputs or the outputs.
        place: String,
        /// The id.
        tensor: TensorId,
    },
    /// A node is read from before it is computed, or never computed.
    #[error("node {node} ({op}): its operand `{}` is not computed before it", printable(tensor))]
    NotYetComputed {
        /// Index of the node in the model file.
        node: usize,
        /// Its operator.
        op: &'static str,
        /// Name of the operand.
        tensor: String,
    },
    /// A tensor is written by two nodes, or is an input or a constant and written.
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
        /// Index in [`Graph::outputs`](crate::graph::Graph::outputs).
        index: usize,
        /// Name of the tensor.
        tensor: String,
    },
    /// A tensor with more rows or texels than 32 bits count.
    #[error("tensor `{}` ({shape}) has more than 2^32 - 1 texels", printable(tensor))]
    TooLarge {
        /// Name of the tensor.
        tensor: String,
        /// Its extents.
        shape: String,
    },
    /// Views would put two graph inputs or outputs in one texture.
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
        /// What stands against it.
        why: &'static str,
    },
    /// A concatenation or pad marked as written in place whose parts cannot be.
    #[error("node {node}: its parts cannot be written in place, {why}")]
    NotInPlace {
        /// Index of the node in the model file.
        node: usize,
        /// What stands against it.
        why: String,
    },
}
