//! The model in memory: tensors, operators and their attributes. Independent of file formats and devices.

mod blocks;
mod bounded;
mod builder;
mod check;
mod constant;
mod device_class;
mod element_type;
mod epilogue;
mod error;
pub mod evaluate;
mod finite;
pub(crate) mod function;
mod id_vec;
mod ids;
mod layout_permutation;
mod node_set;
mod padding;
mod quantization;
mod requantize;
mod shape;
mod shared_constants;
mod subtensor;
mod texel_storage;
mod variable;

pub use blocks::{BlockSize, Blocks, LayerKind};
pub use bounded::{BoundedInput, BoundedOutput, ExtentError, ExtentLimit, InputValues, PaddedInput};
pub use builder::GraphBuilder;
pub use check::check;
pub use constant::{Bytes, Constant, QuantParams, Reals, exceeds_half};
pub use device_class::DeviceClass;
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
pub use requantize::{FixedPoint, Requantization, Requantize};
pub use shape::{MAX_ELEMENTS, Shape};
pub use shared_constants::share_constants;
pub use subtensor::{SubtensorError, SubtensorOffset, keeps_texels, may_be_in_place, subtensor_offsets, texels_agree};
pub use texel_storage::TexelStorage;
pub use variable::Variable;

pub use crate::ops::{
    depth_to_space::DepthOrder,
    non_max_suppression::Threshold,
    normalize::Statistic,
    op::*,
    pad::{PadAxis, PadMode},
    pool::PoolKind,
    quantized_add::QuantizedSum,
    rearrange::StridedAxis,
    recurrent::{Cell, CellFunction},
    reduce::ReduceKind,
    resize::{CoordMode, ResizeAxis, ResizeMode, Rounding, Taps},
    schema::ShapeError,
    segment_reduce::SegmentKind,
    winograd::WinogradTile,
};

/// A tensor of the model: an intermediate, an input, an output or a constant.
///
/// ```
/// use texpool::graph::{ElementType, Shape, Tensor};
///
/// let tensor = Tensor::new("scores", Shape::new(1, 1, 7, 10));
/// assert_eq!((tensor.dims, tensor.element_type), (vec![1, 1, 7, 10], ElementType::F32));
/// assert!(tensor.constant.is_none() && tensor.host_permutation.is_file_order());
/// ```
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name in the file; not necessarily unique.
    pub name: String,
    /// Extents used for computing, `[B, H, W, C]`.
    pub shape: Shape,
    /// Extents as stated in the file, of any rank. Callers read and write the tensor with these.
    pub dims: Vec<usize>,
    /// The caller's order of the elements, if the tensor is an input or output.
    pub host_permutation: LayoutPermutation,
    /// The caller's element type, if the tensor is an input or output. All tensors are computed with as 32-bit
    /// floats, so this is `F32` for all other tensors.
    pub element_type: ElementType,
    /// Maps the caller's integers to the reals used for computing. `None` if the integers themselves are used.
    pub quantization: Option<Quantization>,
    /// The values, if they are part of the model.
    pub constant: Option<Constant>,
    /// Smallest and largest integer that an input may hold. Set by compiling if nodes would round
    /// the results for larger integers.
    pub integer_range: Option<[i32; 2]>,
    /// Representation of four values in texels. Set by compiling.
    pub storage: TexelStorage,
}

impl Tensor {
    /// A tensor of 32-bit floats without values. The caller's extents, order and type are those used for computing.
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
            storage: TexelStorage::Values,
        }
    }

    /// Returns the number of texels in a row.
    pub const fn row_texels(&self) -> usize {
        self.shape.row_texels() * self.storage.texels()
    }

    /// Returns the number of texels.
    pub const fn texels(&self) -> u64 {
        self.shape.rows() as u64 * self.row_texels() as u64
    }
}

