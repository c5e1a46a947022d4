//! The model in memory: tensors, operators and their attributes. Knows no file format and no device.

mod builder;
mod check;
mod constant;
mod element_type;
mod epilogue;
mod error;
pub(crate) mod evaluate;
mod finite;
pub(crate) mod function;
mod id_vec;
mod ids;
mod layout_permutation;
mod node_set;
mod padding;
mod quantization;
mod shape;
mod shared_constants;
mod subtensor;

pub use builder::GraphBuilder;
pub use check::check;
pub use constant::{Bytes, Constant, QuantParams, Reals};
pub use element_type::ElementType;
pub use epilogue::{Act, Epilogue};
pub use error::{BuildError, CheckError};
pub use finite::NotFinite;
pub use id_vec::IdVec;
pub use ids::{Id, NodeId, TensorId};
pub use layout_permutation::LayoutPermutation;
pub use node_set::NodeSet;
pub use padding::Padding;
pub use quantization::Quantization;
pub use shape::{MAX_ELEMENTS, Shape};
pub(crate) use shared_constants::share_constants;
pub use subtensor::{SubtensorError, texels_agree};
pub(crate) use subtensor::{SubtensorOffset, may_be_in_place, subtensor_offsets};

pub use crate::ops::{
    depth_to_space::DepthOrder,
    normalize::Statistic,
    op::*,
    pad::{PadAxis, PadMode},
    pool::PoolKind,
    reduce::ReduceKind,
    resize::{CoordMode, ResizeAxis, ResizeMode, Rounding, Taps},
    schema::ShapeError,
};

/// A tensor of the model: an intermediate, an input, an output or a constant.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name in the file; not necessarily unique.
    pub name: String,
    /// Extents as computed with, `[B, H, W, C]`.
    pub shape: Shape,
    /// Extents as the file states them, any rank: what a caller reads and writes.
    pub dims: Vec<usize>,
    /// The order in which a caller has the elements, if the tensor is an input or output.
    pub host_permutation: LayoutPermutation,
    /// The type that a caller has the elements in, if the tensor is an input or output. It is computed with as 32-bit
    /// floats, as all tensors are: the others say so.
    pub element_type: ElementType,
    /// What the caller's integers stand for, where not for themselves. That is what is computed with.
    pub quantization: Option<Quantization>,
    /// The values, if they are part of the model.
    pub constant: Option<Constant>,
    /// The least and the greatest integer that an input may hold, where nodes would round what they compute from others:
    /// [compiling](crate::compile) finds that.
    pub integer_range: Option<[i32; 2]>,
}

impl Tensor {
    /// A tensor of 32-bit floats without values, which a caller has as it is computed with.
    pub fn new(name: impl Into<String>, shape: Shape) -> Self {
        Self {
            name: name.into(),
            shape,
            dims: shape.dims().to_vec(),
            host_permutation: LayoutPermutation::default(),
            element_type: ElementType::F32,
            quantization: None,
            constant: None,
            integer_range: None,
        }
    }
}

/// One operator of the model. Nodes stand in execution order.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// Operands, in the order the operator documents ([`Op`]).
    pub inputs: Vec<TensorId>,
    /// Its result.
    pub output: TensorId,
    /// What is done to the result before it is stored.
    pub epilogue: Epilogue,
    /// Index of the operator in the model file, for messages; the first one where several were fused.
    pub op_index: usize,
    /// The type of the result where it computes integers from integers: it must be exact then. Rewriting does not keep it
    /// up; it is asked of the graph as it was imported.
    pub integers: Option<ElementType>,
}

impl Node {
    /// Every tensor that is read, constants included: the inputs, then the epilogue's alphas and addend.
    pub fn operands(&self) -> impl Iterator<Item = TensorId> + '_ {
        // An epilogue may hold two PReLUs, each with alphas of its own.
        let alphas = [self.epilogue.first, self.epilogue.then].into_iter().filter_map(|act| match act {
            Act::Prelu(alpha) => Some(alpha),
            Act::None | Act::Unary(_) => None,
        });
        self.inputs.iter().copied().chain(alphas).chain(self.epilogue.add)
    }
}

/// A model: tensors, nodes in execution order, and which tensors come in and go out.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Name of the model, for reports.
    pub name: String,
    /// Every tensor.
    pub tensors: IdVec<TensorId, Tensor>,
    /// Every node, each after those that produce its inputs.
    pub nodes: IdVec<NodeId, Node>,
    /// Tensors the caller brings.
    pub inputs: Vec<TensorId>,
    /// Tensors the caller takes.
    pub outputs: Vec<TensorId>,
}

impl Graph {
    /// Shape of a tensor, `[B, H, W, C]`.
    pub fn shape(&self, tensor: TensorId) -> Shape {
        self.tensors[tensor].shape
    }

    /// Whether a tensor's values are part of the model.
    pub fn is_constant(&self, tensor: TensorId) -> bool {
        self.tensors[tensor].constant.is_some()
    }
}
