//! The CPU references: what each kernel must answer, in plain loops over dense `B, H, W, C` arrays of 32-bit floats.
//!
//! They are slow and meant to be obviously right. Knows no texture, no placement and no shader. The graph must have
//! passed its checker: extents are taken at their word.

mod conv;
mod dense;
mod epilogue;
mod function;
mod line;
mod moves;
mod pixel;
mod pool;
mod reduce;
mod resize;
mod shuffle;
mod view;

use crate::graph::{Graph, Node, Op, Reduce, Shape, TensorId, follows_tensorflow};
use view::View;

/// Why a reference has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// A tensor is read that has no value yet.
    #[error("operator {op_index} ({op}) reads tensor {tensor}, which has no value")]
    NoValue {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
        /// The tensor.
        tensor: TensorId,
    },
    /// An operand is missing from the node.
    #[error("operator {op_index} ({op}) has no operand {index}")]
    NoOperand {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
        /// Which operand.
        index: usize,
    },
    /// An array does not hold as many values as its tensor has elements.
    #[error("tensor {tensor} has {expected} elements ({shape}), but {found} values were given")]
    Length {
        /// The tensor.
        tensor: TensorId,
        /// Its extents.
        shape: Shape,
        /// Elements of the tensor.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// Not as many arrays as the graph has inputs.
    #[error("the graph has {expected} inputs, but {found} were given")]
    Inputs {
        /// Inputs of the graph.
        expected: usize,
        /// Arrays given.
        found: usize,
    },
}

/// The result of one node, its epilogue included. `values` holds one entry a tensor of the graph; constants are read from
/// the graph and need no entry.
///
/// # Errors
/// [`ReferenceError`] where an operand is missing, has no value, or one of another length than its tensor.
pub fn node(graph: &Graph, node: &Node, values: &[Option<Vec<f32>>]) -> Result<Vec<f32>, ReferenceError> {
    let operands = Operands { graph, node, values };
    let out = operands.output()?;
    let x = operands.get(0)?;
    let result = match &node.op {
        Op::Conv2d(conv) => conv::conv2d(&x, &operands.get(1)?, operands.optional(2)?, conv, out),
        Op::DepthwiseConv2d(conv) => conv::depthwise(&x, &operands.get(1)?, operands.optional(2)?, conv, out),
        Op::TransposeConv(conv) => conv::transpose(&x, &operands.get(1)?, operands.optional(2)?, conv, out),
        Op::FullyConnected => dense::fully_connected(&x, &operands.get(1)?, operands.optional(2)?, out),
        Op::Pool2d(pool) if pool.is_mean_of(x.shape) => {
            reduce::reduce(&x, Reduce::Mean, [false, true, true, false], out)
        }
        Op::Pool2d(pool) => pool::pool(&x, pool, out),
        Op::Reduce { kind, axes } => reduce::reduce(&x, *kind, *axes, out),
        Op::Binary(binary) => pixel::two(&x, &operands.get(1)?, out, |a, b| function::two(*binary, a, b)),
        Op::Prelu => pixel::two(&x, &operands.get(1)?, out, |x, alpha| if x < 0.0 { alpha * x } else { x }),
        Op::Unary(unary) => pixel::one(&x, *unary),
        Op::Softmax { beta, log } => pixel::softmax(&x, *beta, *log),
        Op::MatMul { transpose_b } => dense::matmul(&x, &operands.get(1)?, *transpose_b, out),
        Op::TopK { k, largest, indices } => line::top_k(&x, *k, *largest, *indices),
        Op::Lrn { size, alpha, beta, bias } => line::lrn(&x, *size, [*alpha, *beta, *bias]),
        Op::Normalize { axes, epsilon } => line::normalize(&x, *axes, *epsilon),
        Op::CumSum { axis, exclusive, reverse } => line::cum_sum(&x, *axis, *exclusive, *reverse),
        Op::Pad { before, after, mode } => moves::pad(&x, *before, *after, *mode, out),
        Op::Tile => moves::tile(&x, out),
        Op::Gather { axis } => moves::gather(&x, &operands.get(1)?, *axis, out),
        Op::GatherElements { axis } => moves::gather_elements(&x, &operands.get(1)?, *axis, out),
        Op::Concat { axis } => shuffle::concat(&operands.all()?, *axis, out),
        Op::StridedSlice { begin, stride } => shuffle::slice(&x, *begin, *stride, out),
        Op::Reshape => x.data.to_vec(),
        Op::Transpose { perm } => shuffle::transpose(&x, *perm, out),
        Op::DepthToSpace { block, order } => shuffle::depth_to_space(&x, *block, *order, out),
        Op::SpaceToDepth { block } => shuffle::space_to_depth(&x, *block, out),
        Op::Resize { mode, coords, scale } if follows_tensorflow(*mode, *coords, *scale) => {
            resize::tensorflow(&x, *mode, *coords, out)
        }
        Op::Resize { coords, .. } => resize::taps(&x, &node.op, *coords, out),
    };
    epilogue::apply(&operands, result, out)
}