/// One operator of the model. A graph lists its nodes in execution order.
///
/// ```
/// use texpool::graph::{Act, GraphBuilder, NodeId};
///
/// let mut b = GraphBuilder::new("activated");
/// let x = b.input("x", &[16, 2])?;
/// let (weights, alpha) = (b.constant("weights", &[8, 2], &[0.1; 16])?, b.constant("alpha", &[8], &[0.25; 8])?);
/// let y = b.fully_connected("y", x, weights, None, Act::Prelu(alpha))?;
/// let node = &b.finish(&[y])?.nodes[NodeId::new(0)];
/// assert_eq!((node.op.name(), &node.inputs[..], node.output), ("FULLY_CONNECTED", &[x, weights][..], y));
/// assert!(node.operands().eq([x, weights, alpha])); // the epilogue reads `alpha`
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator.
    pub op: Op,
    /// Operands, in the order documented for the operator ([`Op`]).
    pub inputs: Vec<TensorId>,
    /// The tensor that the node writes.
    pub output: TensorId,
    /// Operations applied to the result before it is stored.
    pub epilogue: Epilogue,
    /// Index of the operator in the model file, used in messages. If several operators were fused, the first one's.
    pub op_index: usize,
    /// Type of the result if the node computes integers from integers. Such a result must be exact. Rewriting does
    /// not maintain this field; it is only read from the graph as imported.
    pub integers: Option<ElementType>,
}

impl Node {
    /// All tensors that the node reads, including constants: the inputs, then the constants and the addend of
    /// the epilogue.
    pub fn operands(&self) -> impl Iterator<Item = TensorId> + '_ {
        // An epilogue may contain two PReLUs, each with separate alphas.
        let constants = [self.epilogue.first, self.epilogue.then].into_iter().filter_map(Act::constant);
        self.inputs.iter().copied().chain(constants).chain(self.epilogue.add)
    }

    /// The places of those tensors.
    pub fn operands_mut(&mut self) -> impl Iterator<Item = &mut TensorId> {
        let Epilogue { first, add, then } = &mut self.epilogue;
        let constants = [first, then].into_iter().filter_map(Act::constant_mut);
        self.inputs.iter_mut().chain(constants).chain(add)
    }
}

/// A model: tensors, nodes in execution order, and lists of the input and output tensors.
///
/// ```
/// use texpool::graph::{Act, Binary, GraphBuilder, Shape};
///
/// let mut b = GraphBuilder::new("offset");
/// let x = b.input("x", &[1, 4, 4, 3])?;
/// let offsets = b.constant("offsets", &[3], &[0.1, 0.2, 0.3])?;
/// let y = b.binary("y", Binary::Add, x, offsets, Act::None)?;
/// let graph = b.finish(&[y])?;
/// assert_eq!((graph.tensors.len(), graph.nodes.len()), (3, 1));
/// assert_eq!((graph.shape(offsets), graph.is_constant(offsets)), (Shape::new(1, 1, 1, 3), true));
/// assert_eq!((graph.caller_inputs(), graph.caller_outputs()), (&[x][..], &[y][..]));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Name of the model, for reports.
    pub name: String,
    /// Every tensor.
    pub tensors: IdVec<TensorId, Tensor>,
    /// Every node, each after those that produce its inputs.
    pub nodes: IdVec<NodeId, Node>,
    /// Tensors that are given: by the caller, after those the extents of bounded inputs, and last the values of the
    /// variables before a run.
    pub inputs: Vec<TensorId>,
    /// Tensors that are wanted: by the caller, after those the extents of bounded outputs and those with a limit, and last
    /// the values of the variables after a run.
    pub outputs: Vec<TensorId>,
    /// Inputs of the caller that may have fewer places along an axis than their tensors.
    pub bounded_inputs: Vec<BoundedInput>,
    /// Outputs of the caller whose extent along an axis is found in a run.
    pub bounded: Vec<BoundedOutput>,
    /// Extents that a run computes, each with the most that its tensors have room for.
    pub limits: Vec<ExtentLimit>,
    /// Values that are kept from run to run, in the order of their inputs and outputs.
    pub variables: Vec<Variable>,
    /// Blocks that the kernels compute. Set by compiling, for the class of the device.
    pub blocks: Blocks,
}

