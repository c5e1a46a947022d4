//! Operands of a node, and errors of the references.

use super::view::View;
use crate::graph::{Graph, IdVec, Node, Shape, TensorId};

/// Reason why a reference cannot compute a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// A tensor has no value yet.
    #[error("operator {op_index} ({op}) reads tensor {tensor}, which has no value")]
    NoValue {
        /// Index in the model file.
        op_index: usize,
        /// Name of the operator.
        op: &'static str,
        /// The tensor.
        tensor: TensorId,
    },
    /// An operand is missing from the node.
    #[error("operator {op_index} ({op}) has no operand {index}")]
    NoOperand {
        /// Index in the model file.
        op_index: usize,
        /// Name of the operator.
        op: &'static str,
        /// Index of the operand.
        index: usize,
    },
    /// The number of values differs from the number of elements of the tensor.
    #[error("tensor {tensor} has {expected} elements ({shape}), but {found} values were given")]
    Length {
        /// The tensor.
        tensor: TensorId,
        /// Extents of the tensor.
        shape: Shape,
        /// Number of elements of the tensor.
        expected: usize,
        /// Number of values given.
        found: usize,
    },
    /// The number of arrays differs from the number of the graph's inputs.
    #[error("the graph has {expected} inputs, but {found} were given")]
    Inputs {
        /// Number of inputs of the graph.
        expected: usize,
        /// Number of arrays given.
        found: usize,
    },
}

pub(super) fn fits(graph: &Graph, tensor: TensorId, found: usize) -> Result<(), ReferenceError> {
    let shape = graph.shape(tensor);
    if shape.len() == found {
        Ok(())
    } else {
        Err(ReferenceError::Length { tensor, shape, expected: shape.len(), found })
    }
}

/// The operands of a node, by index.
pub(crate) struct Operands<'a> {
    pub(super) graph: &'a Graph,
    pub(super) node: &'a Node,
    pub(super) values: &'a IdVec<TensorId, Option<Vec<f32>>>,
}

impl<'a> Operands<'a> {
    pub(super) fn tensor(&self, tensor: TensorId) -> Result<View<'a>, ReferenceError> {
        let value = match (&self.graph.tensors[tensor].constant, self.values.get(tensor)) {
            // Constants are read from the graph, so that weights are not stored twice.
            (Some(constant), _) => constant.to_f32(),
            (None, Some(Some(value))) => value.as_slice().into(),
            _ => return Err(ReferenceError::NoValue { op_index: self.node.op_index, op: self.node.op.name(), tensor }),
        };
        fits(self.graph, tensor, value.len())?;
        Ok(View { shape: self.graph.shape(tensor), data: value })
    }

    pub(crate) fn optional(&self, index: usize) -> Result<Option<View<'a>>, ReferenceError> {
        self.node.inputs.get(index).map(|&tensor| self.tensor(tensor)).transpose()
    }

    fn missing(&self, index: usize) -> ReferenceError {
        ReferenceError::NoOperand { op_index: self.node.op_index, op: self.node.op.name(), index }
    }

    pub(crate) fn get(&self, index: usize) -> Result<View<'a>, ReferenceError> {
        self.optional(index)?.ok_or_else(|| self.missing(index))
    }

    pub(crate) fn all(&self) -> Result<Vec<View<'a>>, ReferenceError> {
        self.node.inputs.iter().map(|&tensor| self.tensor(tensor)).collect()
    }

    pub(super) fn output(&self) -> Shape {
        self.graph.shape(self.node.output)
    }
}

/// Computation of an operator on the CPU, from its definition and independently of its kernels.
pub(crate) trait Reference {
    /// Computes the result, without the epilogue.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError>;
}