/// The values of every tensor of the graph, given those of its inputs in the graph's order, each as the file has it
/// ([`Tensor::host_permutation`](crate::graph::Tensor::host_permutation)). What is answered lies as it is computed with; constants have no entry
/// of their own unless the graph returns them.
///
/// # Errors
/// [`ReferenceError`] where the inputs do not fit the graph, or a node cannot be computed.
pub fn graph(graph: &Graph, inputs: &[Vec<f32>]) -> Result<Vec<Option<Vec<f32>>>, ReferenceError> {
    if inputs.len() != graph.inputs.len() {
        return Err(ReferenceError::Inputs { expected: graph.inputs.len(), found: inputs.len() });
    }
    let mut values = vec![None; graph.tensors.len()];
    for (&tensor, input) in graph.inputs.iter().zip(inputs) {
        fits(graph, tensor, input.len())?;
        values[tensor] = Some(graph.tensors[tensor].host_permutation.from_file(input).into_owned());
    }
    for step in &graph.nodes {
        let result = node(graph, step, &values)?;
        if let Some(&output) = step.outputs.first() {
            values[output] = Some(result);
        }
    }
    for &output in &graph.outputs {
        if let Some(constant) = &graph.tensors[output].constant {
            values[output] = Some(constant.to_f32().into_owned());
        }
    }
    Ok(values)
}

/// The values of the graph's outputs as the file has them, given those of its inputs likewise.
///
/// # Errors
/// As [`graph`].
pub fn outputs(model: &Graph, inputs: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, ReferenceError> {
    let values = graph(model, inputs)?;
    let missing = |tensor| ReferenceError::NoValue { op_index: 0, op: "output", tensor };
    let output = |&tensor: &TensorId| {
        let lying = values[tensor].as_deref().ok_or_else(|| missing(tensor))?;
        Ok(model.tensors[tensor].host_permutation.to_file(lying).into_owned())
    };
    model.outputs.iter().map(output).collect()
}

fn fits(graph: &Graph, tensor: TensorId, found: usize) -> Result<(), ReferenceError> {
    let shape = graph.shape(tensor);
    if shape.len() == found {
        Ok(())
    } else {
        Err(ReferenceError::Length { tensor, shape, expected: shape.len(), found })
    }
}

/// A node's operands by number.
struct Operands<'a> {
    graph: &'a Graph,
    node: &'a Node,
    values: &'a [Option<Vec<f32>>],
}

impl<'a> Operands<'a> {
    fn tensor(&self, tensor: TensorId) -> Result<View<'a>, ReferenceError> {
        let value = match (&self.graph.tensors[tensor].constant, self.values.get(tensor)) {
            (Some(constant), _) => constant.to_f32(),
            (None, Some(Some(value))) => value.as_slice().into(),
            _ => return Err(ReferenceError::NoValue { op_index: self.node.op_index, op: self.node.op.name(), tensor }),
        };
        fits(self.graph, tensor, value.len())?;
        Ok(View { shape: self.graph.shape(tensor), data: value })
    }

    fn optional(&self, index: usize) -> Result<Option<View<'a>>, ReferenceError> {
        self.node.inputs.get(index).map(|&tensor| self.tensor(tensor)).transpose()
    }

    fn missing(&self, index: usize) -> ReferenceError {
        ReferenceError::NoOperand { op_index: self.node.op_index, op: self.node.op.name(), index }
    }

    fn get(&self, index: usize) -> Result<View<'a>, ReferenceError> {
        self.optional(index)?.ok_or_else(|| self.missing(index))
    }

    fn all(&self) -> Result<Vec<View<'a>>, ReferenceError> {
        self.node.inputs.iter().map(|&tensor| self.tensor(tensor)).collect()
    }

    fn output(&self) -> Result<Shape, ReferenceError> {
        self.node.outputs.first().map(|&tensor| self.graph.shape(tensor)).ok_or_else(|| self.missing(0))
    }
}