impl Graph {
    /// Shape of a tensor, `[B, H, W, C]`.
    pub fn shape(&self, tensor: TensorId) -> Shape {
        self.tensors[tensor].shape
    }

    /// Tensors that the caller provides.
    pub fn caller_inputs(&self) -> &[TensorId] {
        let others = self.inputs.len().saturating_sub(self.variables.len());
        let first_count = self.bounded_inputs.iter().map(|bounded| bounded.count).min();
        &self.inputs[..first_count.unwrap_or(others).min(others)]
    }

    /// Tensors that the caller reads.
    pub fn caller_outputs(&self) -> &[TensorId] {
        let others = self.outputs.len().saturating_sub(self.variables.len());
        &self.outputs[..self.counts().min().unwrap_or(others).min(others)]
    }

    /// Indices among the outputs of the extents that a run finds. One that several share occurs several times.
    pub fn counts(&self) -> impl Iterator<Item = usize> {
        let of_outputs = self.bounded.iter().map(|bounded| bounded.count);
        of_outputs.chain(self.limits.iter().map(|limit| limit.count))
    }

    /// Returns the axes of an output whose extents are found in a run.
    pub fn bounded_axes_of_output(&self, output: usize) -> impl Iterator<Item = &BoundedOutput> {
        self.bounded.iter().filter(move |bounded| bounded.output == output)
    }

    /// Cuts the values of an output to the extents that a run found, and returns the extents left. `count` gives the value
    /// of an output that holds an extent.
    pub fn cut_output(&self, output: usize, values: &mut Vec<f32>, count: impl Fn(usize) -> Option<f32>) -> Vec<usize> {
        let Some(&tensor) = self.outputs.get(output) else { return Vec::new() };
        let mut dims = self.tensors[tensor].dims.clone();
        for bounded in self.bounded_axes_of_output(output) {
            if let Some(count) = count(bounded.count) {
                dims = bounded.cut(&dims, count, values);
            }
        }
        dims
    }

    /// Cuts the values of all outputs to the extents that a run found, keeps those of the caller, and returns their extents.
    ///
    /// ```
    /// use texpool::graph::{BoundedOutput, GraphBuilder, Unary};
    ///
    /// let mut b = GraphBuilder::new("roots");
    /// let (x, n) = (b.input("x", &[4])?, b.input("n", &[1])?);
    /// let (roots, count) = (b.unary("roots", Unary::Sqrt, x)?, b.unary("count", Unary::Abs, n)?);
    /// let mut graph = b.finish(&[roots, count])?;
    /// graph.bounded.push(BoundedOutput { output: 0, axis: 3, count: 1 });
    /// let mut outputs = vec![vec![1.0, 2.0, 0.0, 0.0], vec![2.0]];
    /// let dims = graph.cut_outputs(&mut outputs);
    /// assert_eq!((&outputs[..], &dims[..]), (&[vec![1.0, 2.0]][..], &[vec![1, 1, 1, 2]][..]));
    /// # Ok::<(), texpool::graph::BuildError>(())
    /// ```
    pub fn cut_outputs(&self, outputs: &mut Vec<Vec<f32>>) -> Vec<Vec<usize>> {
        let counts: Vec<Option<f32>> = outputs.iter().map(|values| values.first().copied()).collect();
        let count = |output: usize| counts.get(output).copied().flatten();
        outputs.truncate(self.caller_outputs().len());
        outputs.iter_mut().enumerate().map(|(output, values)| self.cut_output(output, values, count)).collect()
    }

    /// Returns whether the values of a tensor are part of the model.
    pub fn is_constant(&self, tensor: TensorId) -> bool {
        self.tensors[tensor].constant.is_some()
    }
}
